/**
 * The sessions of the org: found, renamed, deleted, and what they cost.
 *
 * @module
 */

import { ask, button, el, failure, fill, labelled, tell } from './dom.js'
import { at, number, when } from './format.js'

/** As many are shown at a time. */
const PAGE = 25
/** As many places are shown in which a search found its words. */
const MOST_PLACES = 3

/**
 * @typedef {import('../javascript/src/wire.js').SessionSummary} Summary
 * @typedef {import('../javascript/src/wire.js').FoundSession} Found
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
    el('caption', { class: 'unseen' }, 'Sessions'),
    el('thead', {}, el('tr', {}, head)),
    body,
  )
  const node = el('div', {}, el('h1', {}, 'Sessions'), form, problem, el('div', { class: 'wide' }, table), more)
  let asked = 0
  let isLeft = false

  async function search() {
    const mine = ++asked
    const values = /** @type {Record<string, string>} */ (Object.fromEntries(new FormData(form)))
    const user = 'mine' in values ? String((await connection.claims()).sub ?? '') : undefined
    const words = values.text?.trim() ?? ''
    const narrowed = {
      userId: user,
      status: /** @type {'pending' | undefined} */ (values.status || undefined),
      mode: values.mode || undefined,
      from: values.from ? new Date(values.from).toISOString() : undefined,
      to: values.to ? new Date(values.to).toISOString() : undefined,
      includeDeleted: 'deleted' in values,
      pageSize: PAGE,
    }
    const found = words ? aptix.sessions.search(words, narrowed) : all(aptix.sessions.list(narrowed))
    fill(body)
    fill(problem)
    const next = async () => {
      fill(more)
      const page = await pageOf(found)
      if (mine !== asked || isLeft) return
      const rows = page.items.map(({ Session, Matches }) => row(Session, Matches))
      body.append(...rows.map(({ node }) => node))
      if (!body.children.length) fill(more, el('p', { class: 'soft' }, 'No session is like that.'))
      if (!page.done) more.append(button('More', () => next().catch(fail)))
      tell(`${body.children.length} sessions are shown.`)
      for (const { cost } of rows) {
        if (mine !== asked || isLeft) return
        await cost().catch(() => {})
      }
    }
    await next()
  }

  const fail = (/** @type {unknown} */ error) => fill(problem, failure(error))
  const start = () => void search().catch(fail)

  /**
   * @param {Summary} session
   * @param {Found['Matches']} matches
   */
  function row(session, matches) {
    const { Id, Name, Description, TurnCount, LastTurnStatus, LastTurnDate, LastUpdatedDate, IsDeleted } = session
    const usage = el('td', { class: 'number', 'data-label': 'Tokens' })
    const costs = el('td', { class: 'number', 'data-label': 'Cost' })
    const again = (/** @type {Promise<unknown>} */ done) => done.then(start, fail)
    const actions = IsDeleted
      ? [button('Restore', () => again(aptix.session(Id).restore()), { 'aria-label': `Restore ${Name}` })]
      : [
          button('Rename', () => rename(session), { 'aria-label': `Rename ${Name}` }),
          button('Delete', () => remove(session), { 'aria-label': `Delete ${Name}`, class: 'danger quiet' }),
        ]
    const tag = IsDeleted ? 'deleted' : LastTurnStatus && LastTurnStatus !== 'completed' ? LastTurnStatus : undefined
    const node = el(
      'tr',
      {},
      el(
        'th',
        { scope: 'row' },
        el('a', { href: at('chat', Id) }, Name || 'Without a name'),
        tag && el('span', { class: `tag ${tag}` }, tag),
        Description && el('small', {}, Description),
        matches.slice(0, MOST_PLACES).map(place),
      ),
      el('td', { 'data-label': 'Last turn' }, when(LastTurnDate ?? LastUpdatedDate)),
      el('td', { class: 'number', 'data-label': 'Turns' }, number(TurnCount)),
      usage,
      costs,
      el('td', {}, el('div', { class: 'row' }, actions)),
    )
    const cost = async () => {
      const { TotalUsage, TotalCosts } = await aptix.session(Id).read({ pageSize: 1 })
      fill(usage, TotalUsage ? number(TotalUsage.TotalTokens) : '–')
      fill(costs, (TotalCosts ?? []).map(({ Amount, Currency }) => `${Amount} ${Currency}`).join(', ') || '–')
    }
    return { node, cost }
  }

  /** @param {Summary} session */
  function rename({ Id, Name, Description = '' }) {
    const fields = [
      labelled('Name', el('input', { name: 'name', value: Name, required: true, maxlength: 256, autocomplete: 'off' })),
      labelled('Description', el('textarea', { name: 'description', rows: 3 }, Description)),
    ]
    ask({ title: 'Rename the session', fields, submit: 'Save' }, async ({ name = '', description = '' }) => {
      await aptix.session(Id).change({ name, description })
      start()
    })
  }

  /** @param {Summary} session */
  function remove({ Id, Name }) {
    const fields = [
      el(
        'p',
        {},
        `“${Name}” takes no more turns. It can be restored for as long as it is kept: look for deleted sessions then.`,
      ),
    ]
    ask({ title: 'Delete the session?', fields, submit: 'Delete', isDangerous: true }, async () => {
      await aptix.session(Id).delete()
      start()
    })
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault()
    start()
  })
  form.addEventListener('change', start)
  start()
  return { title: 'Sessions', node, end: () => (isLeft = true) }
}

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
    el('label', { class: 'check' }, el('input', { type: 'checkbox', name }), label)
  return el(
    'form',
    { class: 'fields filters', role: 'search' },
    labelled('Words', el('input', { type: 'search', name: 'text', maxlength: 256, autocomplete: 'off' })),
    labelled('Last turn', status),
    labelled('Mode', el('input', { name: 'mode', maxlength: 128, autocomplete: 'off' })),
    labelled('Since', el('input', { type: 'datetime-local', name: 'from' })),
    labelled('Until', el('input', { type: 'datetime-local', name: 'to' })),
    el('div', { class: 'row' }, check('mine', 'Mine'), check('deleted', 'Deleted too'), el('button', {}, 'Search')),
  )
}

/**
 * A text in which the words stand, with them marked.
 * @param {Found['Matches'][number]} match
 */
function place({ MatchedIn, SequenceNumber, Snippet, Marks }) {
  let at = 0
  const parts = Marks.flatMap(({ Start, Length }) => {
    const before = Snippet.slice(at, Start)
    at = Start + Length
    return [before, el('mark', {}, Snippet.slice(Start, at))]
  })
  const where = SequenceNumber === undefined ? MatchedIn : `${MatchedIn} of turn ${SequenceNumber}`
  return el('small', {}, `${where}: `, ...parts, Snippet.slice(at))
}

/**
 * Sessions that nothing was looked for in.
 * @param {AsyncGenerator<Summary, void, void>} sessions
 * @returns {AsyncGenerator<Found, void, void>}
 */
async function* all(sessions) {
  for await (const Session of sessions) yield { Session, Matches: [] }
}

/** @param {AsyncGenerator<Found, void, void>} found */
async function pageOf(found) {
  /** @type {Found[]} */
  const items = []
  while (items.length < PAGE) {
    const { value, done } = await found.next()
    if (done || !value) return { items, done: true }
    items.push(value)
  }
  return { items, done: false }
}
