/**
 * The sessions page: search, rename, show, hide, delete and restore sessions, with their tokens and costs.
 *
 * @module
 */

import { button, el, errorMessage, fill, labelledField, announce } from './dom.js'
import { formatNumber, formatRatings, pageUrl, timestamp } from './format.js'
import { deleteSession, privateMark, renameSession, switchVisibility, visibilityAction } from './session-actions.js'
import { matchExcerpt, searchHit } from './session-match.js'
import { displayTitle } from './title.js'

/** Sessions loaded at a time. */
const PAGE_SIZE = 25
/** Matches shown per session, at most. */
const MAX_MATCHES = 3

/**
 * @typedef {import('../javascript/src/wire.js').SessionSummary} Summary
 * @typedef {import('../javascript/src/wire.js').SessionMatch} SessionMatch
 */

/**
 * @param {import('./connection.js').Connection} connection
 * @returns {import('./main.js').View}
 */
export function sessions(connection) {
  const { aptix } = connection
  const body = el('tbody', {})
  const more = el('div', { class: 'row' })
  const problem = el('div', {})
  const form = filters()
  const head = ['Name', 'Last turn', 'Turns', 'Tokens', 'Cost', 'Actions'].map((name) => {
    const isNumber = ['Turns', 'Tokens', 'Cost'].includes(name)
    return el('th', { scope: 'col', class: isNumber ? 'number' : undefined }, name)
  })
  const table = el(
    'table',
    { class: 'list' },
    el('caption', { class: 'visually-hidden' }, 'Sessions'),
    el('thead', {}, el('tr', {}, head)),
    body,
  )
  const node = el('div', {}, el('h1', {}, 'Sessions'), form, problem, el('div', { class: 'scroll-x' }, table), more)
  let searchNumber = 0
  let isDisposed = false

  async function search() {
    const currentSearch = ++searchNumber
    const values = /** @type {Record<string, string>} */ (Object.fromEntries(new FormData(form)))
    const user = 'mine' in values ? String((await connection.claims()).sub ?? '') : undefined
    const words = values.text?.trim() ?? ''
    const filter = {
      userId: user,
      status: /** @type {'pending' | undefined} */ (values.status || undefined),
      mode: values.mode || undefined,
      category: values.category || undefined,
      from: values.from ? new Date(values.from).toISOString() : undefined,
      to: values.to ? new Date(values.to).toISOString() : undefined,
      includeDeleted: 'deleted' in values,
      pageSize: PAGE_SIZE,
    }
    const results = words ? aptix.sessions.search(words, filter) : withoutMatches(aptix.sessions.list(filter))
    fill(body)
    fill(problem)
    const next = async () => {
      fill(more)
      const page = await readPage(results)
      if (currentSearch !== searchNumber || isDisposed) return
      const rows = page.items.map(({ Session, Matches }) => row(Session, Matches))
      body.append(...rows.map(({ node }) => node))
      if (!body.children.length) fill(more, noSessions(Object.values(values).some(Boolean)))
      if (!page.done) more.append(button('Load more', () => next().catch(showError)))
      announce(`${body.children.length} sessions shown.`)
      for (const { cost } of rows) {
        if (currentSearch !== searchNumber || isDisposed) return
        await cost().catch(() => {})
      }
    }
    await next()
  }

  const showError = (/** @type {unknown} */ error) => fill(problem, errorMessage(error))
  const start = () => void search().catch(showError)

  /**
   * @param {Summary} session
   * @param {SessionMatch['Matches']} matches
   */
  function row(session, matches) {
    const { Id, Name, Description, Category, Ratings, TurnCount, LastTurnStatus, LastTurnDate, LastUpdatedDate, IsDeleted } = session
    const title = displayTitle(Name)
    const usage = el('td', { class: 'number', 'data-label': 'Tokens' })
    const costs = el('td', { class: 'number', 'data-label': 'Cost' })
    const reloadAfter = (/** @type {Promise<unknown>} */ done) => done.then(start, showError)
    const actions = IsDeleted
      ? [button('Restore', () => reloadAfter(aptix.session(Id).restore()), { 'aria-label': `Restore ${title}` })]
      : [
          button('Rename', () => renameSession(aptix, session, start), { class: 'ghost', 'aria-label': `Rename ${title}` }),
          button(visibilityAction(session), () => switchVisibility(aptix, session, start), { 'aria-label': `${visibilityAction(session)}: ${title}`, class: 'ghost' }),
          button('Delete', () => deleteSession(aptix, session, start), { 'aria-label': `Delete ${title}`, class: 'danger ghost' }),
        ]
    const tag = IsDeleted ? 'deleted' : LastTurnStatus && LastTurnStatus !== 'completed' ? LastTurnStatus : undefined
    const node = el(
      'tr',
      {},
      el(
        'th',
        { scope: 'row' },
        el('a', { href: searchHit({ Session: session, Matches: matches }).href }, title),
        privateMark(session),
        tag && el('span', { class: `tag ${tag}` }, tag),
        Category && el('span', { class: 'tag' }, Category),
        Description && el('small', {}, Description),
        Ratings && el('small', {}, formatRatings(Ratings)),
        matches.slice(0, MAX_MATCHES).map(matchExcerpt),
      ),
      el('td', { 'data-label': 'Last turn' }, timestamp(LastTurnDate ?? LastUpdatedDate)),
      el('td', { class: 'number', 'data-label': 'Turns' }, formatNumber(TurnCount)),
      usage,
      costs,
      el('td', {}, el('div', { class: 'row' }, actions)),
    )
    const cost = async () => {
      const { TotalUsage, TotalCosts } = await aptix.session(Id).read({ pageSize: 1 })
      fill(usage, TotalUsage ? formatNumber(TotalUsage.TotalTokens) : '–')
      fill(costs, (TotalCosts ?? []).map(({ Amount, Currency }) => `${Amount} ${Currency}`).join(', ') || '–')
    }
    return { node, cost }
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault()
    start()
  })
  form.addEventListener('change', start)
  start()
  return { title: 'Sessions', node, dispose: () => (isDisposed = true) }
}

/**
 * Returns what is shown in place of sessions.
 * @param {boolean} isFiltered
 */
const noSessions = (isFiltered) =>
  isFiltered ? el('p', { class: 'muted' }, 'No sessions match.') : el('p', { class: 'notice' }, el('span', {}, 'There are no sessions yet. ', el('a', { href: pageUrl('chat') }, 'Start one in the chat.')))

function filters() {
  const states = [
    ['', 'any'],
    ['pending', 'pending'],
    ['completed', 'completed'],
    ['failed', 'failed'],
  ]
  const status = el(
    'select',
    { name: 'status' },
    states.map(([value, label]) => el('option', { value }, label)),
  )
  const check = (/** @type {string} */ name, /** @type {string} */ label) =>
    el('label', { class: 'checkbox' }, el('input', { type: 'checkbox', name }), label)
  return el(
    'form',
    { class: 'fields filters', role: 'search' },
    labelledField('Search', el('input', { type: 'search', name: 'text', maxlength: 256, autocomplete: 'off' })),
    labelledField('Last turn', status),
    el('div', { class: 'row' }, check('mine', 'Only mine'), check('deleted', 'Include deleted'), el('button', {}, 'Search')),
    el(
      'details',
      { class: 'more-filters' },
      el('summary', {}, 'More filters'),
      el(
        'div',
        { class: 'fields' },
        labelledField('Mode', el('input', { name: 'mode', maxlength: 128, autocomplete: 'off' })),
        labelledField('Category', el('input', { name: 'category', maxlength: 128, autocomplete: 'off' })),
        labelledField('From', el('input', { type: 'datetime-local', name: 'from' })),
        labelledField('To', el('input', { type: 'datetime-local', name: 'to' })),
      ),
    ),
  )
}

/**
 * Converts listed sessions to search results without matches.
 * @param {AsyncGenerator<Summary, void, void>} sessions
 * @returns {AsyncGenerator<SessionMatch, void, void>}
 */
async function* withoutMatches(sessions) {
  for await (const Session of sessions) yield { Session, Matches: [] }
}

/** @param {AsyncGenerator<SessionMatch, void, void>} results */
async function readPage(results) {
  /** @type {SessionMatch[]} */
  const items = []
  while (items.length < PAGE_SIZE) {
    const { value, done } = await results.next()
    if (done || !value) return { items, done: true }
    items.push(value)
  }
  return { items, done: false }
}
