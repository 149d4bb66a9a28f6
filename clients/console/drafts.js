/**
 * Messages that are not sent yet, by session. They survive a reload and another page.
 *
 * @module
 */

const KEY = 'aptix-console:drafts'
/** Drafts that are kept, at most. */
const MAX_DRAFTS = 30
const MAX_CHARS = 50_000
/** Id of the draft of a conversation that has no turn yet. */
export const NEW = 'new'

/** @returns {[string, string][]} ids and texts, oldest first */
function read() {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? '[]')
  } catch {
    return []
  }
}

/** @param {string} id */
export const draft = (id) => read().find(([other]) => other === id)?.[1] ?? ''

/**
 * @param {string} id
 * @param {string} text removes the draft if empty
 */
export function saveDraft(id, text) {
  const others = read().filter(([other]) => other !== id)
  const all = text.trim() === '' || text.length > MAX_CHARS ? others : [...others, [id, text]]
  try {
    localStorage.setItem(KEY, JSON.stringify(all.slice(-MAX_DRAFTS)))
  } catch {
    // The storage is full. The text stays in the field.
  }
}
