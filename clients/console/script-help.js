/**
 * Help for scripts of the mock model: the steps, those that a line may become, and lines that are no step.
 *
 * @module
 */

/** Steps of the script language: name, example, and what the mock model does. */
export const STEPS = /** @type {[name: string, example: string, about: string][]} */ ([
  ['say', 'say "Hello."', 'Outputs a text'],
  ['words', 'words 100', 'Outputs numbered words'],
  ['pace', 'pace 20ms', 'Pauses before each following piece of text'],
  ['think', 'think "The user greets."', 'Outputs a summary of its reasoning'],
  ['call', 'call agent_list_modes {}', 'Calls a tool; consecutive calls are parallel'],
  ['then', 'then', 'Ends the reply; the next steps answer the results of the tools'],
  ['hang', 'hang 2s', 'Stops in mid-stream for a time'],
  ['delay', 'delay 2s', 'Waits before the response begins'],
  ['status', 'status 503 times 2', 'Responds with an HTTP status, a number of times'],
  ['drop', 'drop times 1', 'Closes the connection without a response'],
  ['cut', 'cut after 6 events', 'Closes the connection in mid-stream'],
  ['fail', 'fail server_error', 'Ends the stream with an error'],
  ['incomplete', 'incomplete max_output_tokens', 'Ends the answer early, with a reason'],
  ['echo', 'echo', 'Says what the model received'],
])
/** Steps that need no example on the page. */
const OTHERS = 'as chunk cite error finally forget hosted id malformed no outlives overflow phase quirk refuse repeat reset silent unended unknown usage'.split(' ')
const NAMES = [...STEPS.map(([name]) => name), ...OTHERS]

/**
 * Returns the steps that a line may become: all for an empty line, the step itself once it is complete.
 * @param {string} line
 */
export function suggestions(line) {
  const [word = ''] = line.trimStart().split(/\s/, 1)
  const exact = STEPS.find(([name]) => name === word)
  return exact ? [exact] : STEPS.filter(([name]) => name.startsWith(word))
}

/**
 * Returns the first line that is no step, in words.
 * @param {string} text
 */
export function wrongLine(text) {
  for (const [at, line] of text.split('\n').entries()) {
    const [word = ''] = line.trim().split(/\s/, 1)
    if (!word || NAMES.includes(word)) continue
    const close = NAMES.find((name) => name.startsWith(word.slice(0, 2)) || word.startsWith(name))
    return `Line ${at + 1}: the mock model has no step ${word}.${close ? ` Do you mean ${close}?` : ''}`
  }
  return undefined
}

/**
 * Returns the line of a text that has the cursor, with its bounds.
 * @param {string} text
 * @param {number} cursor
 */
export function lineAt(text, cursor) {
  const start = text.lastIndexOf('\n', cursor - 1) + 1
  const next = text.indexOf('\n', cursor)
  const end = next < 0 ? text.length : next
  return { line: text.slice(start, end), start, end }
}
