/**
 * Results of tool calls that the API has not accepted yet: the results of a round are sent together, and a reload must not
 * lose those that are ready. Kept until the tab closes.
 *
 * @module
 */

import { RecentStore } from './recent-store.js'

/** @typedef {import('./tool-card.js').Result} Result */

/** @type {RecentStore<Result[]>} */
const results = new RecentStore('sessionStorage', 'tool-results', 10)

/**
 * Returns the results of a turn that were ready, and not accepted.
 * @param {string} turnId
 */
export const savedResults = (turnId) => results.get(turnId) ?? []

/**
 * @param {string} turnId
 * @param {Result} result
 */
export const saveResult = (turnId, result) => results.set(turnId, [...savedResults(turnId).filter(({ id }) => id !== result.id), result])

/** @param {string} turnId */
export const clearResults = (turnId) => results.set(turnId, undefined)
