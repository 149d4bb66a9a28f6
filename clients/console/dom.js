/**
 * DOM helpers: elements, observable values, dialogs, and announcements for screen readers. Text is never parsed as markup.
 *
 * @module
 */

import { icon } from './icons.js'

/**
 * @typedef {Node | string | number | false | null | undefined} Child
 * @typedef {Record<string, unknown>} Attributes functions are listeners (`onclick`); `true` sets an attribute without a value
 */

/**
 * Creates an element with attributes and children.
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Attributes} [attributes]
 * @param {(Child | Child[])[]} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(key.slice(2), /** @type {EventListener} */ (value))
    else if (value === true) element.setAttribute(key, '')
    else if (value !== false && value !== undefined && value !== null) element.setAttribute(key, String(value))
  }
  element.append(...toNodes(children))
  return element
}

/**
 * Replaces the children of an element.
 * @param {Element} parent
 * @param {(Child | Child[])[]} children
 */
export function fill(parent, ...children) {
  parent.replaceChildren(...toNodes(children))
}

/**
 * @param {(Child | Child[])[]} children
 * @returns {(Node | string)[]}
 */
function toNodes(children) {
  const present = children.flat().filter((child) => child !== false && child !== null && child !== undefined)
  return present.map((child) => (child instanceof Node ? child : String(child)))
}

/**
 * Creates a button that is disabled while its action runs.
 * @param {Child | Child[]} label
 * @param {(event: Event) => unknown} action
 * @param {Attributes} [attributes]
 */
export function button(label, action, attributes = {}) {
  const element = el('button', { type: 'button', ...attributes }, label)
  element.addEventListener('click', async (event) => {
    element.disabled = true
    try {
      await action(event)
    } finally {
      element.disabled = false
    }
  })
  return element
}

/**
 * Creates a button that shows an icon.
 * @param {import('./icons.js').IconName} name
 * @param {string} label
 * @param {(event: Event) => unknown} action
 * @param {Attributes} [attributes]
 */
export const iconButton = (name, label, action, attributes = {}) =>
  button(icon(name), action, { 'aria-label': label, title: label, ...attributes, class: `icon-button ${attributes.class ?? ''}`.trim() })

/**
 * Downloads a file in the browser.
 * @param {Blob} file
 * @param {string} name
 */
export function download(file, name) {
  const link = el('a', { href: URL.createObjectURL(file), download: name })
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}

/**
 * Creates a label around a field.
 * @param {string} label
 * @param {HTMLElement} field
 */
export const labelledField = (label, field) => el('label', {}, el('span', {}, label), field)

/**
 * An observable value.
 * @template T
 */
export class Signal {
  /** @type {Set<(value: T) => void>} */
  #listeners = new Set()
  #value

  /** @param {T} value */
  constructor(value) {
    this.#value = value
  }

  get value() {
    return this.#value
  }

  set value(value) {
    if (Object.is(value, this.#value)) return
    this.#value = value
    this.#listeners.forEach((listener) => listener(value))
  }

  /**
   * Calls the listener now and after every change. Returns a function that removes it.
   * @param {(value: T) => void} listener
   */
  subscribe(listener) {
    this.#listeners.add(listener)
    listener(this.#value)
    return () => this.#listeners.delete(listener)
  }
}

/**
 * Announces a text to screen readers.
 * @param {string} text
 */
export function announce(text) {
  const region = document.getElementById('live-region')
  if (region) region.textContent = text
}

/**
 * Creates an error message with the error code and the request id, which finds the request in the logs.
 * @param {unknown} error
 */
export function errorMessage(error) {
  const { message, code, requestId } = /** @type {Partial<import('../javascript/src/index.js').AptixError>} */ (error ?? {})
  const details = [code, requestId && `request ${requestId}`].filter(Boolean).join(', ')
  return el('p', { class: 'error', role: 'alert' }, message ?? String(error), details && el('small', {}, ` (${details})`))
}

/**
 * Opens a dialog with a form and passes the values to `action`. The dialog closes unless `action` throws; then it shows the
 * error.
 * @param {{ title: string, fields: Node[], submit: string, isDangerous?: boolean }} options
 * @param {(values: Record<string, string>) => unknown} action
 */
export function openDialog({ title, fields, submit, isDangerous = false }, action) {
  const problem = el('div', {})
  const send = el('button', { class: isDangerous ? 'danger' : 'primary' }, submit)
  const form = el('form', {}, el('h2', { id: 'dialog-title' }, title), ...fields, problem)
  const dialog = el('dialog', { 'aria-labelledby': 'dialog-title' }, form)
  form.append(
    el('div', { class: 'row end' }, el('button', { type: 'button', onclick: () => dialog.close() }, 'Cancel'), send),
  )
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    send.disabled = true
    try {
      await action(/** @type {Record<string, string>} */ (Object.fromEntries(new FormData(form))))
      dialog.close()
    } catch (error) {
      fill(problem, errorMessage(error))
    } finally {
      send.disabled = false
    }
  })
  dialog.addEventListener('close', () => dialog.remove())
  document.body.append(dialog)
  dialog.showModal()
  return dialog
}
