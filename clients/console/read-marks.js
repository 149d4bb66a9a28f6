/**
 * Sessions with an activity that this browser has not shown, by the time of the last one that it has.
 *
 * @module
 */

const KEY = 'aptix-console:seen'
/** Sessions whose time is stored, at most. */
const MAX_SESSIONS = 500

/** @returns {[string, string][]} ids and times, oldest first */
function read() {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? '[]')
  } catch {
    return []
  }
}

/**
 * @param {string} id
 * @param {string} date of the last activity that was shown
 */
export function markRead(id, date) {
  const others = read().filter(([other]) => other !== id)
  try {
    localStorage.setItem(KEY, JSON.stringify([...others, [id, date]].slice(-MAX_SESSIONS)))
  } catch {
    // The storage is full. The session stays unread.
  }
}

/**
 * Returns a function that tells whether a session has an activity after the last one that was shown. One that was never opened here isn't
 * unread: others of the org may have many.
 */
export function unreadTest() {
  const marks = new Map(read())
  return (/** @type {string} */ id, /** @type {string} */ date) => (marks.get(id) ?? date) < date
}
