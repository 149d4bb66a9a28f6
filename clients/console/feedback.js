/**
 * Feedback on an answer: good or bad, with an optional note for a bad one.
 *
 * @module
 */

import { announce, el, errorMessage, iconButton, labelledField, openDialog } from './dom.js'

const [BEST, WORST] = [5, 1]

/**
 * @param {import('./connection.js').Connection} connection
 * @param {string} sessionId
 * @param {string} turnId
 */
export function feedbackButtons(connection, sessionId, turnId) {
  const path = `api/ai/agent/sessions/${encodeURIComponent(sessionId)}/turns/${encodeURIComponent(turnId)}/feedback`
  const show = (/** @type {number | undefined} */ rating) => {
    good.setAttribute('aria-pressed', String(rating !== undefined && rating > 3))
    bad.setAttribute('aria-pressed', String(rating !== undefined && rating < 3))
  }
  const send = async (/** @type {number} */ rating, /** @type {string} */ note = '') => {
    await connection.send('PUT', path, JSON.stringify({ Rating: rating, Note: note || undefined }))
    show(rating)
    announce('Feedback sent.')
  }
  const reportBad = () => {
    const fields = [labelledField('What was wrong? (optional)', el('textarea', { name: 'note', rows: 3, maxlength: 4096 }))]
    openDialog({ title: 'Bad answer', fields, submit: 'Send feedback' }, ({ note = '' }) => send(WORST, note.trim()))
  }
  const good = iconButton('up', 'Good answer', () => send(BEST).catch((error) => node.append(errorMessage(error))), { 'aria-pressed': 'false' })
  const bad = iconButton('down', 'Bad answer', reportBad, { 'aria-pressed': 'false' })
  const node = el('span', { class: 'feedback' }, good, bad)

  /** Shows the caller's earlier feedback. */
  async function load() {
    const [{ Items = [] }, { sub }] = await Promise.all([connection.read(path), connection.claims()])
    show(Items.find((/** @type {{ User: { Id: string }, Rating: number }} */ { User }) => User.Id === sub)?.Rating)
  }
  return { node, load }
}
