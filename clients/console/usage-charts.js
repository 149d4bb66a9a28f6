/**
 * Charts of the usage page: tokens, cost, turns and turns without an answer by day, split by user, agent or model; and the
 * model time of a turn.
 *
 * @module
 */

import { barChart } from './bar-chart.js'
import { el } from './dom.js'
import { duration, formatAmount, formatNumber, formatShort } from './format.js'
import { buckets, series, seriesNames, sum } from './usage-series.js'

/** Days with usage that are split at most. Each is a request. */
const MAX_SPLIT_DAYS = 31
/** Requests at the same time. */
const MAX_REQUESTS = 6

/**
 * @typedef {import('./usage-series.js').Metric} Metric
 * @typedef {import('./usage.js').Group} Group
 * @typedef {import('./usage.js').Report} Report
 */

/** @param {number} value */
const count = (value, isShort = false) => (isShort ? formatShort(value) : formatNumber(value))

/** @type {Metric} */
const TOKENS = { name: 'Tokens', value: ({ Usage }) => Usage.TotalTokens, format: count }
/** @type {Metric} */
const TURNS = { name: 'Turns', value: ({ Turns }) => Turns, format: count }
/** @type {Metric} */
const FAILURES = { name: 'Turns without an answer', value: ({ Turns, CompletedTurns }) => Turns - CompletedTurns, format: count }

/**
 * Reads the usage of each day, and shows it.
 * @param {(query: Record<string, string>) => Promise<Report>} read
 * @param {Report} report the usage by day
 * @param {string} by the property to split by, or `day`
 * @returns {Promise<Node[]>}
 */
export async function usageCharts(read, report, by) {
  if (report.Groups.length === 0) return []
  const isSplit = by !== 'day' && report.Groups.length <= MAX_SPLIT_DAYS
  const days = isSplit ? await split(read, report.Groups, by) : new Map(report.Groups.map((group) => [group.Key ?? '', [{ ...group, Key: 'all' }]]))
  const bars = buckets(report.From, report.To)
  const names = seriesNames(days)
  const costs = (report.Total.Costs ?? []).map(({ Currency }) => costMetric(Currency))
  const figures = [TOKENS, ...costs, TURNS, FAILURES].map((metric) => barChart(metric, bars, series(metric, bars, days, names), names))
  figures.push(modelTimeChart(report, bars))
  const legend = isSplit && el('ul', { class: 'legend' }, names.map((name, n) => el('li', { class: `series-${n + 1}` }, name)))
  const note = by !== 'day' && !isSplit && el('p', { class: 'muted' }, `Choose at most ${MAX_SPLIT_DAYS} days to split the charts by ${by}.`)
  return [note, legend, el('div', { class: 'charts' }, figures)].filter((node) => node !== false)
}

/**
 * Returns the chart of a turn's mean model time. It isn't split, because means don't add up.
 * @param {Report} report the usage by day
 * @param {import('./usage-series.js').Bucket[]} bars
 */
function modelTimeChart({ Groups, Total }, bars) {
  const mean = (/** @type {Group[]} */ groups) => sum(groups.map(({ ModelMs }) => ModelMs)) / Math.max(1, sum(groups.map(({ Turns }) => Turns)))
  const values = bars.map(({ from, to }) => mean(Groups.filter(({ Key = '' }) => from <= Key && Key <= to)))
  const metric = { name: 'Model time of a turn', format: duration, overall: `${duration(mean([Total]))} on average` }
  // Without a color of the legend.
  return barChart(metric, bars, [{ name: 'all', values }], [])
}

/**
 * @param {string} currency
 * @returns {Metric}
 */
function costMetric(currency) {
  const value = (/** @type {Group} */ { Costs = [] }) => Number(Costs.find(({ Currency }) => Currency === currency)?.Amount ?? 0)
  const format = (/** @type {number} */ amount, isShort = false) => (isShort ? formatShort(amount) : `${formatAmount(amount)} ${currency}`)
  return { name: `Cost in ${currency}`, value, format }
}

/**
 * Reads the groups of each day.
 * @param {(query: Record<string, string>) => Promise<Report>} read
 * @param {Group[]} days
 * @param {string} by
 * @returns {Promise<Map<string, Group[]>>}
 */
async function split(read, days, by) {
  /** @type {Map<string, Group[]>} */
  const groups = new Map()
  const rest = days.map(({ Key }) => Key ?? '')
  const worker = async () => {
    for (let day = rest.pop(); day !== undefined; day = rest.pop()) {
      const { Groups } = await read({ by, from: day, to: day })
      groups.set(day, Groups)
    }
  }
  await Promise.all(Array.from({ length: MAX_REQUESTS }, worker))
  return groups
}
