/**
 * Unified diffs, in the format of `workspace_write_patch`, and the escapes for showing them.
 *
 * @module
 */

/** Lines that may stand before the first hunk. */
const HEADER = /^(?:diff --git |index |new file mode 100644|deleted file mode |--- |\+\+\+ |\r?$)/
const NO_NEWLINE = '\\ No newline at end of file'

/**
 * @typedef {object} Hunk
 * @property {number} start index of its first line in the new text
 * @property {string[]} before lines of the old text, with their line breaks
 * @property {string[]} after lines of the new text, with their line breaks
 * @property {string} header
 *
 * @typedef {object} Patch
 * @property {Hunk[]} hunks
 * @property {boolean} isNew true if the patch creates the file
 * @property {boolean} isDeletion true if the patch deletes the file
 * @property {boolean} marksEnd true if a line is marked to have no line break
 */

/**
 * Parses a unified diff of one file. Throws if a line is neither a header nor part of a hunk.
 * @param {string} patch
 * @returns {Patch}
 */
export function parsePatch(patch) {
  const lines = patch.split('\n')
  if (lines.at(-1) === '') lines.pop()
  const foreign = (/** @type {number} */ at) =>
    fail(`Line ${at + 1} of the patch belongs to no hunk. Send headers and hunks of one file only.`)
  let at = 0
  const header = lines.findIndex((line) => line.startsWith('@@ '))
  if (header === -1) fail('The patch has no hunks')
  for (; at < header; at++) if (!HEADER.test(lines[at] ?? '')) foreign(at)
  const isDevNull = (/** @type {string} */ prefix) =>
    lines.slice(0, header).some((line) => line.replace(/[\t\r].*$/, '') === `${prefix} /dev/null`)
  /** @type {Hunk[]} */
  const hunks = []
  let marksEnd = false
  while (lines[at]?.startsWith('@@ ')) {
    const line = lines[at++] ?? ''
    const ranges = /^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line) ?? fail(`Invalid hunk header: ${line}`)
    const [oldCount, newCount] = [Number(ranges[1] ?? 1), Number(ranges[3] ?? 1)]
    /** @type {Hunk} */
    const hunk = { start: Math.max(0, Number(ranges[2]) - (newCount ? 1 : 0)), before: [], after: [], header: line }
    while (hunk.before.length < oldCount || hunk.after.length < newCount) {
      const changed = lines[at++] ?? fail(`The hunk has fewer lines than its header says: ${line}`)
      const sign = changed === '' ? ' ' : changed.charAt(0)
      const hasNoBreak = lines[at]?.startsWith(NO_NEWLINE) ?? false
      const text = changed.slice(1) + (hasNoBreak ? '' : '\n')
      if (!' +-'.includes(sign)) foreign(at - 1)
      if (sign !== '+') hunk.before.push(text)
      if (sign !== '-') hunk.after.push(text)
      if (hasNoBreak) at += 1
      marksEnd ||= hasNoBreak
    }
    if (hunk.before.length > oldCount || hunk.after.length > newCount)
      fail(`The hunk has other lines than its header says: ${line}`)
    hunks.push(hunk)
  }
  for (; at < lines.length; at++) if (!/^\r?$/.test(lines[at] ?? '')) foreign(at)
  return { hunks, isNew: isDevNull('---'), isDeletion: isDevNull('+++'), marksEnd }
}

/**
 * Applies a unified diff to the text of one file. The context must match line for line; line numbers may be off. Throws if
 * the patch does not apply, or has lines that belong to no hunk.
 * @param {string} text
 * @param {string} patch
 */
export function applyPatch(text, patch) {
  const { hunks, isDeletion, marksEnd } = parsePatch(patch)
  // Many patches don't mark that the last line has no line break.
  const isOpen = text !== '' && !text.endsWith('\n') && !marksEnd
  const lines = splitLines(isOpen ? `${text}\n` : text)
  /** @type {string[]} */
  const result = []
  let next = 0
  for (const { start, before, after, header } of hunks) {
    const at = findLines(lines, before, next, start + next - result.length)
    if (at === undefined) fail(`The patch does not match the file: ${header}`)
    result.push(...lines.slice(next, at), ...after)
    next = at + before.length
  }
  result.push(...lines.slice(next))
  if (result.slice(0, -1).some((line) => !line.endsWith('\n'))) fail('The patch ends the file before its last line')
  const joined = result.join('')
  if (isDeletion && joined !== '') fail('The patch deletes the file, but does not remove all of its lines')
  return isOpen ? joined.replace(/\n$/, '') : joined
}

/**
 * Splits a text into lines with their line breaks.
 * @param {string} text
 * @returns {string[]}
 */
const splitLines = (text) => text.match(/[^\n]*\n|[^\n]+/g) ?? []

/**
 * Finds lines, starting with the match nearest to the target. Returns undefined if there is none.
 * @param {string[]} lines
 * @param {string[]} expected
 * @param {number} from
 * @param {number} target
 */
function findLines(lines, expected, from, target) {
  const fits = (/** @type {number} */ at) => at >= from && at <= lines.length && expected.every((line, n) => lines[at + n] === line)
  const near = Math.min(Math.max(target, from), lines.length)
  for (let distance = 0; distance <= lines.length; distance++) {
    if (fits(near - distance)) return near - distance
    if (fits(near + distance)) return near + distance
  }
  return undefined
}

/** Control characters except line breaks and tabs, and invisible, bidirectional and zero-width characters. */
const DECEPTIVE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\u{13430}-\u{1343f}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu

/**
 * Escapes control and invisible characters as `\u{202e}`, so that a text can't pretend to be another one.
 * @param {string} text
 */
export const escapeInvisible = (text) =>
  text.replace(DECEPTIVE, (letter) => `\\u{${(letter.codePointAt(0) ?? 0).toString(16)}}`)

/**
 * Counts control and invisible characters. CRLF line ends are common and count for nothing.
 * @param {string} text
 */
export const countInvisible = (text) => text.replaceAll('\r\n', '\n').match(DECEPTIVE)?.length ?? 0

/**
 * @param {string} message
 * @returns {never}
 */
function fail(message) {
  throw new Error(message)
}
