/**
 * Percentiles of the time of turns. The usage report has sums alone, so they are those of the newest turns, which are read one by one.
 *
 * @module
 */

import { el } from './dom.js'
import { duration, formatNumber } from './format.js'

/** Sessions and turns of each that are read, at most. */
const MAX_SESSIONS = 20
const MAX_TURNS = 25
const PERCENTILES = [50, 90, 99]
/** Turns from which the last percentile is one. */
const MIN_TURNS = 100
const DAY_MS = 86_400_000

/** @typedef {{ model: string, ms: number, isPriced: boolean }} TimedTurn */

/**
 * Returns the smallest value that at least this share of the values doesn't exceed.
 * @param {number[]} values
 * @param {number} percent
 */
export function percentile(values, percent) {
  const sorted = [...values].sort((one, other) => one - other)
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)]
}

/**
 * Reads the newest completed turns of a range of days.
 * @param {import('../javascript/src/index.js').Aptix} aptix
 * @param {string} from first day, as YYYY-MM-DD
 * @param {string} to last day
 */
async function newestTurns(aptix, from, to) {
  const [first, end] = [Date.parse(from), Date.parse(to) + DAY_MS]
  const ids = []
  for await (const { Id } of aptix.sessions.list({ from: new Date(first).toISOString(), pageSize: MAX_SESSIONS })) {
    ids.push(Id)
    if (ids.length === MAX_SESSIONS) break
  }
  const read = async (/** @type {string} */ id) => {
    /** @type {TimedTurn[]} */
    const turns = []
    let count = 0
    for await (const turn of aptix.session(id).turns({ order: 'desc' })) {
      const ended = Date.parse(turn.StatusTimeStamp)
      if (turn.Status.Id === 'completed' && ended >= first && ended < end) {
        turns.push({ model: typeof turn.OpenAIModel === 'string' ? turn.OpenAIModel : 'none', ms: ended - Date.parse(turn.CreationDate), isPriced: turn.Cost !== undefined })
      }
      if (++count === MAX_TURNS) break
    }
    return turns
  }
  return (await Promise.all(ids.map(read))).flat()
}

/**
 * @param {import('../javascript/src/index.js').Aptix} aptix
 * @param {{ From: string, To: string }} range
 */
export async function usageTimes(aptix, { From, To }) {
  const turns = await newestTurns(aptix, From, To)
  if (turns.length === 0) return el('div', {})
  const models = [...new Set(turns.map(({ model }) => model))].sort()
  const shown = turns.length < MIN_TURNS ? PERCENTILES.slice(0, 2) : PERCENTILES
  const number = (/** @type {string} */ label, /** @type {string} */ value) => el('td', { class: 'number', 'data-label': label }, value)
  const row = (/** @type {string} */ name, /** @type {TimedTurn[]} */ some) => {
    const times = some.map(({ ms }) => ms)
    return el(
      'tr',
      {},
      el('th', { scope: 'row' }, name),
      number('Turns', formatNumber(some.length)),
      shown.map((percent) => number(`${percent} %`, duration(percentile(times, percent)))),
      number('Longest', duration(Math.max(...times))),
      number('Without a price', formatNumber(some.filter(({ isPriced }) => !isPriced).length)),
    )
  }
  const head = ['Model', 'Turns', ...shown.map((percent) => `${percent} %`), 'Longest', 'Without a price']
  const table = el(
    'table',
    { class: 'list' },
    el('caption', { class: 'visually-hidden' }, 'Time of the newest turns'),
    el('thead', {}, el('tr', {}, head.map((name, column) => el('th', { scope: 'col', class: column ? 'number' : undefined }, name)))),
    el('tbody', {}, models.length > 1 && models.map((model) => row(model, turns.filter((turn) => turn.model === model))), row(models.length > 1 ? 'All' : (models[0] ?? ''), turns)),
  )
  const about = `Time that this share of the turns didn’t exceed, of the newest ${formatNumber(turns.length)} completed turns, with the time that they waited for approvals.`
  return el('section', { class: 'card', 'aria-label': 'Time of a turn' }, el('h2', {}, 'Time of a turn'), el('p', { class: 'muted' }, about), el('div', { class: 'scroll-x' }, table))
}
