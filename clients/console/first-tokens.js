/**
 * Times at which this tab got the first text of a model's replies. The API doesn't store them; the trace shows those of the tab.
 *
 * @module
 */

const KEY = 'aptix-console:first-tokens'
/** Turns that are kept, at most. */
const MAX_TURNS = 50

/** @typedef {{ round: number, at: string }} FirstToken */

/** @returns {[string, FirstToken[]][]} turn ids and times, oldest first */
function read() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? '[]')
  } catch {
    return []
  }
}

/**
 * @param {string} turnId
 * @param {number} round
 */
export function saveFirstToken(turnId, round) {
  const before = firstTokens(turnId).filter((token) => token.round !== round)
  const others = read().filter(([id]) => id !== turnId)
  const all = [...others, [turnId, [...before, { round, at: new Date().toISOString() }]]].slice(-MAX_TURNS)
  try {
    sessionStorage.setItem(KEY, JSON.stringify(all))
  } catch {
    // The storage is full: the trace has no first tokens.
  }
}

/** @param {string} turnId */
export const firstTokens = (turnId) => read().find(([id]) => id === turnId)?.[1] ?? []
