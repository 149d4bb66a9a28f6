/**
 * Paths of the API, relative to its base.
 *
 * @module
 */

const BASE = 'api/ai/agent'

export const EXECUTE = `${BASE}/execute`
export const TOOL_RESULTS = `${BASE}/tool-results`
export const SESSIONS = `${BASE}/sessions`
export const SEARCH = `${BASE}/search`
export const APPROVALS = `${BASE}/approvals`

/**
 * @param {string} id
 * @param {'approve' | 'deny'} [answer]
 */
export const approval = (id, answer) => [APPROVALS, encodeURIComponent(id), ...(answer ? [answer] : [])].join('/')

/** @param {string} sessionId */
export const session = (sessionId) => `${SESSIONS}/${encodeURIComponent(sessionId)}`

/**
 * @param {string} sessionId
 * @param {string} turnId
 * @param {string} [suffix]
 */
export const turn = (sessionId, turnId, suffix = '') => `${session(sessionId)}/turns/${encodeURIComponent(turnId)}${suffix}`

/** @param {Record<string, string | number | undefined>} values */
export function query(values) {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined && value !== '')
  return entries.length ? `?${new URLSearchParams(entries.map(([name, value]) => [name, String(value)]))}` : ''
}
