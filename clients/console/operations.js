/**
 * The operations page: turns of the organization that have not ended, and what an operator can do about one that blocks its session. For
 * whoever runs the deployment, its queue and the dead letters too.
 *
 * @module
 */

import { deadLetterSection } from './dead-letters.js'
import { announce, button, el, errorMessage, fill, openDialog } from './dom.js'
import { duration, formatNumber, pageUrl, timestamp } from './format.js'
import { notAllowed } from './not-allowed.js'
import { displayTitle } from './title.js'

/** Sessions with an open turn that are listed, at most. */
const MAX_SESSIONS = 50

/**
 * @typedef {import('../javascript/src/wire.js').SessionSummary} Summary
 * @typedef {import('../javascript/src/wire.js').SessionTurn & { StatusReason?: string }} Turn
 */

/**
 * @param {import('./connection.js').Connection} connection
 * @returns {import('./main.js').View}
 */
export function operations(connection) {
  const { aptix } = connection
  const problem = el('div', {})
  const result = el('div', { class: 'scroll-x' })
  const queue = deadLetterSection()
  const refresh = () => Promise.all([start(), queue.refresh()])
  const node = el(
    'div',
    {},
    el('div', { class: 'row head' }, el('h1', {}, 'Operations'), el('span', { class: 'spacer' }), button('Refresh', refresh)),
    el(
      'p',
      { class: 'muted' },
      'Turns that have not ended, by session. The sweep settles an overdue turn within a minute; ',
      el('em', {}, 'Settle'),
      ' does that at once and leaves a turn alone that is alive. ',
      el('em', {}, 'Abandon'),
      ' ends a turn whether or not it is alive. Both are for operators and leave an audit line.',
    ),
    problem,
    result,
    queue.node,
  )
  let isDisposed = false

  async function list() {
    /** @type {{ session: Summary, turn: Turn }[]} */
    const open = []
    for await (const session of aptix.sessions.list({ status: 'pending', pageSize: MAX_SESSIONS })) {
      const { value: turn } = await aptix.session(session.Id).turns({ order: 'desc' }).next()
      if (turn) open.push({ session, turn })
      if (open.length === MAX_SESSIONS || isDisposed) break
    }
    if (isDisposed) return
    fill(problem)
    fill(result, open.length ? table(open) : el('p', { class: 'notice' }, 'No turn is open. Turns that run, wait for a client tool or are overdue appear here.'))
    announce(`${open.length} open turns.`)
  }

  /** @param {{ session: Summary, turn: Turn }[]} open */
  function table(open) {
    const head = ['Session', 'User', 'Reason', 'Started', 'Open for', 'Actions'].map((name) => el('th', { scope: 'col' }, name))
    return el(
      'table',
      { class: 'list' },
      el('caption', { class: 'visually-hidden' }, `${formatNumber(open.length)} open turns`),
      el('thead', {}, el('tr', {}, head)),
      el('tbody', {}, open.map(({ session, turn }) => row(session, turn))),
    )
  }

  /**
   * @param {Summary} session
   * @param {Turn} turn
   */
  function row(session, turn) {
    const title = displayTitle(session.Name)
    const end = async (/** @type {'settle' | 'abandon'} */ action) => {
      const path = `api/ai/agent/sessions/${encodeURIComponent(session.Id)}/turns/${encodeURIComponent(turn.Id)}/${action}`
      await connection.send('POST', path)
      await list()
    }
    const hint = el('p', {}, 'Its work, if any, is lost. The session takes further turns.')
    const abandon = () => openDialog({ title: `Abandon the turn of ${title}?`, fields: [hint], submit: 'Abandon', isDangerous: true }, () => end('abandon'))
    return el(
      'tr',
      {},
      el('th', { scope: 'row' }, el('a', { href: pageUrl('trace', session.Id, turn.Id) }, title)),
      el('td', { 'data-label': 'User' }, turn.CreatedByUser.Text),
      el('td', { 'data-label': 'Reason' }, el('span', { class: 'tag pending' }, (turn.StatusReason ?? turn.Status.Text).replaceAll('_', ' '))),
      el('td', { 'data-label': 'Started' }, timestamp(turn.CreationDate)),
      el('td', { 'data-label': 'Open for' }, duration(Date.now() - Date.parse(turn.CreationDate))),
      el(
        'td',
        {},
        el(
          'div',
          { class: 'row' },
          button('Settle', () => end('settle').catch(showError), { 'aria-label': `Settle the turn of ${title}` }),
          button('Abandon', abandon, { 'aria-label': `Abandon the turn of ${title}`, class: 'danger ghost' }),
        ),
      ),
    )
  }

  const showError = (/** @type {unknown} */ error) => fill(problem, errorMessage(error))
  /** @returns {Promise<void>} */
  const start = () => list().catch((error) => (error.status === 403 ? fill(node, el('h1', {}, 'Operations'), notAllowed('end turns of others', 'operators')) : showError(error)))
  start()
  return { title: 'Operations', node, dispose: () => void (isDisposed = true) }
}
