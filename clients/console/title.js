/**
 * Titles of sessions and texts of instructions, as they are shown. A script for the mock model is shown apart from the text.
 *
 * @module
 */

/** A script for the mock model; a truncated name can lack its end. */
const SCRIPT = /\[\[script:\s*([\s\S]*?)\s*(?:\]\]|$)/
const MAX_CHARS = 60

/**
 * Splits an instruction into its text and its script for the mock model.
 * @param {string} instruction
 * @returns {{ text: string, script?: string }}
 */
export function splitInstruction(instruction) {
  const found = SCRIPT.exec(instruction)
  if (!found) return { text: instruction }
  const text = instruction.slice(0, found.index) + instruction.slice(found.index + found[0].length)
  return { text: text.trim(), script: found[1] ?? '' }
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
