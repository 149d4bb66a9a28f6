/**
 * Groups of the sidebar's sessions: pinned ones first, then by the day of the last activity.
 *
 * @module
 */

const PINS_KEY = 'aptix-console:pins'
const DAY_MS = 86_400_000

/** @returns {string[]} ids of the pinned sessions */
export function pins() {
  try {
    return JSON.parse(localStorage.getItem(PINS_KEY) ?? '[]')
  } catch {
    return []
  }
}

/**
 * Pins a session, or unpins a pinned one.
 * @param {string} id
 */
export function togglePin(id) {
  const others = pins().filter((other) => other !== id)
  localStorage.setItem(PINS_KEY, JSON.stringify(others.length < pins().length ? others : [id, ...others]))
}

/** @typedef {import('../javascript/src/wire.js').SessionSummary} Summary */

/**
 * @param {Summary[]} sessions newest activity first
 * @param {string[]} pinned ids
 * @param {Date} now
 * @returns {{ label: string, sessions: Summary[] }[]} groups that are not empty
 */
export function groupSessions(sessions, pinned, now) {
  const midnight = new Date(now).setHours(0, 0, 0, 0)
  const labels = ['Pinned', 'Today', 'Yesterday', 'Previous 7 days', 'Previous 30 days', 'Older']
  const label = (/** @type {Summary} */ session) => {
    if (pinned.includes(session.Id)) return 'Pinned'
    const at = Date.parse(session.LastTurnDate ?? session.LastUpdatedDate)
    if (at >= midnight) return 'Today'
    // A day can have 23 or 25 hours.
    if (at >= midnight - 1.05 * DAY_MS) return 'Yesterday'
    if (at >= midnight - 7 * DAY_MS) return 'Previous 7 days'
    return at >= midnight - 30 * DAY_MS ? 'Previous 30 days' : 'Older'
  }
  const groups = labels.map((name) => ({ label: name, sessions: sessions.filter((session) => label(session) === name) }))
  return groups.filter((group) => group.sessions.length > 0)
}
