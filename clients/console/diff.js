/**
 * Diff of two texts, by line or by word.
 *
 * @module
 */

import { countInvisible, escapeInvisible } from '../javascript/src/patch.js'
import { el } from './dom.js'

/** Size limit of the comparison table. Above it, everything between the common ends counts as changed. */
const MAX_CELLS = 4_000_000

/** A line, or a word. @typedef {{ kind: 'same' | 'added' | 'removed', text: string }} Line */

/**
 * Compares two texts line by line.
 * @param {string} before
 * @param {string} after
 */
export const diffLines = (before, after) => diffSequences(before.split('\n'), after.split('\n'))

/**
 * Compares two texts word by word. White space counts as a word.
 * @param {string} before
 * @param {string} after
 */
export const diffWords = (before, after) => diffSequences(words(before), words(after))

/** @param {string} text */
const words = (text) => text.match(/\s+|[^\s]+/g) ?? []

/**
 * @param {string[]} old
 * @param {string[]} now
 * @returns {Line[]}
 */
function diffSequences(old, now) {
  let head = 0
  while (head < Math.min(old.length, now.length) && old[head] === now[head]) head += 1
  let tail = 0
  const limit = Math.min(old.length, now.length) - head
  while (tail < limit && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail += 1
  const same = (/** @type {string[]} */ lines) => lines.map((text) => ({ kind: /** @type {const} */ ('same'), text }))
  const middle = diffMiddle(old.slice(head, old.length - tail), now.slice(head, now.length - tail))
  return [...same(now.slice(0, head)), ...middle, ...same(now.slice(now.length - tail))]
}

/**
 * @param {string[]} old
 * @param {string[]} now
 * @returns {Line[]}
 */
function diffMiddle(old, now) {
  const removed = (/** @type {string} */ text) => ({ kind: /** @type {const} */ ('removed'), text })
  const added = (/** @type {string} */ text) => ({ kind: /** @type {const} */ ('added'), text })
  if (old.length * now.length > MAX_CELLS) return [...old.map(removed), ...now.map(added)]
  // Length of the longest common subsequence of the rest of both texts, for each pair of lines.
  const width = now.length + 1
  const longest = new Uint32Array((old.length + 1) * width)
  const cell = (/** @type {number} */ i, /** @type {number} */ j) => longest[i * width + j] ?? 0
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      longest[i * width + j] = old[i] === now[j] ? cell(i + 1, j + 1) + 1 : Math.max(cell(i + 1, j), cell(i, j + 1))
    }
  }
  /** @type {Line[]} */
  const lines = []
  let [i, j] = [0, 0]
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      lines.push({ kind: 'same', text: now[j++] ?? '' })
      i += 1
    } else if (j === now.length || (i < old.length && cell(i + 1, j) >= cell(i, j + 1))) lines.push(removed(old[i++] ?? ''))
    else lines.push(added(now[j++] ?? ''))
  }
  return lines
}

/**
 * Returns a warning if a text has control or invisible characters, which are shown escaped.
 * @param {string} text
 */
export function invisibleWarning(text) {
  const count = countInvisible(text)
  if (count === 0) return ''
  const characters = count === 1 ? 'a control or invisible character' : `${count} control or invisible characters`
  return el('p', { class: 'warnings' }, `Contains ${characters}, shown as \\u{…}.`)
}

/**
 * Shows a text, with its differences from another one if that is given.
 * @param {string} text
 * @param {string | undefined} before
 * @param {string} label
 */
export function diffView(text, before, label) {
  const attributes = { tabindex: 0, role: 'group', 'aria-label': label, class: 'payload' }
  if (before === undefined) return el('pre', attributes, escapeInvisible(text))
  const lines = diffLines(before, text).map(({ kind, text: line }) => {
    const text = escapeInvisible(line)
    if (kind === 'same') return `  ${text}\n`
    return el(kind === 'added' ? 'ins' : 'del', {}, `${kind === 'added' ? '+' : '-'} ${text}\n`)
  })
  return el('pre', attributes, lines)
}

/**
 * Shows the words in which a text differs from another one.
 * @param {string} before
 * @param {string} after
 */
export function wordDiff(before, after) {
  const tags = /** @type {const} */ ({ added: 'ins', removed: 'del' })
  /** @type {Line[]} */
  const runs = []
  for (const { kind, text } of diffWords(before, after)) {
    const last = runs.at(-1)
    if (last?.kind === kind) last.text += text
    else runs.push({ kind, text })
  }
  const parts = runs.map(({ kind, text }) => (kind === 'same' ? escapeInvisible(text) : el(tags[kind], {}, escapeInvisible(text))))
  return el('div', { class: 'word-diff' }, parts)
}
