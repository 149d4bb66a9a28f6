/**
 * The editor of a context: a form and its JSON, each of which changes the other.
 *
 * @module
 */

import { consoleApi } from './connection.js'
import { el, errorMessage, fill, labelledField } from './dom.js'
import { withValue } from './json-path.js'
import { SchemaForm } from './schema-form.js'

/** Sections of the form. The last one also has the members that no section names. */
const SECTIONS = {
  agent: [
    { title: 'Main', members: ['Id', 'Name', 'DefaultConversationContextId', 'Deprecated'], isOpen: true },
    { title: 'Tools', members: ['ClientTools'], isOpen: true },
  ],
  conversation: [
    { title: 'Main', members: ['Id', 'Name', 'ModelName', 'Provider', 'System'], isOpen: true },
    { title: 'Tools', members: ['ClientTools', 'HostedTools', 'ToolChoiceName', 'ParallelToolCalls', 'ToolsOnContinuation'] },
    { title: 'Model settings', members: ['Temperature', 'TopP', 'MaxOutputTokens', 'ReasoningEffort', 'Verbosity', 'ServiceTier', 'TextFormat'] },
    { title: 'Limits', members: ['MaxRounds', 'ToolDeadlineSeconds', 'RetentionDays', 'Budgets', 'HistorySummary'] },
    { title: 'Prices and fallbacks', members: ['Prices', 'Fallbacks'] },
    { title: 'More', members: [] },
  ],
}
const DEFINITIONS = { agent: 'AgentContext', conversation: 'ConversationContext' }
const SUGGESTIONS = 'conversation-contexts'

/** @typedef {import('./agents.js').Content} Content */

/** @param {(isChanged: boolean) => void} onChange called after each change */
export function contextEditor(onChange) {
  const field = el('textarea', { rows: 16, spellcheck: 'false', class: 'code-input', 'aria-describedby': 'errors' })
  const errors = el('div', { id: 'errors' })
  const suggestions = el('datalist', { id: SUGGESTIONS })
  const card = el('section', { class: 'card', 'aria-label': 'Form', hidden: true })
  const source = el('section', { class: 'card', 'aria-label': 'Context' }, labelledField('Context (JSON)', field))
  /** @type {import('./schema-form.js').Schema | undefined} */
  let root
  /** @type {SchemaForm | undefined} */
  let form
  let saved = ''

  field.addEventListener('input', () => {
    showForm()
    onChange(isChanged())
  })

  const isChanged = () => field.value !== saved

  /** @returns {Content | undefined} */
  function parsed() {
    try {
      const content = JSON.parse(field.value)
      return typeof content === 'object' && content !== null && !Array.isArray(content) ? content : undefined
    } catch {
      return undefined
    }
  }

  /** Shows the members of the JSON in the form. While it is invalid, the form can't be used. */
  function showForm() {
    if (!form) return
    const content = parsed()
    card.inert = !content
    card.hidden = false
    if (!content) return
    const kind = content.Kind === 'conversation' ? 'conversation' : 'agent'
    form.show(root?.$defs?.[DEFINITIONS[kind]] ?? {}, content, SECTIONS[kind])
  }

  /**
   * @param {import('./json-path.js').Path} path
   * @param {unknown} value
   * @param {boolean} isStructural
   */
  function change(path, value, isStructural) {
    field.value = JSON.stringify(withValue(parsed(), path, value), undefined, 2)
    if (isStructural) showForm()
    onChange(isChanged())
  }

  /** @param {unknown} error */
  function showErrors(error) {
    const { errors: all = [] } = /** @type {{ errors?: { Message: string, Details?: string }[] }} */ (error)
    const elsewhere = form?.showErrors(all) ?? all
    if (all.length < 2) fill(errors, errorMessage(error))
    else fill(errors, el('div', { class: 'error', role: 'alert' }, el('ul', {}, all.map(({ Message }) => el('li', {}, Message)))))
    if (elsewhere.length < all.length) form?.focusError()
  }

  consoleApi('GET', 'context-schema').then((schema) => {
    root = schema
    form = new SchemaForm(schema, change, { DefaultConversationContextId: SUGGESTIONS })
    fill(card, form.node, suggestions)
    showForm()
  }, showErrors)

  return {
    form: card,
    source,
    errors,
    isChanged,
    showErrors,
    /** @param {Content} content */
    show({ Kind, Id, Name, ...rest }) {
      field.value = saved = JSON.stringify({ Kind, Id, Name, ...rest }, undefined, 2)
      fill(errors)
      showForm()
    },
    showSaved() {
      fill(errors, el('p', { class: 'success' }, 'Saved.'))
    },
    /** Returns the content, or reports the error in its JSON. */
    read() {
      try {
        return /** @type {Content} */ (JSON.parse(field.value))
      } catch (error) {
        showErrors({ message: `Invalid JSON: ${/** @type {Error} */ (error).message}` })
        return undefined
      }
    },
    focus() {
      const first = form?.node.querySelector('input')
      if (first) first.focus()
      else field.focus()
    },
    /** @param {string[]} ids ids of conversation contexts */
    suggest: (ids) => fill(suggestions, ids.map((id) => el('option', { value: id }))),
  }
}
