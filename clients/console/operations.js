/**
 * The operations page: turns of the organization that have not ended, what an operator can do about one that blocks its session, and calls
 * with an unknown outcome. For whoever runs the deployment, its queue and the dead letters too.
 *
 * @module
 */

import { deadLetterSection, tile } from './dead-letters.js'
import { announce, button, el, errorMessage, fill, labelledField, openDialog } from './dom.js'
import { duration, formatNumber, pageUrl, timestamp } from './format.js'
import { isOperator } from './not-allowed.js'
import { displayTitle } from './title.js'
import { unknownEffectSection } from './unknown-effects.js'

/** Sessions with an open turn that are listed, at most. */
const MAX_SESSIONS = 50
/** Interval at which a page that is looked at reads its lists again. */
const REFRESH_MS = 10_000

/** Reasons of open turns in words. */
const REASONS = /** @type {Record<string, string>} */ ({
  waiting_for_tools: 'waits for its client',
  waiting_for_approval: 'waits for an approval',
  running: 'running',
})

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
  const figures = el('dl', { class: 'properties tiles' })
  const result = el('div', { class: 'scroll-x' })
  const updated = el('small', { role: 'status' })
  const words = el('input', { type: 'search', name: 'words', autocomplete: 'off', placeholder: 'Session, user or reason' })
  const filter = el('div', { class: 'fields filters', role: 'search' }, labelledField('Filter', words))
  const effects = unknownEffectSection(connection)
  const queue = deadLetterSection()
  const refresh = () => Promise.all([start(), effects.refresh(), queue.refresh()])
  const help = el(
    'details',
    { class: 'more-filters' },
    el('summary', {}, 'What the buttons do'),
    el('p', { class: 'muted' }, el('em', {}, 'Settle'), ' ends a turn whose function died, as the sweep does within a minute, and leaves a turn alone that is alive. ', el('em', {}, 'Abandon'), ' ends a turn whether or not it is alive. Both are for operators and leave an audit line.'),
  )
  const node = el(
    'div',
    {},
    el('div', { class: 'row head' }, el('h1', {}, 'Operations'), el('span', { class: 'spacer' }), updated, button('Refresh', refresh)),
    el('p', { class: 'muted' }, 'Turns that have not ended, the longest first. A turn that a client has to continue may wait for days.'),
    figures,
    help,
    problem,
    filter,
    result,
    effects.node,
    queue.node,
  )
  /** @type {{ session: Summary, turn: Turn }[]} */
  let shown = []
  let isDisposed = false
  /** Operators end turns; others see them. @type {boolean | undefined} */
  let mayEnd

  async function list() {
    mayEnd ??= await isOperator(connection)
    help.hidden = !mayEnd
    /** @type {{ session: Summary, turn: Turn }[]} */
    const open = []
    for await (const session of aptix.sessions.list({ status: 'pending', pageSize: MAX_SESSIONS })) {
      const { value: turn } = await aptix.session(session.Id).turns({ order: 'desc' }).next()
      if (turn) open.push({ session, turn })
      if (open.length === MAX_SESSIONS || isDisposed) break
    }
    if (isDisposed) return
    fill(problem)
    shown = open.sort((one, other) => one.turn.CreationDate.localeCompare(other.turn.CreationDate))
    updated.textContent = `Read at ${new Date().toLocaleTimeString()}`
    show()
  }

  /** Shows the turns that match the filter, and their number by reason. */
  function show() {
    const waitFor = (/** @type {string} */ reason) => shown.filter(({ turn }) => reasonOf(turn) === reason).length
    const [clients, approvals] = [waitFor('waiting_for_tools'), waitFor('waiting_for_approval')]
    const oldest = shown[0]
    const more = shown.length === MAX_SESSIONS ? ' or more' : ''
    fill(
      figures,
      tile('Open turns', `${formatNumber(shown.length)}${more}`),
      tile('Wait for a client', formatNumber(clients)),
      tile('Wait for an approval', formatNumber(approvals)),
      tile('Work or are overdue', formatNumber(shown.length - clients - approvals)),
      tile('Open for the longest', oldest ? duration(Date.now() - Date.parse(oldest.turn.CreationDate)) : '–'),
    )
    const text = words.value.trim().toLowerCase()
    const found = shown.filter(({ session, turn }) => `${displayTitle(session.Name)} ${turn.CreatedByUser.Text} ${reasonText(turn)}`.toLowerCase().includes(text))
    const none = shown.length > 0 ? 'No open turn matches.' : 'No turn is open. Turns that run, wait for a client tool or are overdue appear here.'
    filter.hidden = shown.length < 2
    fill(result, found.length ? table(found) : el('p', { class: 'notice' }, none))
  }
  words.addEventListener('input', show)

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
      el('td', { 'data-label': 'Reason' }, el('span', { class: 'tag pending' }, reasonText(turn))),
      el('td', { 'data-label': 'Started' }, timestamp(turn.CreationDate)),
      el('td', { 'data-label': 'Open for' }, duration(Date.now() - Date.parse(turn.CreationDate))),
      el(
        'td',
        {},
        el(
          'div',
          { class: 'row' },
          el('a', { class: 'button', href: pageUrl('chat', session.Id) }, 'Open'),
          mayEnd && button('Settle', () => end('settle').catch(showError), { 'aria-label': `Settle the turn of ${title}` }),
          mayEnd && button('Abandon', abandon, { 'aria-label': `Abandon the turn of ${title}`, class: 'danger ghost' }),
        ),
      ),
    )
  }

  const showError = (/** @type {unknown} */ error) => fill(problem, errorMessage(error))
  /** @returns {Promise<void>} */
  const start = () => list().catch(showError)
  start()
  const timer = setInterval(() => void (document.visibilityState === 'visible' && !document.querySelector('dialog[open]') && refresh()), REFRESH_MS)
  return {
    title: 'Operations',
    node,
    dispose() {
      isDisposed = true
      clearInterval(timer)
    },
  }
}

/** @param {Turn} turn */
const reasonOf = (turn) => turn.StatusReason ?? turn.Status.Text

/** @param {Turn} turn */
const reasonText = (turn) => REASONS[reasonOf(turn)] ?? reasonOf(turn).replaceAll('_', ' ')
