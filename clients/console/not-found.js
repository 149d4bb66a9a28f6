/**
 * Text of a page about a session or a turn that the caller can't see.
 *
 * @module
 */

import { AptixError } from '../javascript/src/index.js'
import { el } from './dom.js'
import { pageUrl } from './format.js'

/** @param {unknown} error */
export const isUnknownSession = (error) => error instanceof AptixError && error.code === 'SessionNotFound'

/**
 * @param {string} sessionId
 * @param {string} [turnId] of a turn, if the page is about one
 */
export function notFound(sessionId, turnId) {
  const what = turnId === undefined ? `No session with the id ${sessionId}` : `No turn with the id ${turnId} of the session ${sessionId}`
  const about = `${what} is visible to you. Check the link, or ask the session's owner: it may be private, or have reached the end of its retention.`
  const conversation = turnId !== undefined && el('a', { class: 'button', href: pageUrl('chat', sessionId) }, 'Conversation')
  return el('div', {}, el('p', {}, about), el('p', { class: 'row' }, conversation, el('a', { class: 'button', href: '#/sessions' }, 'All sessions')))
}
