/**
 * A folder for an agent. Access to paths outside of it is rejected.
 *
 * @module
 */

import { mkdir, readdir, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'

import { applyPatch, parsePatch } from '../../clients/javascript/src/patch.js'

const MAX_FILE_BYTES = 512 * 1024
const MAX_FILES = 1_000
const MAX_SEARCHED_FILES = 20_000
const MAX_MATCHES = 200
const MAX_LINE_CHARS = 300
/** Folders that are neither listed nor searched. */
const IGNORED_FOLDERS = ['.git', 'node_modules', 'target']

export class Workspace {
  #root

  /** @param {string} root */
  constructor(root) {
    this.#root = root
  }

  /** @param {string} folder */
  static async open(folder) {
    return new Workspace(await realpath(folder))
  }

  /**
   * Reads a text file.
   * @param {string} path
   */
  async read(path) {
    const file = await this.#resolve(path)
    const status = await stat(file).catch(() => fail(`${path} does not exist`))
    // To open a pipe or a device could block.
    if (!status.isFile()) fail(`${path} is not a file`)
    const { size } = status
    if (size > MAX_FILE_BYTES) fail(`${path} is larger than ${MAX_FILE_BYTES} bytes`)
    const bytes = await readFile(file)
    if (bytes.includes(0)) fail(`${path} is not a text file`)
    return bytes.toString('utf8')
  }

  /**
   * Lists the files below a folder.
   * @param {string} path
   */
  async list(path) {
    const files = []
    for await (const file of this.#files(path)) {
      if (files.length === MAX_FILES) return { files, more: true }
      files.push(file)
    }
    return { files, more: false }
  }

  /**
   * Searches the text files below a folder for matching lines.
   * @param {string} pattern
   * @param {string} path
   */
  async search(pattern, path) {
    const expression = new RegExp(pattern.replace(/^\(\?i\)/, ''), pattern.startsWith('(?i)') ? 'i' : '')
    const matches = []
    let searched = 0
    for await (const file of this.#files(path)) {
      if (++searched > MAX_SEARCHED_FILES) return { matches, more: true }
      // Skip binary and oversized files.
      const text = await this.read(file).catch(() => '')
      for (const [index, line] of text.split('\n').entries()) {
        if (!expression.test(line)) continue
        if (matches.length === MAX_MATCHES) return { matches, more: true }
        matches.push({ path: file, line: index + 1, text: line.slice(0, MAX_LINE_CHARS) })
      }
    }
    return { matches, more: false }
  }

  /**
   * @param {string} path
   * @returns {AsyncGenerator<string, void, void>} paths relative to the root; symbolic links are not followed
   */
  async *#files(path) {
    const folder = await this.#resolve(path === '' ? '.' : path)
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => fail(`${path} is not a folder`))
    for (const entry of entries.sort((one, other) => (one.name < other.name ? -1 : 1))) {
      const file = relative(this.#root, join(folder, entry.name)).split(sep).join('/')
      if (entry.isFile()) yield file
      else if (entry.isDirectory() && !IGNORED_FOLDERS.includes(entry.name)) yield* this.#files(file)
    }
  }

  /**
   * Returns the text of a file after a patch, or undefined if the patch deletes it. Writes nothing.
   * @param {string} path
   * @param {string} patch
   */
  async previewPatch(path, patch) {
    const { isNew, isDeletion } = parsePatch(patch)
    const before = isNew ? '' : await this.read(path)
    const exists = isNew && (await this.read(path).then(() => true, () => false))
    if (exists) fail(`${path} already exists`)
    const after = applyPatch(before, patch)
    return isDeletion ? undefined : after
  }

  /**
   * @param {string} path
   * @param {string | undefined} text deletes the file if undefined
   */
  async write(path, text) {
    const file = await this.#resolve(path)
    if (text === undefined) return rm(file)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
  }

  /**
   * Resolves a path with its symbolic links. Rejects paths outside the workspace.
   * @param {string} path
   */
  async #resolve(path) {
    if (typeof path !== 'string' || path === '' || isAbsolute(path)) fail('Paths must be relative to the workspace')
    const target = resolve(this.#root, path)
    // For a new file, resolve its nearest existing folder.
    let existing = target
    let missing = ''
    let real
    while ((real = await realpath(existing).catch(() => undefined)) === undefined) {
      missing = join(relative(dirname(existing), existing), missing)
      existing = dirname(existing)
    }
    const from = relative(this.#root, real)
    if (from === '..' || from.startsWith(`..${sep}`) || isAbsolute(from)) fail(`${path} is not in the workspace`)
    const inside = resolve(real, missing)
    if (inside !== this.#root && !inside.startsWith(this.#root + sep)) fail(`${path} is not in the workspace`)
    return inside
  }
}

/**
 * @param {string} message
 * @returns {never}
 */
function fail(message) {
  throw new Error(message)
}
