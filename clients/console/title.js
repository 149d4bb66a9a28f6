/**
 * Titles of sessions and texts of instructions, as they are shown. A script for the mock model is shown apart from the text.
 *
 * @module
 */

const [OPENING, CLOSING] = ['[[script:', ']]']
const MAX_CHARS = 60

/**
 * Splits an instruction into its text and its script for the mock model.
 * @param {string} instruction
 * @returns {{ text: string, script?: string }}
 */
export function splitInstruction(instruction) {
  const start = instruction.indexOf(OPENING)
  if (start < 0) return { text: instruction }
  // A truncated name can lack the end.
  const closing = instruction.indexOf(CLOSING, start)
  const end = closing < 0 ? instruction.length : closing
  const text = instruction.slice(0, start) + instruction.slice(end + CLOSING.length)
  return { text: text.trim(), script: instruction.slice(start + OPENING.length, end).trim() }
}

/**
 * Returns the title of a session.
 * @param {string | undefined} name
 */
export function displayTitle(name) {
  const { text, script } = splitInstruction(name ?? '')
  if (text !== '') return cut(text)
  if (script === undefined) return 'Untitled'
  const [, said] = /\bsay "((?:[^"\\]|\\.)*)/.exec(script) ?? []
  const plain = (said ?? '').replaceAll(/\\[nrt]/g, ' ').replaceAll(/\\(.)/g, '$1').replaceAll(/[#*`>|]+/g, ' ')
  return plain.trim() === '' ? cut(`Script: ${script}`) : cut(plain)
}

/**
 * Cuts a text at the end of a word.
 * @param {string} text
 */
function cut(text) {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  if (line.length <= MAX_CHARS) return line
  const head = line.slice(0, MAX_CHARS)
  const end = head.lastIndexOf(' ')
  return `${head.slice(0, end > MAX_CHARS / 2 ? end : MAX_CHARS).replace(/[\s,;:.]+$/, '')}…`
}
