/**
 * The files that came with a conversation, as the tools of its agent see them. They are the page's own copies: nothing is
 * written to a disk.
 *
 * @module
 */

import { patched } from '../javascript/src/patch.js'

const MOST_FILES = 1_000
const MOST_MATCHES = 200
/** As much of a line is looked at, and shown. */
const MOST_OF_LINE = 300
const MOST_PATTERN = 1_000

export class Workspace {
  /** @type {Map<string, string | File>} */
  #files = new Map()

  /** @param {File[]} files one that came again takes the place of the one before */
  add(files) {
    for (const file of files) this.#files.set(file.webkitRelativePath || file.name, file)
  }

  /** @param {string} path */
  async text(path) {
    const file = this.#files.get(path)
    if (file === undefined) throw new Error(`${path} did not come with this conversation.`)
    const text = typeof file === 'string' ? file : await file.text()
    if (text.includes('\0')) throw new Error(`${path} is no text file.`)
    return text
  }

  /** @param {string} folder */
  list(folder) {
    const files = this.#below(folder)
    return { files: files.slice(0, MOST_FILES), more: files.length > MOST_FILES }
  }

  /**
   * The lines that match, of what is text.
   * @param {string} pattern
   * @param {string} folder
   */
  async search(pattern, folder) {
    if (pattern.length > MOST_PATTERN) throw new Error(`A pattern has at most ${MOST_PATTERN} characters.`)
    const isAnyCase = pattern.startsWith('(?i)')
    const expression = new RegExp(isAnyCase ? pattern.slice(4) : pattern, isAnyCase ? 'iu' : 'u')
    const matches = []
    for (const path of this.#below(folder)) {
      const text = await this.text(path).catch(() => '')
      for (const [index, whole] of text.split('\n').entries()) {
        const line = whole.slice(0, MOST_OF_LINE)
        if (!expression.test(line)) continue
        if (matches.length === MOST_MATCHES) return { matches, more: true }
        matches.push({ path, line: index + 1, text: line })
      }
    }
    return { matches, more: false }
  }

  /**
   * A file before and after a patch. Nothing is changed.
   * @param {string} path
   * @param {string} patch
   * @returns {Promise<{ before: string, after: string | undefined }>} nothing after it where the patch deletes the file
   */
  async change(path, patch) {
    const isNew = /^--- \/dev\/null/m.test(patch)
    if (isNew && this.#files.has(path)) throw new Error(`${path} is there already: patch it as it is.`)
    const before = isNew ? '' : await this.text(path)
    const after = patched(before, patch)
    return { before, after: /^\+\+\+ \/dev\/null/m.test(patch) ? undefined : after }
  }

  /**
   * @param {string} path
   * @param {string | undefined} text takes the file away where there is none
   */
  put(path, text) {
    if (text === undefined) this.#files.delete(path)
    else this.#files.set(path, text)
  }

  /** @param {string} folder */
  #below(folder) {
    const inside = folder.replace(/^\.?\/*|\/+$/g, '')
    const files = [...this.#files.keys()].filter((path) => !inside || path.startsWith(`${inside}/`))
    return files.sort()
  }
}
