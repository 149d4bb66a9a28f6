/**
 * The editor of a context: a form and its JSON, each of which changes the other.
 *
 * @module
 */

import { consoleApi } from './connection.js'
import { el, errorMessage, fill, labelledField } from './dom.js'
import { withValue } from './json-path.js'
import { SchemaForm } from './schema-form.js'

/**
 * Sections of the form, by kind. The last one also has the members that no section names.
 * @type {Record<string, import('./schema-form.js').Section[]>}
 */
const SECTIONS = {
  agent: [
    { title: 'Main', members: ['Id', 'Name', 'DefaultConversationContextId', 'Deprecated'], isOpen: true },
    { title: 'Tools', members: ['ClientTools', 'Tools'], isOpen: true },
  ],
  conversation: [
    { title: 'Main', members: ['Id', 'Name', 'ModelName', 'Provider', 'System'], isOpen: true },
    { title: 'Tools', members: ['ClientTools', 'HostedTools', 'ToolChoiceName', 'ParallelToolCalls', 'ToolsOnContinuation'] },
    { title: 'Model settings', members: ['Temperature', 'TopP', 'MaxOutputTokens', 'ReasoningEffort', 'ReasoningSummary', 'Verbosity', 'ServiceTier', 'TextFormat'] },
    { title: 'Limits', members: ['MaxRounds', 'ToolDeadlineSeconds', 'RetentionDays', 'PromptLimits', 'HistorySummary'] },
    { title: 'Prices and fallbacks', members: ['Prices', 'Fallbacks'] },
    { title: 'More', members: [] },
  ],
  mode: [
    { title: 'Main', members: ['Key', 'DisplayName', 'Description', 'WhenToUse', 'Status', 'Deprecated', 'Version'], isOpen: true },
    { title: 'Prompt', members: ['ModeInstructions', 'BehaviorHints', 'HumanRoleHints'], isOpen: true },
    { title: 'Tools', members: ['AssociatedToolIds', 'ClientTools', 'ToolGroupHints'] },
    { title: 'Signals and retrieval', members: ['ExampleUtterances', 'StrongSignals', 'WeakSignals', 'RagScopeHints'] },
    { title: 'More', members: [] },
  ],
  connection: [
    { title: 'Main', members: ['Id', 'Name', 'Protocol', 'Url', 'FunctionArn', 'Authentication', 'Agents', 'TimeoutSeconds', 'Deprecated'], isOpen: true },
    { title: 'Tools', members: ['Tools'], isOpen: true },
  ],
}
const DEFINITIONS = /** @type {Record<string, string>} */ ({ agent: 'AgentContext', conversation: 'ConversationContext', mode: 'Mode', connection: 'Connection' })
/** Members at the beginning of the JSON. */
const FIRST_MEMBERS = ['Kind', 'Id', 'Key', 'Name', 'DisplayName']
const SUGGESTIONS = 'conversation-contexts'

/** @typedef {import('./context-page.js').Content} Content */

/**
 * @param {(isChanged: boolean) => void} onChange called after each change
 * @param {(content: Content) => string} kindOf returns the kind whose fields the form has
 */
export function contextEditor(onChange, kindOf) {
  const field = el('textarea', { rows: 16, spellcheck: 'false', class: 'code-input', 'aria-describedby': 'errors' })
  const errors = el('div', { id: 'errors' })
  const suggestions = el('datalist', { id: SUGGESTIONS })
  const card = el('section', { class: 'card', 'aria-label': 'Form', hidden: true })
  const source = el('section', { class: 'card', 'aria-label': 'JSON' }, labelledField('JSON', field))
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
    const kind = kindOf(content)
    form.show(root?.$defs?.[DEFINITIONS[kind] ?? ''] ?? {}, content, SECTIONS[kind] ?? [])
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
    show(content) {
      field.value = saved = ordered(content)
      fill(errors)
      showForm()
    },
    /**
     * Changes the content without saving it.
     * @param {Content} content
     */
    edit(content) {
      field.value = ordered(content)
      showForm()
      onChange(isChanged())
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

/**
 * Formats a content with its id and name first.
 * @param {Content} content
 */
function ordered(content) {
  const first = FIRST_MEMBERS.filter((name) => name in content).map((name) => [name, content[name]])
  return JSON.stringify({ ...Object.fromEntries(first), ...content }, undefined, 2)
}
