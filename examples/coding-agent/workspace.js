/**
 * A folder that an agent may work in, and nothing outside of it.
 *
 * @module
 */

import { mkdir, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'

const LARGEST_FILE = 512 * 1024

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
 * Applies a unified diff of one file. Its context has to be there, line for line; only the lines' numbers may be off.
 * @param {string} text
 * @param {string} patch
 */
export function patched(text, patch) {
  const lines = text === '' ? [] : text.split('\n')
  const hunks = patch.split(/^(?=@@ )/m).filter((hunk) => hunk.startsWith('@@ '))
  if (hunks.length === 0) fail('the patch has no hunk')
  let from = 0
  let shift = 0
  for (const hunk of hunks) {
    const [header = '', ...body] = hunk.replace(/\n$/, '').split('\n')
    const start = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@/.exec(header) ?? fail(`not a hunk's header: ${header}`)
    const changes = body.filter((line) => !line.startsWith('\\'))
    const before = changes.filter((line) => !line.startsWith('+')).map((line) => line.slice(1))
    const after = changes.filter((line) => !line.startsWith('-')).map((line) => line.slice(1))
    // A hunk without old lines stands behind the line that it names.
    const named = Number(start[1]) - (start[2] === '0' ? 0 : 1) + shift
    const at = place(lines, before, from, Math.max(named, from))
    if (at === undefined) fail(`the file is not what the patch was made for: ${header}`)
    lines.splice(at, before.length, ...after)
    shift = at - (named - shift) + after.length - before.length
    from = at + after.length
  }
  const joined = lines.join('\n')
  // A new file's last line ends, unless the patch says that it does not.
  return text === '' && joined !== '' && !/^\\ No newline/m.test(patch) ? `${joined}\n` : joined
}

/**
 * Where these lines are, nearest to the place that is named.
 * @param {string[]} lines
 * @param {string[]} wanted
 * @param {number} from
 * @param {number} named
 */
function place(lines, wanted, from, named) {
  const fits = (/** @type {number} */ at) => at >= from && at <= lines.length && wanted.every((line, n) => lines[at + n] === line)
  const near = Math.min(named, lines.length)
  for (let off = 0; off <= lines.length; off++) {
    if (fits(near - off)) return near - off
    if (fits(near + off)) return near + off
  }
  return undefined
}

/**
 * @param {string} message
 * @returns {never}
 */
function fail(message) {
  throw new Error(message)
}
