/**
 * The API's paths, relative to its base.
 *
 * @module
 */

const BASE = 'api/ai/agent'

export const EXECUTE = `${BASE}/execute`
export const TOOL_RESULTS = `${BASE}/tool-results`
export const SESSIONS = `${BASE}/sessions`
export const SEARCH = `${BASE}/search`

/** @param {string} sessionId */
export const session = (sessionId) => `${SESSIONS}/${encodeURIComponent(sessionId)}`

/**
 * @param {string} sessionId
 * @param {string} turnId
 * @param {string} [rest]
 */
export const turn = (sessionId, turnId, rest = '') => `${session(sessionId)}/turns/${encodeURIComponent(turnId)}${rest}`

/** @param {Record<string, string | number | undefined>} values */
export function query(values) {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== '')
  return given.length ? `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}` : ''
}
