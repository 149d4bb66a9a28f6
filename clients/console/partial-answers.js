/**
 * Partial answers of turns that were stopped in this tab, as they were shown. The API stores a partial answer up to the last
 * checkpoint, which can be shorter.
 *
 * @module
 */

import { RecentStore } from './recent-store.js'

/** @type {RecentStore<string>} */
const answers = new RecentStore('sessionStorage', 'partial-answers', 20)
/** Size limit of a stored answer, in UTF-16 code units. */
const MAX_LENGTH = 100_000

/**
 * @param {string} turnId
 * @param {string} text
 */
export function savePartialAnswer(turnId, text) {
  if (text !== '' && text.length <= MAX_LENGTH) answers.set(turnId, text)
}

/**
 * Returns the longer one of a stored answer and the text that the API returned for it.
 * @param {string} turnId
 * @param {string} text
 */
export function longerPartialAnswer(turnId, text) {
  const saved = answers.get(turnId) ?? ''
  return saved.startsWith(text.trimEnd()) ? saved : text
}
