/**
 * Form for the next message: text, and files and images that are chosen, pasted or dropped.
 *
 * @module
 */

import { attachmentView } from './attachments.js'
import { button, el, fill, iconButton, Signal, announce } from './dom.js'
import { formatBytes } from './format.js'
import { IMAGE_TYPES } from './preview.js'
import { scaledImage } from './scaled-image.js'

/** Size limit of the attachments. Requests are limited to 4 MiB, and base64 adds a third. */
const MAX_BYTES = 3 << 20

/** @typedef {{ text: string, files: File[], images: File[] }} Message */

const isImage = (/** @type {File} */ { type }) => IMAGE_TYPES.includes(type)

export class Composer {
  /** @type {File[]} */
  #attachments = []
  /** Resolves once all chosen files are attached or refused. */
  #attaching = Promise.resolve()
  #isSubmitting = false
  #chips = el('ul', { class: 'chips', 'aria-label': 'Attached' })
  #text = el('textarea', {
    rows: 1,
    dir: 'auto',
    placeholder: 'Send a message. Paste or drop files and images.',
    'aria-label': 'Message',
    'aria-describedby': 'shortcuts',
  })
  #files = el('input', { type: 'file', multiple: true, class: 'visually-hidden', tabindex: -1, 'aria-label': 'Files' })
  #send = el('button', { class: 'primary' }, 'Send')
  #stop
  /** @type {(text: string) => void} */
  #saveDraft = () => {}
  /** True while a turn runs: it can be stopped, and nothing can be sent. */
  isBusy = new Signal(false)

  /**
   * @param {{ send: (message: Message) => void, stop: () => Promise<unknown> | undefined, saveDraft: (text: string) => void }} actions
   * @param {Node} [extra] additional fields
   */
  constructor(actions, extra) {
    this.#stop = button('Stop', () => actions.stop())
    const attach = iconButton('attach', 'Attach files and images', () => this.#files.click())
    const shortcuts = el('small', { id: 'shortcuts' }, 'Enter to send, Shift+Enter for a new line')
    const row = el(
      'div',
      { class: 'row' },
      attach,
      this.#files,
      extra,
      el('span', { class: 'spacer' }),
      shortcuts,
      this.#stop,
      this.#send,
    )
    this.node = el('form', { class: 'composer' }, this.#text, this.#chips, row)
    this.node.addEventListener('submit', (event) => {
      event.preventDefault()
      void this.#submit(actions.send)
    })
    this.#text.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
      event.preventDefault()
      this.node.requestSubmit()
    })
    this.#text.addEventListener('input', () => actions.saveDraft(this.#text.value))
    this.#saveDraft = actions.saveDraft
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
    this.isBusy.subscribe((isBusy) => {
      this.#send.disabled = isBusy
      this.#send.hidden = isBusy
      this.#stop.hidden = !isBusy
    })
  }

  /**
   * Accepts files that are dropped on an element.
   * @param {HTMLElement} target
   */
  enableDrop(target) {
    target.addEventListener('dragover', (event) => {
      if (!event.dataTransfer?.types.includes('Files')) return
      event.preventDefault()
      target.classList.add('drag-over')
    })
    target.addEventListener('dragleave', (event) => {
      if (!target.contains(/** @type {Node | null} */ (event.relatedTarget))) target.classList.remove('drag-over')
    })
    target.addEventListener('drop', (event) => {
      event.preventDefault()
      target.classList.remove('drag-over')
      this.#attach(event.dataTransfer?.files)
    })
  }

  /** @param {FocusOptions} [options] */
  focus(options) {
    this.#text.focus(options)
  }

  /** Opens the dialog that chooses files. */
  attach() {
    this.#files.click()
  }

  /** @param {string} text */
  set text(text) {
    this.#text.value = text
  }

  /**
   * Takes a message back that was not sent. What was written meanwhile follows it.
   * @param {Message} message
   */
  restore({ text, files, images }) {
    this.#text.value = [text, this.#text.value].filter(Boolean).join('\n\n')
    this.#saveDraft(this.#text.value)
    this.#attachments = [...files, ...images, ...this.#attachments]
    this.#renderChips()
    this.focus()
  }

  /** @param {(message: Message) => void} send */
  async #submit(send) {
    if (this.#isSubmitting) return
    this.#isSubmitting = true
    await this.#attaching
    // A file can disappear after it was chosen.
    const isReadable = await Promise.all(this.#attachments.map((file) => file.slice(0, 1).arrayBuffer().then(() => true, () => false)))
    this.#isSubmitting = false
    const lost = this.#attachments.filter((_, at) => !isReadable[at])
    this.#attachments = this.#attachments.filter((_, at) => isReadable[at])
    if (lost.length > 0) return this.#renderChips(lost.map(({ name }) => `${name} can’t be read any more. Attach it again, or send the message without it.`))
    const text = this.#text.value.trim()
    if (this.isBusy.value || (text === '' && this.#attachments.length === 0)) return
    const message = { text, files: this.#attachments.filter((file) => !isImage(file)), images: this.#attachments.filter(isImage) }
    this.#attachments = []
    this.#text.value = ''
    this.#saveDraft('')
    this.#renderChips()
    send(message)
  }

  /** @param {FileList | null | undefined} files */
  #attach(files) {
    const chosen = [...(files ?? [])]
    if (chosen.some(isImage)) announce('Preparing images.')
    const ready = Promise.all(chosen.map(async (file) => ({ name: file.name, file: isImage(file) ? await scaledImage(file) : file })))
    this.#attaching = Promise.all([ready, this.#attaching]).then(([files]) => this.#add(files))
  }

  /** @param {{ name: string, file: File | undefined }[]} files undefined for an image that can't be read */
  #add(files) {
    const problems = []
    for (const { name, file } of files) {
      const before = this.#attachments.reduce((sum, { size }) => sum + size, 0)
      if (!file) problems.push(`${name} was not attached. It is no image that can be read.`)
      else if (before + file.size > MAX_BYTES) problems.push(`${name} was not attached. Attachments are limited to ${formatBytes(MAX_BYTES)}.`)
      else {
        this.#attachments.push(file)
        announce(`${name} attached.`)
      }
    }
    this.#renderChips(problems)
  }

  /** @param {string[]} problems */
  #renderChips(problems = []) {
    const chips = this.#attachments.map((file) => {
      const remove = () => {
        this.#attachments = this.#attachments.filter((other) => other !== file)
        this.#renderChips()
        this.focus()
      }
      const label = `Remove ${file.name}`
      return el(
        'li',
        {},
        attachmentView({ name: file.name, [isImage(file) ? 'image' : 'file']: file }),
        el('small', {}, formatBytes(file.size)),
        el('button', { type: 'button', class: 'ghost', 'aria-label': label, onclick: remove }, '×'),
      )
    })
    if (problems.length > 0) announce(problems.join(' '))
    fill(this.#chips, chips, problems.map((problem) => el('li', { class: 'error' }, problem)))
  }
}
