/**
 * Sessions with an activity that this browser has not shown, by the time of the last one that it has.
 *
 * @module
 */

import { RecentStore } from './recent-store.js'

/** @type {RecentStore<string>} */
const dates = new RecentStore('localStorage', 'seen', 500)

/**
 * @param {string} id
 * @param {string} date of the last activity that was shown
 */
export const markRead = (id, date) => dates.set(id, date)

/**
 * Returns a function that tells whether a session has an activity after the last one that was shown. One that was never opened here isn't
 * unread: others of the org may have many.
 */
export function unreadTest() {
  const marks = new Map(dates.items())
  return (/** @type {string} */ id, /** @type {string} */ date) => (marks.get(id) ?? date) < date
}
