/**
 * Elements, small pieces of state, and what a screen reader is told. Text is always text, never markup.
 *
 * @module
 */

/**
 * @typedef {Node | string | number | false | null | undefined} Child
 * @typedef {Record<string, unknown>} Attributes functions are listeners (`onclick`), `true` is an attribute without a value
 */

/**
 * An element with attributes and children.
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Attributes} [attributes]
 * @param {(Child | Child[])[]} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function') made.addEventListener(key.slice(2), /** @type {EventListener} */ (value))
    else if (value === true) made.setAttribute(key, '')
    else if (value !== false && value !== undefined && value !== null) made.setAttribute(key, String(value))
  }
  made.append(...kept(children))
  return made
}

/**
 * Puts children in the place of those that are there.
 * @param {Element} parent
 * @param {(Child | Child[])[]} children
 */
export function fill(parent, ...children) {
  parent.replaceChildren(...kept(children))
}

/**
 * @param {(Child | Child[])[]} children
 * @returns {(Node | string)[]}
 */
function kept(children) {
  const shown = children.flat().filter((child) => child !== false && child !== null && child !== undefined)
  return shown.map((child) => (child instanceof Node ? child : String(child)))
}

/**
 * A button that does something. While that takes, it can't be pressed again.
 * @param {string} label
 * @param {(event: Event) => unknown} act
 * @param {Attributes} [attributes]
 */
export function button(label, act, attributes = {}) {
  const made = el('button', { type: 'button', ...attributes }, label)
  made.addEventListener('click', async (event) => {
    made.disabled = true
    try {
      await act(event)
    } finally {
      made.disabled = false
    }
  })
  return made
}

/**
 * Hands a file to the browser's downloads.
 * @param {Blob} file
 * @param {string} name
 */
export function save(file, name) {
  const link = el('a', { href: URL.createObjectURL(file), download: name })
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}

/**
 * A labelled field.
 * @param {string} label
 * @param {HTMLElement} field
 */
export const labelled = (label, field) => el('label', {}, el('span', {}, label), field)

/**
 * A value that tells when it changes.
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
   * Calls now, and each time the value changes.
   * @param {(value: T) => void} listener
   */
  each(listener) {
    this.#listeners.add(listener)
    listener(this.#value)
    return () => this.#listeners.delete(listener)
  }
}

/**
 * Tells whoever does not see the page.
 * @param {string} text
 */
export function tell(text) {
  const told = document.getElementById('told')
  if (told) told.textContent = text
}

/**
 * What went wrong, with what names it in the logs.
 * @param {unknown} error
 */
export function failure(error) {
  const { message, code, requestId } = /** @type {Partial<import('../javascript/src/index.js').AptixError>} */ (error ?? {})
  const small = [code, requestId && `request ${requestId}`].filter(Boolean).join(', ')
  return el('p', { class: 'failure', role: 'alert' }, message ?? String(error), small && el('small', {}, ` (${small})`))
}

/**
 * A dialog that goes when it is closed; what its form is submitted with is handed on. A failure stays in the dialog.
 * @param {{ title: string, fields: Node[], submit: string, isDangerous?: boolean }} what
 * @param {(values: Record<string, string>) => unknown} act
 */
export function ask({ title, fields, submit, isDangerous = false }, act) {
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
      await act(/** @type {Record<string, string>} */ (Object.fromEntries(new FormData(form))))
      dialog.close()
    } catch (error) {
      fill(problem, failure(error))
    } finally {
      send.disabled = false
    }
  })
  dialog.addEventListener('close', () => dialog.remove())
  document.body.append(dialog)
  dialog.showModal()
  return dialog
}
