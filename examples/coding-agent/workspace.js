/**
 * A folder that an agent may work in, and nothing outside of it.
 *
 * @module
 */

import { mkdir, readdir, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'

import { patched } from '../../clients/javascript/src/patch.js'

const LARGEST_FILE = 512 * 1024
const MOST_FILES = 1_000
const MOST_SEARCHED = 20_000
const MOST_MATCHES = 200
const MOST_OF_LINE = 300
/** Folders that nobody edits. */
const LEFT_OUT = ['.git', 'node_modules', 'target']

export class Workspace {
  #root

  /** @param {string} root */
  constructor(root) {
    this.#root = root
  }

  /**
   * @param {string} folder
   */
  static async open(folder) {
    return new Workspace(await realpath(folder))
  }

  /**
   * A text file, whole.
   * @param {string} path
   */
  async read(path) {
    const file = await this.#inside(path)
    const { size } = await stat(file).catch(() => fail(`${path} is not there`))
    if (size > LARGEST_FILE) fail(`${path} is larger than ${LARGEST_FILE} bytes`)
    const bytes = await readFile(file)
    if (bytes.includes(0)) fail(`${path} is no text file`)
    return bytes.toString('utf8')
  }

  /**
   * The files below a folder.
   * @param {string} path
   */
  async list(path) {
    const files = []
    for await (const file of this.#files(path)) {
      if (files.length === MOST_FILES) return { files, more: true }
      files.push(file)
    }
    return { files, more: false }
  }

  /**
   * The lines that match, in the text files below a folder.
   * @param {string} pattern
   * @param {string} path
   */
  async search(pattern, path) {
    const expression = new RegExp(pattern.replace(/^\(\?i\)/, ''), pattern.startsWith('(?i)') ? 'i' : '')
    const matches = []
    let searched = 0
    for await (const file of this.#files(path)) {
      if (++searched > MOST_SEARCHED) return { matches, more: true }
      // What is no text, or too large, has no lines.
      const text = await this.read(file).catch(() => '')
      for (const [index, line] of text.split('\n').entries()) {
        if (!expression.test(line)) continue
        if (matches.length === MOST_MATCHES) return { matches, more: true }
        matches.push({ path: file, line: index + 1, text: line.slice(0, MOST_OF_LINE) })
      }
    }
    return { matches, more: false }
  }

  /**
   * @param {string} path
   * @returns {AsyncGenerator<string, void, void>} paths relative to the root; links are not followed
   */
  async *#files(path) {
    const folder = await this.#inside(path === '' ? '.' : path)
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => fail(`${path} is no folder`))
    for (const entry of entries.sort((one, other) => (one.name < other.name ? -1 : 1))) {
      const file = relative(this.#root, join(folder, entry.name)).split(sep).join('/')
      if (entry.isFile()) yield file
      else if (entry.isDirectory() && !LEFT_OUT.includes(entry.name)) yield* this.#files(file)
    }
  }

  /**
   * What a patch makes of a file, or undefined where it deletes it. Nothing is written.
   * @param {string} path
   * @param {string} patch
   */
  async patched(path, patch) {
    const isNew = /^--- \/dev\/null/m.test(patch)
    const before = isNew ? '' : await this.read(path)
    const exists = isNew && (await this.read(path).then(() => true, () => false))
    if (exists) fail(`${path} is there already`)
    const after = patched(before, patch)
    return /^\+\+\+ \/dev\/null/m.test(patch) ? undefined : after
  }

  /**
   * @param {string} path
   * @param {string | undefined} text deletes the file where there is none
   */
  async write(path, text) {
    const file = await this.#inside(path)
    if (text === undefined) return rm(file)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
  }

  /**
   * Where a path leads, links followed; it never leads out.
   * @param {string} path
   */
  async #inside(path) {
    if (typeof path !== 'string' || path === '' || isAbsolute(path)) fail('a path is relative to the workspace')
    const target = resolve(this.#root, path)
    // Of a file that is not there yet, the nearest folder that is.
    let known = target
    let rest = ''
    let real
    while ((real = await realpath(known).catch(() => undefined)) === undefined) {
      rest = join(relative(dirname(known), known), rest)
      known = dirname(known)
    }
    const from = relative(this.#root, real)
    if (from === '..' || from.startsWith(`..${sep}`) || isAbsolute(from)) fail(`${path} is not in the workspace`)
    const inside = resolve(real, rest)
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
