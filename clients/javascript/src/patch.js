/**
 * Unified diffs, as `workspace_write_patch` gives them.
 *
 * @module
 */

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
