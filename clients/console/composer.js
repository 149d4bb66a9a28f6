/**
 * What is said next: a text, with files and images that are chosen, pasted or dropped.
 *
 * @module
 */

import { button, el, fill, labelled, Signal, tell } from './dom.js'
import { size } from './format.js'

/** A request is at most 4 MiB, and base64 makes a third more of it. */
const MOST_BYTES = 3 << 20
const IMAGES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']

/** @typedef {{ text: string, files: File[], images: File[] }} Said */

export class Composer {
  /** @type {File[]} */
  #held = []
  #chips = el('ul', { class: 'chips', 'aria-label': 'Attached' })
  #text = el('textarea', {
    rows: 3,
    placeholder: 'Ask something. Paste or drop files and images.',
    'aria-describedby': 'keys',
  })
  #files = el('input', { type: 'file', multiple: true, class: 'unseen', tabindex: -1, 'aria-label': 'Files' })
  #send = el('button', { class: 'primary' }, 'Send')
  #stop
  /** Whether a turn is under way: then it can be stopped, and nothing is sent. */
  isBusy = new Signal(false)

  /**
   * @param {{ send: (said: Said) => void, stop: () => Promise<unknown> | undefined }} actions
   * @param {Node} [extra] more fields
   */
  constructor(actions, extra) {
    this.#stop = button('Stop', () => actions.stop())
    const attach = el('button', { type: 'button', class: 'quiet', onclick: () => this.#files.click() }, 'Attach')
    const keys = el('small', { id: 'keys' }, 'Enter sends, Shift and Enter begins a line.')
    const row = el(
      'div',
      { class: 'row' },
      attach,
      this.#files,
      extra,
      el('span', { class: 'grow' }),
      keys,
      this.#stop,
      this.#send,
    )
    this.node = el('form', { class: 'composer' }, labelled('Message', this.#text), this.#chips, row)
    this.node.addEventListener('submit', (event) => {
      event.preventDefault()
      this.#submit(actions.send)
    })
    this.#text.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
      event.preventDefault()
      this.node.requestSubmit()
    })
    this.#files.addEventListener('change', () => {
      this.#attach(this.#files.files)
      this.#files.value = ''
    })
    this.node.addEventListener('paste', (event) => {
      const pasted = event.clipboardData?.files
      if (!pasted?.length) return
      event.preventDefault()
      this.#attach(pasted)
    })
    this.isBusy.each((isBusy) => {
      this.#send.disabled = isBusy
      this.#stop.hidden = !isBusy
    })
  }

  /**
   * Takes what is dropped on an element.
   * @param {HTMLElement} place
   */
  takeDropsOn(place) {
    place.addEventListener('dragover', (event) => {
      if (!event.dataTransfer?.types.includes('Files')) return
      event.preventDefault()
      place.classList.add('dropping')
    })
    place.addEventListener('dragleave', (event) => {
      if (!place.contains(/** @type {Node | null} */ (event.relatedTarget))) place.classList.remove('dropping')
    })
    place.addEventListener('drop', (event) => {
      event.preventDefault()
      place.classList.remove('dropping')
      this.#attach(event.dataTransfer?.files)
    })
  }

  focus() {
    this.#text.focus()
  }

  /** @param {string} text */
  set text(text) {
    this.#text.value = text
  }

  /** @param {(said: Said) => void} send */
  #submit(send) {
    const text = this.#text.value.trim()
    if (this.isBusy.value || (text === '' && this.#held.length === 0)) return
    const isImage = (/** @type {File} */ file) => IMAGES.includes(file.type)
    send({ text, files: this.#held.filter((file) => !isImage(file)), images: this.#held.filter(isImage) })
    this.#held = []
    this.#text.value = ''
    this.#show()
  }

  /** @param {FileList | null | undefined} files */
  #attach(files) {
    for (const file of files ?? []) {
      const before = this.#held.reduce((sum, { size }) => sum + size, 0)
      if (before + file.size > MOST_BYTES) tell(`${file.name} is left out: a message holds ${size(MOST_BYTES)}.`)
      else {
        this.#held.push(file)
        tell(`${file.name} is attached.`)
        continue
      }
      this.#show(`${file.name} is left out: a message holds ${size(MOST_BYTES)}.`)
      return
    }
    this.#show()
  }

  /** @param {string} [problem] */
  #show(problem) {
    const chips = this.#held.map((file) => {
      const remove = () => {
        this.#held = this.#held.filter((other) => other !== file)
        this.#show()
        this.focus()
      }
      const label = `Remove ${file.name}`
      return el(
        'li',
        {},
        file.name,
        el('small', {}, size(file.size)),
        el('button', { type: 'button', class: 'quiet', 'aria-label': label, onclick: remove }, '×'),
      )
    })
    fill(this.#chips, chips, problem && el('li', { class: 'failure' }, problem))
  }
}
