/**
 * The files attached to a conversation, for its agent's tools. They are the page's own copies: nothing is written to disk. A
 * reloaded page reads them from the conversation's records.
 *
 * @module
 */

import { applyPatch, parsePatch } from '../javascript/src/patch.js'

const MAX_FILES = 1_000
const MAX_MATCHES = 200
/** Characters of a line that are searched and shown, at most. */
const MAX_LINE_CHARS = 300
const MAX_PATTERN_CHARS = 1_000

export class Workspace {
  /** @type {Map<string, string | Blob>} */
  #files = new Map()
  /** @type {(() => Promise<Map<string, string | Blob>>) | undefined} */
  #load
  /** @type {Promise<void> | undefined} */
  #loaded

  /** @param {File[]} files a file replaces an earlier one with the same path */
  add(files) {
    for (const file of files) this.#files.set(file.webkitRelativePath || file.name, file)
  }

  /**
   * Reads recorded files before the next tool runs. Files of this page take precedence.
   * @param {() => Promise<Map<string, string | Blob>>} load
   */
  loadLater(load) {
    this.#load = load
    this.#loaded = undefined
  }

  async #ready() {
    const load = this.#load
    if (!load) return
    this.#loaded ??= load().then((files) => files.forEach((file, path) => this.#files.has(path) || this.#files.set(path, file)))
    await this.#loaded.catch((error) => {
      this.#loaded = undefined
      throw new Error(`Can't read the conversation's files: ${error.message}`, { cause: error })
    })
    if (this.#load === load) this.#load = undefined
  }

  /** @param {string} path */
  async text(path) {
    await this.#ready()
    const file = this.#files.get(path)
    if (file === undefined) throw new Error(`${path} is not attached to this conversation.`)
    const text = typeof file === 'string' ? file : await file.text()
    if (text.includes('\0')) throw new Error(`${path} is not a text file.`)
    return text
  }

  /** @param {string} folder */
  async list(folder) {
    await this.#ready()
    const files = this.#filesIn(folder)
    return { files: files.slice(0, MAX_FILES), more: files.length > MAX_FILES }
  }

  /**
   * Searches the lines of text files.
   * @param {string} pattern
   * @param {string} folder
   */
  async search(pattern, folder) {
    if (pattern.length > MAX_PATTERN_CHARS) throw new Error(`The pattern is longer than ${MAX_PATTERN_CHARS} characters.`)
    const isAnyCase = pattern.startsWith('(?i)')
    const expression = new RegExp(isAnyCase ? pattern.slice(4) : pattern, isAnyCase ? 'iu' : 'u')
    const matches = []
    await this.#ready()
    for (const path of this.#filesIn(folder)) {
      const text = await this.text(path).catch(() => '')
      for (const [index, fullLine] of text.split('\n').entries()) {
        const line = fullLine.slice(0, MAX_LINE_CHARS)
        if (!expression.test(line)) continue
        if (matches.length === MAX_MATCHES) return { matches, more: true }
        matches.push({ path, line: index + 1, text: line })
      }
    }
    return { matches, more: false }
  }

  /**
   * Returns a file before and after a patch, without changing it.
   * @param {string} path
   * @param {string} patch
   * @returns {Promise<{ before: string, after: string | undefined }>} `after` is undefined if the patch deletes the file
   */
  async previewPatch(path, patch) {
    const { isNew, isDeletion } = parsePatch(patch)
    await this.#ready()
    if (isNew && this.#files.has(path)) throw new Error(`${path} already exists. Send a patch against its contents.`)
    const before = isNew ? '' : await this.text(path)
    const after = applyPatch(before, patch)
    return { before, after: isDeletion ? undefined : after }
  }

  /**
   * @param {string} path
   * @param {string | undefined} text deletes the file if undefined
   */
  write(path, text) {
    if (text === undefined) this.#files.delete(path)
    else this.#files.set(path, text)
  }

  /** @param {string} folder */
  #filesIn(folder) {
    const prefix = folder.replace(/^\.?\/*|\/+$/g, '')
    const files = [...this.#files.keys()].filter((path) => !prefix || path.startsWith(`${prefix}/`))
    return files.sort()
  }
}
