/**
 * Previews of images and text files in a dialog.
 *
 * @module
 */

import { escapeInvisible } from '../javascript/src/patch.js'
import { el, errorMessage, fill, iconButton } from './dom.js'
import { highlight } from './highlight.js'

/** Characters of a text file that are shown. */
const MAX_CHARS = 100_000
/** Formats that every browser shows. */
export const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']

/**
 * Opens a file in a dialog.
 * @param {string} name
 * @param {Blob} file
 */
export async function openPreview(name, file) {
  const content = el('div', {})
  const close = iconButton('close', 'Close', () => dialog.close())
  const title = el('h2', { id: 'preview-title' }, escapeInvisible(name))
  const dialog = el('dialog', { class: 'wide', 'aria-labelledby': 'preview-title' }, el('div', { class: 'dialog-head' }, title, close), content)
  dialog.addEventListener('close', () => dialog.remove())
  dialog.addEventListener('click', (event) => event.target === dialog && dialog.close())
  document.body.append(dialog)
  dialog.showModal()
  if (IMAGE_TYPES.includes(file.type)) return fill(content, image(file, name))
  const text = await file.text().catch(() => undefined)
  if (text === undefined || text.includes('\0')) return fill(content, errorMessage({ message: 'This file has no preview.' }))
  const code = el('code', {}, escapeInvisible(text.slice(0, MAX_CHARS)))
  highlight(code, code.textContent ?? '', name.split('.').at(-1) ?? '')
  fill(content, el('pre', { tabindex: 0, role: 'group', 'aria-label': name }, code), text.length > MAX_CHARS && el('p', { class: 'muted' }, 'The file goes on.'))
}

/**
 * Creates an image element of a file.
 * @param {Blob} file
 * @param {string} alt
 * @param {string} [className]
 */
export function image(file, alt, className) {
  const src = URL.createObjectURL(file)
  const release = () => URL.revokeObjectURL(src)
  return el('img', { src, alt, class: className, onload: release, onerror: release })
}
