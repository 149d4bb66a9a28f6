/**
 * A form for a JSON document, made from its JSON Schema: a field for each text, number, flag and enumeration, and a group for each object and
 * list. What has no fields of its own is edited as JSON.
 *
 * @module
 */

import { button, el, fill, labelledField } from './dom.js'
import { pathText, valueAt } from './json-path.js'

/** Members with long texts. */
const LONG_TEXTS = ['System', 'Usage', 'Description', 'ServerDescription', 'WhenToUse']
/** Labels that differ from the name of the member. */
const LABELS = /** @type {Record<string, string>} */ ({ System: 'Instructions', TopP: 'Top P', ServerUrl: 'Server URL', DefaultConversationContextId: 'Conversation context', ModelName: 'Model' })

/**
 * @typedef {import('./json-path.js').Path} Path
 * @typedef {{ $ref?: string, $defs?: Record<string, Schema>, type?: string, const?: string, enum?: string[], oneOf?: Schema[], items?: Schema,
 *   properties?: Record<string, Schema>, required?: string[], description?: string, minimum?: number, maximum?: number, maxLength?: number,
 *   maxItems?: number }} Schema
 * @typedef {{ title: string, members: string[], isOpen?: boolean }} Section
 */

export class SchemaForm {
  #root
  #onChange
  /** Listener that a field with suggestions gets, by member. */
  #suggestions
  /** The document that is shown. */
  #document = /** @type {any} */ ({})
  node = el('div', { class: 'schema-form' })

  /**
   * @param {Schema} root the schema that has the definitions
   * @param {(path: Path, value: unknown, isStructural: boolean) => void} onChange called with each change; a structural one adds or removes fields
   * @param {Record<string, string>} [suggestions] ids of data lists, by member
   */
  constructor(root, onChange, suggestions = {}) {
    this.#root = root
    this.#onChange = onChange
    this.#suggestions = suggestions
  }

  /**
   * Shows the members of a document, in sections. Members that no section names are in the last one.
   * @param {Schema} schema
   * @param {any} document
   * @param {Section[]} sections
   */
  show(schema, document, sections) {
    this.#document = document
    const opened = new Map([...this.node.querySelectorAll('details')].map((element) => [element.dataset.section, element.open]))
    const named = sections.flatMap(({ members }) => members)
    const rest = Object.keys(schema.properties ?? {}).filter((name) => !named.includes(name))
    const all = sections.map((section, at) => (at === sections.length - 1 ? { ...section, members: [...section.members, ...rest] } : section))
    const groups = all.map(({ title, members, isOpen = false }) => {
      const fields = this.#fields(schema, [], members)
      return fields.length > 0 && el('details', { 'data-section': title, open: opened.get(title) ?? isOpen }, el('summary', {}, title), el('div', { class: 'schema-fields' }, fields))
    })
    fill(this.node, groups)
  }

  /**
   * Shows each error at its field, and returns those that have none.
   * @param {{ Message: string, Details?: string }[]} errors
   */
  showErrors(errors) {
    for (const old of this.node.querySelectorAll('.field-error')) old.remove()
    for (const field of this.node.querySelectorAll('[aria-invalid]')) {
      field.removeAttribute('aria-invalid')
      field.setAttribute('aria-describedby', field.getAttribute('aria-describedby')?.split(' ')[0] ?? '')
    }
    return errors.filter((error) => {
      const holder = this.#holder(error.Details ?? '')
      if (!holder) return true
      for (let parent = holder.closest('details'); parent; parent = parent.parentElement?.closest('details') ?? null) parent.open = true
      const id = `error-${holder.dataset.path}`
      holder.append(el('small', { class: 'error field-error', id }, error.Message.replace(`${error.Details}: `, '')))
      const field = holder.querySelector('input, select, textarea')
      field?.setAttribute('aria-invalid', 'true')
      field?.setAttribute('aria-describedby', `${field.getAttribute('aria-describedby')} ${id}`)
      return false
    })
  }

  /**
   * Moves the focus to the first field with an error.
   */
  focusError() {
    const field = this.node.querySelector('[aria-invalid]')
    if (field instanceof HTMLElement) field.focus()
  }

  /**
   * Returns the field of a path, or of the closest value around it.
   * @param {string} path
   * @returns {HTMLElement | undefined}
   */
  #holder(path) {
    for (let part = path; part !== ''; part = part.replace(/(\.[^.[\]]*|\[\d+\]|^[^.[\]]*)$/, '')) {
      const holder = [...this.node.querySelectorAll('[data-path]')].find((element) => element instanceof HTMLElement && element.dataset.path === part)
      if (holder instanceof HTMLElement) return holder
    }
    return undefined
  }

  /**
   * @param {Schema} schema
   * @param {Path} path
   * @param {string[]} [names]
   */
  #fields({ properties = {}, required = [] }, path, names = Object.keys(properties)) {
    return names.flatMap((name) => {
      const schema = properties[name]
      return schema && schema.const === undefined ? [this.#field([...path, name], schema, required.includes(name))] : []
    })
  }

  /** @param {Schema} schema */
  #resolved(schema) {
    const name = schema.$ref?.split('/').at(-1)
    const target = name === undefined ? schema : (this.#root.$defs?.[name] ?? {})
    return { ...target, description: schema.description ?? target.description }
  }

  /**
   * @param {Path} path
   * @param {Schema} unresolved
   * @param {boolean} isRequired
   * @returns {HTMLElement}
   */
  #field(path, unresolved, isRequired) {
    const schema = this.#resolved(unresolved)
    if (schema.type === 'array' && schema.items?.type !== 'string') return this.#list(path, schema)
    if (schema.properties) return this.#group(path, schema, isRequired)
    const name = String(path.at(-1))
    const hint = el('small', { id: `hint-${pathText(path)}` }, withCode(schema.description ?? ''))
    const control = this.#control(path, schema, isRequired)
    control.setAttribute('aria-describedby', hint.id)
    const isWide = control instanceof HTMLTextAreaElement
    return el('div', { 'data-path': pathText(path), class: isWide ? 'wide' : undefined }, labelledField(labelOf(name), control), hint)
  }

  /**
   * @param {Path} path
   * @param {Schema} schema
   * @param {boolean} isRequired
   * @returns {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement}
   */
  #control(path, schema, isRequired) {
    const value = valueAt(this.#document, path)
    const change = (/** @type {unknown} */ next) => this.#onChange(path, next, false)
    const { type } = schema
    if (schema.enum || type === 'boolean') {
      const options = schema.enum ?? ['true', 'false']
      const empty = isRequired ? [] : [el('option', { value: '' }, 'Default')]
      const choices = options.map((option) => el('option', { value: option, selected: String(value) === option }, type === 'boolean' ? (option === 'true' ? 'Yes' : 'No') : option))
      const select = el('select', {}, empty, choices)
      select.addEventListener('change', () => change(select.value === '' ? undefined : type === 'boolean' ? select.value === 'true' : select.value))
      return select
    }
    if (type === 'integer' || type === 'number') {
      const { minimum: min, maximum: max } = schema
      const step = type === 'integer' ? 1 : 'any'
      const input = el('input', { type: 'number', min, max, step, value, placeholder: 'Default' })
      input.addEventListener('input', () => change(input.value === '' ? undefined : Number(input.value)))
      return input
    }
    if (type === 'string') {
      const name = String(path.at(-1))
      const isLong = LONG_TEXTS.includes(name)
      const input = isLong ? el('textarea', { rows: name === 'System' ? 8 : 2, maxlength: schema.maxLength }) : el('input', { autocomplete: 'off', maxlength: schema.maxLength, list: this.#suggestions[name] })
      input.value = value === undefined ? '' : String(value)
      input.required = isRequired
      input.addEventListener('input', () => change(input.value === '' && !isRequired ? undefined : input.value))
      return input
    }
    if (type === 'array') {
      const lines = el('textarea', { rows: 2, placeholder: 'One per line' })
      lines.value = Array.isArray(value) ? value.join('\n') : ''
      lines.addEventListener('input', () => change(listed(lines.value)))
      return lines
    }
    return this.#json(path, value)
  }

  /**
   * A field for a value that has no fields of its own.
   * @param {Path} path
   * @param {unknown} value
   */
  #json(path, value) {
    const field = el('textarea', { rows: 5, spellcheck: 'false', class: 'json-value' })
    field.value = value === undefined ? '' : JSON.stringify(value, undefined, 2)
    field.addEventListener('input', () => {
      try {
        this.#onChange(path, field.value.trim() === '' ? undefined : JSON.parse(field.value), false)
        field.setCustomValidity('')
      } catch {
        field.setCustomValidity('Invalid JSON')
      }
      field.setAttribute('aria-invalid', String(field.validationMessage !== ''))
    })
    return field
  }

  /**
   * @param {Path} path
   * @param {Schema} schema
   * @param {boolean} isRequired
   */
  #group(path, schema, isRequired) {
    const isAbsent = valueAt(this.#document, path) === undefined
    const legend = el('legend', {}, labelOf(String(path.at(-1))), schema.description && el('small', {}, schema.description))
    const add = () => this.#onChange(path, emptyValue(schema), true)
    const remove = () => this.#onChange(path, undefined, true)
    const hasRequired = (schema.required ?? []).length > 0
    // Without required members, an absent group is the same as an empty one.
    const content = isAbsent && hasRequired ? button('Add', add, { 'aria-label': `Add ${labelOf(String(path.at(-1)))}` }) : el('div', { class: 'schema-fields' }, this.#fields(schema, path))
    const end = !isAbsent && hasRequired && !isRequired && button('Remove', remove, { class: 'ghost', 'aria-label': `Remove ${labelOf(String(path.at(-1)))}` })
    return el('fieldset', { 'data-path': pathText(path), class: 'wide' }, legend, content, end)
  }

  /**
   * @param {Path} path
   * @param {Schema} schema
   */
  #list(path, schema) {
    const items = /** @type {any[]} */ (valueAt(this.#document, path) ?? [])
    const item = this.#resolved(schema.items ?? {})
    const variants = item.oneOf ?? [item]
    const rows = items.map((value, at) => {
      const variant = variants.find(({ properties = {} }) => properties.Type?.const === undefined || properties.Type.const === value?.Type) ?? item
      const name = String(value?.Name ?? value?.ServerLabel ?? value?.ModelName ?? value?.Type ?? at + 1)
      const remove = button('Remove', () => this.#onChange([...path, at], undefined, true), { class: 'ghost', 'aria-label': `Remove ${name}` })
      return el('details', { class: 'schema-item', 'data-path': pathText([...path, at]), 'data-section': pathText([...path, at]) }, el('summary', {}, name), el('div', { class: 'schema-fields' }, this.#fields(variant, [...path, at])), remove)
    })
    const add = variants.map((variant) => {
      const kind = variant.properties?.Type?.const
      return button(kind ? `Add ${kind}` : 'Add', () => this.#onChange([...path, items.length], emptyValue(variant), true), { 'aria-label': kind ? undefined : `Add to ${labelOf(String(path.at(-1)))}` })
    })
    const legend = el('legend', {}, labelOf(String(path.at(-1))), schema.description && el('small', {}, schema.description))
    return el('fieldset', { 'data-path': pathText(path), class: 'wide' }, legend, rows, items.length < (schema.maxItems ?? Infinity) && el('div', { class: 'row' }, add))
  }
}

/**
 * Returns a value with the required members.
 * @param {Schema} schema
 */
function emptyValue({ properties = {}, required = [] }) {
  const entries = required.map((name) => [name, properties[name]?.const ?? (properties[name]?.type === 'object' ? { type: 'object', properties: {} } : properties[name]?.type === 'array' ? [] : '')])
  return Object.fromEntries(entries)
}

/**
 * Returns a description with its code between backticks as elements.
 * @param {string} text
 */
const withCode = (text) => text.split('`').map((part, at) => (at % 2 === 1 ? el('code', {}, part) : part))

/** @param {string} text */
function listed(text) {
  const lines = text.split('\n').map((line) => line.trim()).filter(Boolean)
  return lines.length > 0 ? lines : undefined
}

/**
 * Returns the label of a member: its name as words.
 * @param {string} name
 */
export function labelOf(name) {
  const words = name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ')
  return LABELS[name] ?? words[0] + words.slice(1).toLowerCase()
}
