/**
 * What a text has that another had not, line by line.
 *
 * @module
 */

import { el } from './dom.js'

/** A larger table of lines against lines is not filled in: then all between the same ends counts as changed. */
const MOST_CELLS = 4_000_000

/** @typedef {{ kind: 'same' | 'new' | 'gone', text: string }} Line */

/**
 * @param {string} before
 * @param {string} after
 * @returns {Line[]}
 */
export function compare(before, after) {
  const old = before.split('\n')
  const now = after.split('\n')
  let head = 0
  while (head < Math.min(old.length, now.length) && old[head] === now[head]) head += 1
  let tail = 0
  const most = Math.min(old.length, now.length) - head
  while (tail < most && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail += 1
  const same = (/** @type {string[]} */ lines) => lines.map((text) => ({ kind: /** @type {const} */ ('same'), text }))
  const middle = between(old.slice(head, old.length - tail), now.slice(head, now.length - tail))
  return [...same(now.slice(0, head)), ...middle, ...same(now.slice(now.length - tail))]
}

/**
 * @param {string[]} old
 * @param {string[]} now
 * @returns {Line[]}
 */
function between(old, now) {
  const gone = (/** @type {string} */ text) => ({ kind: /** @type {const} */ ('gone'), text })
  const added = (/** @type {string} */ text) => ({ kind: /** @type {const} */ ('new'), text })
  if (old.length * now.length > MOST_CELLS) return [...old.map(gone), ...now.map(added)]
  // The length of the longest common part of what is left of both, from each pair of lines on.
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
    } else if (j === now.length || (i < old.length && cell(i + 1, j) >= cell(i, j + 1))) lines.push(gone(old[i++] ?? ''))
    else lines.push(added(now[j++] ?? ''))
  }
  return lines
}

/**
 * A text, with what differs from the one before marked.
 * @param {string} text
 * @param {string | undefined} before
 * @param {string} label
 */
export function compared(text, before, label) {
  const attributes = { tabindex: 0, role: 'group', 'aria-label': label, class: 'payload' }
  if (before === undefined) return el('pre', attributes, text)
  const lines = compare(before, text).map(({ kind, text }) => {
    if (kind === 'same') return `  ${text}\n`
    return el(kind === 'new' ? 'ins' : 'del', {}, `${kind === 'new' ? '+' : '-'} ${text}\n`)
  })
  return el('pre', attributes, lines)
}
