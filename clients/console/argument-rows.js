/**
 * The arguments of a tool: a row for each, or their JSON Schema if it says more than rows can.
 *
 * @module
 */

import { button, el, fill, labelledField } from './dom.js'

/** @typedef {{ type?: string, description?: string, [member: string]: unknown }} Argument */
/** @typedef {{ type?: string, properties?: Record<string, Argument>, required?: string[], [member: string]: unknown }} Schema */

/** Types of a row, and their names. */
const TYPES = { string: 'text', integer: 'whole number', number: 'number', boolean: 'yes or no' }
const ROW_MEMBERS = ['type', 'description']
const SCHEMA_MEMBERS = ['type', 'properties', 'required', 'additionalProperties', '$schema']

/**
 * Returns true if rows can show everything that a schema says.
 * @param {Schema} schema
 */
export function hasRows(schema) {
  const isPlain = (/** @type {object} */ value, /** @type {string[]} */ members) => Object.keys(value).every((member) => members.includes(member))
  return isPlain(schema, SCHEMA_MEMBERS) && Object.values(schema.properties ?? {}).every((argument) => (argument.type ?? '') in TYPES && isPlain(argument, ROW_MEMBERS))
}

/**
 * @param {Schema} schema
 * @param {() => void} onChange
 */
export function argumentRows(schema, onChange) {
  const rows = el('div', { class: 'argument-rows' })
  const json = el('textarea', { rows: 8, spellcheck: 'false', class: 'code-input', 'aria-label': 'Arguments as a JSON Schema' })
  const add = button('Add an argument', () => append('', { type: 'string' }, true).focus(), { class: 'ghost' })
  const toJson = button('As JSON Schema', () => showJson(value()), { class: 'ghost' })
  const node = el('fieldset', { class: 'arguments' }, el('legend', {}, 'Arguments that the model gives'), rows, json, el('div', { class: 'row' }, add, toJson))
  /** Members that rows don't show. */
  const { properties = {}, required = [], ...rest } = schema

  /**
   * @param {string} name
   * @param {Argument} argument
   * @param {boolean} isRequired
   */
  function append(name, { type, description }, isRequired) {
    const names = el('input', { name: 'argument', value: name, required: true, maxlength: 64, autocomplete: 'off', placeholder: 'title' })
    const types = el('select', { name: 'type' }, Object.entries(TYPES).map(([value, label]) => el('option', { value, selected: value === type }, label)))
    const texts = el('input', { name: 'description', value: description ?? '', maxlength: 1000, autocomplete: 'off', placeholder: 'What it is, for the model' })
    const needed = el('input', { type: 'checkbox', name: 'required', checked: isRequired })
    const row = el(
      'div',
      { class: 'argument' },
      labelledField('Argument', names),
      labelledField('Type', types),
      labelledField('Description', texts),
      el('label', { class: 'checkbox' }, needed, 'required'),
      button('Remove', () => {
        row.remove()
        onChange()
      }, { class: 'ghost', 'aria-label': `Remove ${name || 'the argument'}` }),
    )
    rows.append(row)
    return names
  }

  /** @param {Schema} shown */
  function showJson(shown) {
    json.value = JSON.stringify(shown, undefined, 2)
    json.hidden = false
    rows.hidden = add.hidden = toJson.hidden = true
    fill(rows)
  }

  /** @returns {Schema} */
  function value() {
    if (!json.hidden) return JSON.parse(json.value)
    const entries = [...rows.children].map((row) => {
      const field = (/** @type {string} */ name) => /** @type {HTMLInputElement} */ (row.querySelector(`[name=${name}]`))
      const description = field('description').value.trim()
      return { name: field('argument').value.trim(), argument: { type: field('type').value, ...(description && { description }) }, isRequired: field('required').checked }
    })
    const named = entries.filter(({ name }) => name)
    return { ...rest, type: 'object', properties: Object.fromEntries(named.map(({ name, argument }) => [name, argument])), required: named.filter(({ isRequired }) => isRequired).map(({ name }) => name) }
  }

  json.addEventListener('input', () => {
    try {
      JSON.parse(json.value)
      json.setCustomValidity('')
    } catch {
      json.setCustomValidity('This is no valid JSON.')
    }
  })
  json.hidden = true
  if (hasRows(schema)) for (const [name, argument] of Object.entries(properties)) append(name, argument, required.includes(name))
  else showJson(schema)
  return {
    node,
    value,
    /**
     * Adds a required argument for each name that has no row.
     * @param {string[]} names
     */
    need(names) {
      if (!json.hidden) return
      const known = Object.keys(value().properties ?? {})
      for (const name of names) if (!known.includes(name)) append(name, { type: 'string' }, true)
    },
  }
}
