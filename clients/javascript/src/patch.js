/**
 * Unified diffs, in the format of `workspace_write_patch`.
 *
 * @module
 */

/**
 * Applies a unified diff to the text of one file. The context must match line for line; line numbers may be off. Throws if
 * the patch does not apply.
 * @param {string} text
 * @param {string} patch
 */
export function applyPatch(text, patch) {
  const lines = text === '' ? [] : text.split('\n')
  const hunks = patch.split(/^(?=@@ )/m).filter((hunk) => hunk.startsWith('@@ '))
  if (hunks.length === 0) fail('The patch has no hunks')
  let from = 0
  let shift = 0
  for (const hunk of hunks) {
    const [header = '', ...body] = hunk.replace(/\n$/, '').split('\n')
    const start = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@/.exec(header) ?? fail(`Invalid hunk header: ${header}`)
    const changes = body.filter((line) => !line.startsWith('\\'))
    const before = changes.filter((line) => !line.startsWith('+')).map((line) => line.slice(1))
    const after = changes.filter((line) => !line.startsWith('-')).map((line) => line.slice(1))
    // A hunk without old lines is inserted after the line in its header.
    const target = Number(start[1]) - (start[2] === '0' ? 0 : 1) + shift
    const at = findLines(lines, before, from, Math.max(target, from))
    if (at === undefined) fail(`The patch does not match the file: ${header}`)
    lines.splice(at, before.length, ...after)
    shift = at - (target - shift) + after.length - before.length
    from = at + after.length
  }
  const joined = lines.join('\n')
  // A new file ends with a newline unless the patch says otherwise.
  return text === '' && joined !== '' && !/^\\ No newline/m.test(patch) ? `${joined}\n` : joined
}

/**
 * Finds lines, starting with the match nearest to the target. Returns undefined if there is none.
 * @param {string[]} lines
 * @param {string[]} expected
 * @param {number} from
 * @param {number} target
 */
function findLines(lines, expected, from, target) {
  const fits = (/** @type {number} */ at) => at >= from && at <= lines.length && expected.every((line, n) => lines[at + n] === line)
  const near = Math.min(target, lines.length)
  for (let distance = 0; distance <= lines.length; distance++) {
    if (fits(near - distance)) return near - distance
    if (fits(near + distance)) return near + distance
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
