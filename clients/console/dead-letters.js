/**
 * The finalize queue of the deployment and the messages that the finalizer gave up. The queues hold messages of all orgs, so the API has no
 * route for them: the console's own server reads them with the credentials of whoever started it, and a console without them shows nothing.
 *
 * @module
 */

import { consoleApi } from './connection.js'
import { announce, button, el, errorMessage, fill, labelledField, openDialog } from './dom.js'
import { formatNumber, timestamp } from './format.js'

/** The most characters of a reason. */
const MAX_REASON_CHARS = 200

/**
 * @typedef {{ Waiting: number, Delayed: number, InFlight: number }} Depth
 * @typedef {{ Queue: Depth, DeadLetters: Depth, OverdueTurns: number }} QueueState
 * @typedef {{ Id: string, SentDate?: string, Receives: number, Org?: string, Session?: string, Turn?: string, Reason: string }} Letter
 */

export function deadLetterSection() {
  const problem = el('div', {})
  const state = el('dl', { class: 'properties tiles' })
  const result = el('div', { class: 'scroll-x' })
  const node = el(
    'section',
    { class: 'card', 'aria-label': 'Queue', hidden: true },
    el('div', { class: 'row head' }, el('h2', {}, 'Queue of the deployment'), el('span', { class: 'spacer' }), button('List dead letters', () => list().catch(showError))),
    el('p', { class: 'muted' }, 'A message that failed five times is a dead letter. Redriving one does no harm: the finalizer checks each message against the table. The list takes a few seconds.'),
    state,
    problem,
    result,
  )

  let isListed = false

  async function refresh() {
    const { Queue, DeadLetters, OverdueTurns } = /** @type {QueueState} */ (await consoleApi('GET', 'queues'))
    node.hidden = false
    fill(problem)
    fill(state, tile('Finalize queue', depth(Queue)), tile('Dead letters', depth(DeadLetters), DeadLetters.Waiting > 0), tile('Overdue turns', formatNumber(OverdueTurns), OverdueTurns > 0))
    // Whoever comes here because of dead letters sees them at once.
    if (DeadLetters.Waiting > 0 && !isListed) await list()
  }

  async function list() {
    isListed = true
    const { Items, Omitted } = /** @type {{ Items: Letter[], Omitted: number }} */ (await consoleApi('GET', 'dead-letters'))
    fill(problem)
    fill(result, Items.length ? table(Items) : el('p', { class: 'notice' }, 'There are no dead letters.'), Omitted > 0 && el('p', { class: 'muted' }, `and ${formatNumber(Omitted)} newer ones`))
    announce(`${Items.length} dead letters.`)
  }

  /** @param {Letter[]} letters */
  function table(letters) {
    const head = ['Message', 'Sent', 'Org', 'Session and turn', 'Reason', 'Actions'].map((name) => el('th', { scope: 'col' }, name))
    return el(
      'table',
      { class: 'list' },
      el('caption', { class: 'visually-hidden' }, `${formatNumber(letters.length)} dead letters`),
      el('thead', {}, el('tr', {}, head)),
      el('tbody', {}, letters.map(row)),
    )
  }

  /** @param {Letter} letter */
  function row({ Id, SentDate, Org, Session, Turn, Reason }) {
    return el(
      'tr',
      {},
      el('th', { scope: 'row' }, el('code', {}, Id)),
      el('td', { 'data-label': 'Sent' }, timestamp(SentDate)),
      el('td', { 'data-label': 'Org' }, Org ?? '–'),
      el('td', { 'data-label': 'Session and turn' }, [Session, Turn].filter(Boolean).join(', ') || '–'),
      el('td', { 'data-label': 'Reason' }, Reason),
      el('td', {}, button('Redrive', () => confirmRedrive(Id), { 'aria-label': `Redrive the message ${Id}` })),
    )
  }

  /** @param {string} id */
  function confirmRedrive(id) {
    const field = el('input', { name: 'Reason', required: true, maxlength: MAX_REASON_CHARS, autocomplete: 'off' })
    const fields = [el('p', {}, 'Moves it back to the finalize queue. The reason is in the audit log.'), labelledField('Reason', field)]
    openDialog({ title: 'Redrive the message?', fields, submit: 'Redrive' }, async ({ Reason = '' }) => {
      const { Count } = await consoleApi('POST', 'dead-letters/redrive', { Message: id, Reason })
      announce(Count ? 'Redriven.' : 'The message is no dead letter any more.')
      await Promise.all([refresh(), list()])
    })
  }

  const showError = (/** @type {unknown} */ error) => {
    node.hidden = false
    fill(problem, errorMessage(error))
  }
  /** Reads the depths. A console without access to the queues has no such route. */
  const start = () => refresh().catch((error) => error.status !== 404 && showError(error))
  start()
  return { node, refresh: start }
}

/** @param {Depth} depth */
const depth = ({ Waiting, Delayed, InFlight }) => `${formatNumber(Waiting)} waiting, ${formatNumber(Delayed)} delayed, ${formatNumber(InFlight)} in flight`

/**
 * A figure with its name.
 * @param {string} name
 * @param {string} text
 * @param {boolean} [needsAttention]
 */
export const tile = (name, text, needsAttention = false) => el('div', { class: needsAttention ? 'attention' : undefined }, el('dt', {}, name), el('dd', {}, text))
