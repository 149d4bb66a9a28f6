/**
 * Results of tool calls that the API has not accepted yet: the results of a round are sent together, and a reload must not
 * lose those that are ready. Kept until the tab closes.
 *
 * @module
 */

const KEY = 'aptix-console:tool-results'
/** Turns whose results are stored, at most. */
const MAX_TURNS = 10

/** @typedef {import('./tool-card.js').Result} Result */

/** @returns {[string, Result[]][]} turn ids and results, oldest first */
function read() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? '[]')
  } catch {
    return []
  }
}

/**
 * @param {string} turnId
 * @param {Result[]} results removes the turn if empty
 */
function write(turnId, results) {
  const others = read().filter(([id]) => id !== turnId)
  const all = results.length > 0 ? [...others, /** @type {[string, Result[]]} */ ([turnId, results])] : others
  try {
    sessionStorage.setItem(KEY, JSON.stringify(all.slice(-MAX_TURNS)))
  } catch {
    // The storage is full. The results stay on the page.
  }
}

/**
 * Returns the results of a turn that were ready, and not accepted.
 * @param {string} turnId
 */
export const savedResults = (turnId) => read().find(([id]) => id === turnId)?.[1] ?? []

/**
 * @param {string} turnId
 * @param {Result} result
 */
export const saveResult = (turnId, result) => write(turnId, [...savedResults(turnId).filter(({ id }) => id !== result.id), result])

/** @param {string} turnId */
export const clearResults = (turnId) => write(turnId, [])
