/**
 * A card that calls one tool of a connection and shows what came back, as the model would get it.
 *
 * @module
 */

import { CONNECTIONS } from './agent-documents.js'
import { hasRows } from './argument-rows.js'
import { announce, el, errorMessage, fill, labelledField } from './dom.js'
import { duration } from './format.js'
import { valueView } from './value-view.js'

/** @typedef {import('./tool-fields.js').Tool} Tool */
/** @typedef {{ Outcome: 'done' | 'refused' | 'not_sent' | 'unknown', Result?: unknown, Message?: string, DurationMilliseconds: number }} Trial */

const OUTCOMES = { done: 'done', refused: 'refused by the server', not_sent: 'not sent', unknown: 'outcome unknown' }

/**
 * @param {import('./connection.js').Connection} connection
 * @param {() => Promise<{ id: string, tools: Tool[] }>} prepare saves what is unsaved, and returns the connection
 */
export function toolTrial(connection, prepare) {
  const tool = el('select', { name: 'trial' })
  const fields = el('div', { class: 'trial-fields' })
  const hint = el('p', { class: 'muted' })
  const result = el('div', { 'aria-live': 'polite' })
  const send = el('button', { class: 'primary' }, 'Try it')
  const form = el('form', {}, labelledField('Tool', tool), fields, el('div', { class: 'row' }, send))
  const node = el('section', { class: 'card', 'aria-label': 'Try it' }, el('h2', {}, 'Try it'), hint, form, result)
  /** @type {Tool[]} */
  let tools = []

  const chosen = () => tools.find(({ Name }) => Name === tool.value)

  function showFields() {
    const { Parameters = {}, Class = 'effect' } = chosen() ?? {}
    const { properties = {}, required = [] } = Parameters
    hint.textContent = Class === 'read' ? 'Calls the server once, as a turn would.' : 'Calls the server once, as a turn would. The call takes effect there.'
    if (!hasRows(Parameters)) {
      fill(fields, labelledField('Arguments as JSON', el('textarea', { name: 'json', rows: 5, spellcheck: 'false', class: 'code-input' }, '{}')))
      return
    }
    const controls = Object.entries(properties).map(([name, { type, description = '' }]) => {
      const isRequired = required.includes(name)
      const control =
        type === 'boolean'
          ? el('select', { 'data-argument': name, 'data-type': type }, ['', 'true', 'false'].map((value) => el('option', { value }, value === '' ? '–' : value === 'true' ? 'yes' : 'no')))
          : el('input', { 'data-argument': name, 'data-type': type, type: type === 'string' ? 'text' : 'number', step: type === 'number' ? 'any' : 1, placeholder: description, autocomplete: 'off' })
      control.required = isRequired
      return labelledField(isRequired ? name : `${name} (optional)`, control)
    })
    fill(fields, controls)
  }

  /** Returns the arguments as JSON text. */
  function argumentsJson() {
    const json = fields.querySelector('textarea')
    if (json) return json.value
    const values = [...fields.querySelectorAll('[data-argument]')].flatMap((field) => {
      const { value, dataset } = /** @type {HTMLInputElement} */ (field)
      if (value === '' && dataset.type !== 'string') return []
      if (value === '' && !(/** @type {HTMLInputElement} */ (field).required)) return []
      return [[dataset.argument ?? '', dataset.type === 'string' ? value : dataset.type === 'boolean' ? value === 'true' : Number(value)]]
    })
    return JSON.stringify(Object.fromEntries(values))
  }

  async function run() {
    const Tool = tool.value
    const ArgumentsJson = argumentsJson()
    const { id } = await prepare()
    fill(result, el('p', { class: 'muted running' }, 'Waiting for the server'))
    const trial = /** @type {Trial} */ (await connection.send('POST', `${CONNECTIONS}/${encodeURIComponent(id)}/try`, JSON.stringify({ Tool, ArgumentsJson })))
    const { Outcome, Result, Message, DurationMilliseconds } = trial
    const tag = el('span', { class: `tag ${Outcome === 'done' ? 'completed' : Outcome === 'unknown' ? 'pending' : 'failed'}` }, OUTCOMES[Outcome])
    fill(result, el('p', {}, tag, ` in ${duration(DurationMilliseconds)}`), Message && el('p', { class: 'error' }, Message), Result !== undefined && valueView(`Result of ${Tool}`, JSON.stringify(Result)))
    announce(`${Tool}: ${OUTCOMES[Outcome]}`)
  }

  tool.addEventListener('change', () => {
    fill(result)
    showFields()
  })
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    send.disabled = true
    run()
      .catch((error) => fill(result, errorMessage(error)))
      .finally(() => (send.disabled = false))
  })
  return {
    node,
    /**
     * Shows the tools. What was typed and the last result stay if the tool is the same.
     * @param {Tool[]} all
     */
    show(all) {
      const before = JSON.stringify(chosen()?.Parameters)
      const selected = tool.value
      tools = all.filter(({ Name }) => Name)
      fill(tool, tools.map(({ Name }) => el('option', { value: Name, selected: Name === selected }, Name)))
      node.hidden = tools.length === 0
      if (JSON.stringify(chosen()?.Parameters) !== before || tool.value !== selected) showFields()
    },
    reset: () => fill(result),
  }
}
