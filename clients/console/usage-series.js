/**
 * Series of the usage charts: figures by day, split by user, agent or model.
 *
 * @module
 */

/** Days from which on a bar is a week. */
const MAX_DAILY_BARS = 62
/** Groups with a color of their own. The others are one series. */
const MAX_SERIES = 5
const DAY_MS = 86_400_000
/** Name of the group of turns that no model answered. */
const NONE = 'none'

/**
 * @typedef {import('./usage.js').Group} Group
 * @typedef {import('./usage.js').Report} Report
 * @typedef {{ name: string, value: (group: Group) => number, format: (value: number, isShort?: boolean) => string }} Metric
 * @typedef {{ name: string, values: number[] }} Series
 * @typedef {{ from: string, to: string }} Bucket
 */

/**
 * Returns the days of the bars: each day of a range, or each seven days of a long one.
 * @param {string} from first day, as YYYY-MM-DD
 * @param {string} to last day
 * @returns {Bucket[]}
 */
export function buckets(from, to) {
  const [first, last] = [Date.parse(from), Date.parse(to)]
  const days = Math.round((last - first) / DAY_MS) + 1
  const step = days > MAX_DAILY_BARS ? 7 : 1
  const day = (/** @type {number} */ offset) => new Date(Math.min(first + offset * DAY_MS, last)).toISOString().slice(0, 10)
  return Array.from({ length: Math.ceil(days / step) }, (_, at) => ({ from: day(at * step), to: day(at * step + step - 1) }))
}

/**
 * Returns the names of the series in the order of their colors: the largest groups by tokens, and one for all others.
 * @param {Map<string, Group[]>} days the groups of each day
 */
export function seriesNames(days) {
  /** @type {Map<string, number>} */
  const tokens = new Map()
  for (const { Key = NONE, Usage } of [...days.values()].flat()) tokens.set(Key, (tokens.get(Key) ?? 0) + Usage.TotalTokens)
  const names = [...tokens].sort(([, one], [, other]) => other - one).map(([name]) => name)
  return names.length > MAX_SERIES + 1 ? [...names.slice(0, MAX_SERIES), `${names.length - MAX_SERIES} others`] : names
}

/**
 * Returns the series of a metric that have a value. A group without a name of its own counts in the last series.
 * @param {Metric} metric
 * @param {Bucket[]} bars
 * @param {Map<string, Group[]>} days
 * @param {string[]} names
 * @returns {Series[]}
 */
export function series(metric, bars, days, names) {
  const all = names.map((name) => ({ name, values: bars.map(() => 0) }))
  for (const [day, groups] of days) {
    const at = bars.findIndex(({ from, to }) => from <= day && day <= to)
    for (const group of groups) {
      const { values } = all.find(({ name }) => name === (group.Key ?? NONE)) ?? /** @type {Series} */ (all.at(-1))
      if (at >= 0) values[at] = (values[at] ?? 0) + metric.value(group)
    }
  }
  return all.filter(({ values }) => sum(values) > 0)
}

/**
 * Returns a round number that is at least a value, and whose half is round: the end of an axis.
 * @param {number} value
 */
export function axisEnd(value) {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  // Up to ten, counts have whole halves.
  const factors = power === 1 ? [1, 2, 4, 6, 8, 10] : [1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10]
  return power * (/** @type {number} */ (factors.find((factor) => factor * power >= value)))
}

/** @param {number[]} values */
export const sum = (values) => values.reduce((total, value) => total + value, 0)
