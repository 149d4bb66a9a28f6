/**
 * Messages that are not sent yet, by session. They survive a reload and another page.
 *
 * @module
 */

import { RecentStore } from './recent-store.js'

/** @type {RecentStore<string>} */
const drafts = new RecentStore('localStorage', 'drafts', 30)
const MAX_CHARS = 50_000
/** Id of the draft of a conversation that has no turn yet. */
export const NEW = 'new'

/** @param {string} id */
export const draft = (id) => drafts.get(id) ?? ''

/**
 * @param {string} id
 * @param {string} text removes the draft if empty
 */
export const saveDraft = (id, text) => drafts.set(id, text.trim() === '' || text.length > MAX_CHARS ? undefined : text)
