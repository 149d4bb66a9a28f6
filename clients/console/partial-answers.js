/**
 * Partial answers of turns that were stopped in this tab, as they were shown. The API stores a partial answer up to the last
 * checkpoint, which can be shorter.
 *
 * @module
 */

const KEY = 'aptix-console:partial-answers'
/** Answers that are stored, at most. */
const MAX_ANSWERS = 20
/** Size limit of a stored answer, in UTF-16 code units. */
const MAX_LENGTH = 100_000

/** @returns {[string, string][]} turn ids and texts, oldest first */
function read() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? '[]')
  } catch {
    return []
  }
}

/**
 * @param {string} turnId
 * @param {string} text
 */
export function savePartialAnswer(turnId, text) {
  if (text === '' || text.length > MAX_LENGTH) return
  const answers = read().filter(([id]) => id !== turnId)
  try {
    sessionStorage.setItem(KEY, JSON.stringify([...answers, [turnId, text]].slice(-MAX_ANSWERS)))
  } catch {
    // The storage is full. The API has the answer up to its last checkpoint.
  }
}

/**
 * Returns the longer one of a stored answer and the text that the API returned for it.
 * @param {string} turnId
 * @param {string} text
 */
export function longerPartialAnswer(turnId, text) {
  const saved = read().find(([id]) => id === turnId)?.[1] ?? ''
  return saved.startsWith(text.trimEnd()) ? saved : text
}
