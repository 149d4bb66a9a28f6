/**
 * The calls that wait for an approval: those that the caller may answer, those of the org for operators, or one of them by its link.
 *
 * @module
 */

import { APPROVALS, approvalCard } from './approval-card.js'
import { announce, button, el, errorMessage, fill } from './dom.js'

/** The most approvals that are listed. */
const PAGE_SIZE = 50
/** Time between two reads of the list. */
const REFRESH_INTERVAL_MS = 10_000

/** @type {import('./main.js').Page} */
export function approvals(connection, [id]) {
  return id === undefined ? list(connection) : single(connection, id)
}

/**
 * @param {import('./connection.js').Connection} connection
 * @param {string} id
 */
function single(connection, id) {
  const body = el('div', { class: 'approvals' })
  const node = el('div', {}, el('h1', {}, 'Approval'), el('p', {}, el('a', { href: '#/approvals' }, 'All that wait for you')), body)
  connection.read(`${APPROVALS}/${encodeURIComponent(id)}`).then(
    (approval) => fill(body, approvalCard(connection, approval).node),
    (error) => fill(body, errorMessage(error)),
  )
  return { title: 'Approval', node }
}

/** @param {import('./connection.js').Connection} connection */
function list(connection) {
  const problem = el('div', {})
  const cards = el('div', { class: 'approvals' })
  const more = el('p', { class: 'muted' })
  const all = el('input', { type: 'checkbox' })
  const scope = el('label', { class: 'checkbox', hidden: true }, all, 'All of the org')
  all.addEventListener('change', () => void start())
  const node = el(
    'div',
    {},
    el('div', { class: 'row head' }, el('h1', {}, 'Approvals'), el('span', { class: 'spacer' }), scope, button('Refresh', () => start())),
    el('p', { class: 'muted' }, 'Calls of tools that wait for a person. An approved call is sent once, exactly as it is shown, and its turn goes on by itself.'),
    problem,
    cards,
    more,
  )
  /** Cards by approval, those answered here included. @type {Map<string, ReturnType<typeof approvalCard>>} */
  const shown = new Map()
  /** Approvals that were answered here. @type {Set<string>} */
  const answered = new Set()

  async function refresh() {
    const query = `pageSize=${PAGE_SIZE}${all.checked ? '&scope=all' : ''}`
    const { Items, ContinuationToken } = /** @type {{ Items: import('../javascript/src/wire.js').Approval[], ContinuationToken?: string }} */ (await connection.read(`${APPROVALS}?${query}`))
    fill(problem)
    const waiting = new Set(Items.map(({ ApprovalId }) => ApprovalId))
    for (const [id, card] of shown) {
      // What a person is about to answer stays in its place.
      if (waiting.has(id) || answered.has(id)) continue
      card.node.remove()
      shown.delete(id)
    }
    for (const approval of Items) {
      const { ApprovalId } = approval
      if (shown.has(ApprovalId)) continue
      const card = approvalCard(connection, approval, { onAnswered: () => answered.add(ApprovalId) })
      shown.set(ApprovalId, card)
      cards.append(card.node)
    }
    cards.querySelector('.notice')?.remove()
    if (shown.size === 0) cards.append(el('p', { class: 'notice' }, all.checked ? 'No call of the org waits for an approval.' : 'No call waits for you.'))
    fill(more, ContinuationToken ? 'and more, which expire later' : '')
  }

  const start = () => refresh().catch((error) => fill(problem, errorMessage(error)))
  void start().then(() => announce(`${shown.size} calls wait for you.`))
  // Operators alone may see those of the org.
  connection.read(`${APPROVALS}?pageSize=1&scope=all`).then(
    () => (scope.hidden = false),
    () => {},
  )
  const timer = setInterval(() => document.visibilityState === 'visible' && void start(), REFRESH_INTERVAL_MS)
  return { title: 'Approvals', node, dispose: () => clearInterval(timer) }
}
