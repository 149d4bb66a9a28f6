/**
 * Times at which this tab got the first text of a model's replies. The API doesn't store them; the trace shows those of the tab.
 *
 * @module
 */

import { RecentStore } from './recent-store.js'

/** @type {RecentStore<{ round: number, at: string }[]>} */
const times = new RecentStore('sessionStorage', 'first-tokens', 50)

/**
 * @param {string} turnId
 * @param {number} round
 */
export function saveFirstToken(turnId, round) {
  const before = firstTokens(turnId).filter((token) => token.round !== round)
  times.set(turnId, [...before, { round, at: new Date().toISOString() }])
}

/** @param {string} turnId */
export const firstTokens = (turnId) => times.get(turnId) ?? []
