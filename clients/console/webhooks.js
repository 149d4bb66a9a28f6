/**
 * The webhooks of the org: their status, secrets, tests and deliveries, and an editor of their documents. For operators.
 *
 * @module
 */

import { escapeInvisible } from '../javascript/src/patch.js'
import { listAll } from './agent-documents.js'
import { contextPage } from './context-page.js'
import { announce, button, el, errorMessage, fill, openDialog } from './dom.js'
import { formatNumber, pageUrl, timestamp } from './format.js'
import { notAllowed } from './not-allowed.js'

const WEBHOOKS = 'api/ai/agent/webhooks'
const DOCUMENTS = '#/webhooks/documents'
/** Colors of the states. */
const TAGS = /** @type {Record<string, string>} */ ({ delivered: 'completed', dead: 'failed', dropped: '' })
/** Deliveries on a page. */
const PAGE_SIZE = 50

/** @type {import('./context-page.js').Kind} */
const KIND = {
  path: WEBHOOKS,
  idMember: 'Id',
  nameMember: 'Name',
  template: { Kind: 'webhook', Id: 'hook', Name: 'My receiver', Url: 'https://example.com/hook', Events: ['turn.completed', 'turn.failed'] },
  deletion: 'Events that wait for it are not delivered. Its secret stays stored.',
  deprecation: (text) => ({ Deprecated: text }),
}

/** @typedef {import('./context-page.js').Context} Context */
/** @typedef {{ DeliveryId: string, Event: string, SessionId: string, TurnId: string, State: string, Attempts: number, LastStatusCode?: number, LastMessage?: string, CreationDate: string }} Delivery */

/**
 * @param {import('./connection.js').Connection} connection
 * @param {string[]} parts
 * @returns {import('./main.js').View}
 */
export function webhooks(connection, [view]) {
  if (view === 'documents') {
    const link = el('a', { class: 'button', href: '#/webhooks' }, 'Deliveries')
    return contextPage(connection, { title: 'Webhooks', label: 'Webhooks', description: 'The documents of the webhooks, with their versions.', kinds: { webhook: KIND }, link, roles: 'operators' })
  }
  const list = el('ul', { class: 'contexts-list', 'aria-label': 'Webhooks' })
  const detail = el('div', {})
  const documents = el('a', { class: 'button', href: DOCUMENTS }, 'Edit webhooks')
  const about = el('p', { class: 'muted' }, 'Receivers that get the events of your org’s turns, signed as Standard Webhooks says.')
  const content = el('div', { class: 'split' }, list, detail)
  const node = el('div', {}, el('div', { class: 'row head' }, el('h1', {}, 'Webhooks'), el('span', { class: 'spacer' }), documents), about, content)

  /** @param {Context} context */
  function choice({ Id, Name }) {
    return el('li', {}, button([el('strong', {}, escapeInvisible(Name || Id)), el('small', {}, Id)], () => open(Id), { class: 'choice', 'data-key': Id, 'aria-pressed': 'false' }))
  }

  /** @param {string} id */
  async function open(id) {
    for (const other of list.querySelectorAll('button')) other.setAttribute('aria-pressed', String(other.dataset.key === id))
    const shown = webhook(connection, id)
    fill(detail, shown.node)
    await shown.load()
  }

  const load = async () => {
    const all = await listAll(connection, WEBHOOKS)
    fill(list, all.length > 0 ? all.map(choice) : el('li', { class: 'muted' }, 'None yet. Add one with ', el('a', { href: DOCUMENTS }, 'Edit webhooks'), '.'))
    if (all[0]) await open(all[0].Id)
  }
  load().catch((error) => {
    documents.hidden = error.status === 403
    fill(content, error.status === 403 ? notAllowed('see webhooks', 'operators') : errorMessage(error))
  })
  return { title: 'Webhooks', node }
}

/**
 * Shows a webhook with its deliveries.
 * @param {import('./connection.js').Connection} connection
 * @param {string} id
 */
function webhook(connection, id) {
  const path = `${WEBHOOKS}/${encodeURIComponent(id)}`
  const message = el('div', { role: 'status' })
  const status = el('p', { class: 'muted' })
  const rows = el('tbody', {})
  const head = el('tr', {}, ['Time', 'Event', 'State', 'Attempts', 'Last status', 'Session', 'Actions'].map((label) => el('th', { scope: 'col' }, label)))
  const table = el('div', { class: 'scroll-x' }, el('table', { class: 'list', 'aria-label': 'Deliveries' }, el('thead', {}, head), rows))
  /** @type {string | undefined} */
  let next
  const more = button('Show more', () => page(next).catch(fail), { hidden: true })

  /** @param {unknown} error */
  const fail = (error) => fill(message, errorMessage(error))

  /** @param {Delivery} delivery */
  function row(delivery) {
    const { DeliveryId, Event, SessionId, State, Attempts, LastStatusCode, LastMessage, CreationDate } = delivery
    return el(
      'tr',
      {},
      el('th', { scope: 'row' }, timestamp(CreationDate)),
      el('td', { 'data-label': 'Event' }, Event),
      el('td', { 'data-label': 'State' }, el('span', { class: `tag ${TAGS[State] ?? 'pending'}` }, State), LastMessage !== undefined && el('div', { class: State === 'dead' ? 'error' : 'muted' }, LastMessage)),
      el('td', { 'data-label': 'Attempts' }, formatNumber(Attempts)),
      el('td', { 'data-label': 'Last status' }, LastStatusCode === undefined ? '' : String(LastStatusCode)),
      el('td', { 'data-label': 'Session' }, el('a', { href: pageUrl('chat', SessionId) }, SessionId)),
      el('td', {}, button('Deliver again', () => replay({ SessionId, DeliveryId }).catch(fail), { class: 'ghost', 'aria-label': `Deliver again: ${DeliveryId}` })),
    )
  }

  /** @param {string} [token] of the page; the first page replaces the rows */
  async function page(token) {
    const query = new URLSearchParams({ pageSize: String(PAGE_SIZE), ...(token ? { continuationToken: token } : {}) })
    const { Items, ContinuationToken } = await connection.read(`${path}/deliveries?${query}`)
    if (token) rows.append(...Items.map(row))
    else fill(rows, Items.length > 0 ? Items.map(row) : el('tr', {}, el('td', { colspan: 7, class: 'muted' }, 'No deliveries yet.')))
    next = ContinuationToken
    more.hidden = next === undefined
  }

  async function showStatus() {
    const { IsPaused, FailingSince, DisabledSince, SecretDate } = await connection.read(`${path}/status`)
    const parts = [
      SecretDate ? ['Secret of ', timestamp(SecretDate), '. '] : ['No secret, so nothing is sent. '],
      IsPaused ? ['Paused. '] : [],
      DisabledSince ? ['Disabled since ', timestamp(DisabledSince), '. A successful test enables it.'] : FailingSince ? ['Failing since ', timestamp(FailingSince), '.'] : [],
    ]
    fill(status, ...parts.flat())
  }

  async function load() {
    await Promise.all([showStatus(), page()]).catch(fail)
  }

  /** @param {object} body */
  async function replay(body) {
    const { Replayed } = await connection.send('POST', `${path}/replay`, JSON.stringify(body))
    announce(`Queued ${Replayed} again.`)
    fill(message, el('p', { class: 'success' }, `${formatNumber(Replayed)} queued again. The first attempt follows within a minute.`))
    await load()
  }

  async function test() {
    const { IsDelivered, StatusCode, Message, DurationMilliseconds } = await connection.send('POST', `${path}/test`)
    const text = IsDelivered ? `Delivered with status ${StatusCode} in ${formatNumber(DurationMilliseconds)} ms.` : Message
    announce(text)
    fill(message, el('p', { class: IsDelivered ? 'success' : 'error' }, text))
    await showStatus()
  }

  function confirmRotation() {
    const hint = el('p', {}, 'It is shown once. A secret before it signs for another 24 hours.')
    openDialog({ title: `New secret for ${id}?`, fields: [hint], submit: 'Create' }, async () => {
      const { Secret } = await connection.send('POST', `${path}/secret`)
      fill(message, el('p', { class: 'success' }, 'Copy the secret now: ', el('code', {}, Secret)))
      await showStatus()
    })
  }

  const since = () => new Date(Date.now() - 30 * 24 * 60 * 60 * 1_000).toISOString()
  const actions = el(
    'div',
    { class: 'row' },
    button('Send test event', () => test().catch(fail), { class: 'primary' }),
    button('New secret', confirmRotation),
    button('Deliver dead events again', () => replay({ Since: since() }).catch(fail)),
    button('Refresh', load),
  )
  const node = el('section', { 'aria-label': id }, el('h2', {}, id), actions, message, status, table, more)
  return { node, load }
}
