/**
 * Bar chart of figures by day. Each bar is a stack of series. The table below has the same figures for screen readers and for whoever
 * prefers it.
 *
 * @module
 */

import { el, fill } from './dom.js'
import { axisEnd, sum } from './usage-series.js'

/** Bars that have a date below them, at most. */
const MAX_DATES = 4

const dates = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' })

/**
 * @param {Omit<import('./usage-series.js').Metric, 'value'> & { overall?: string }} metric `overall` is shown in place of the sum
 * @param {import('./usage-series.js').Bucket[]} bars
 * @param {import('./usage-series.js').Series[]} allSeries
 * @param {string[]} names the names of the series in the order of their colors; another one is grey
 */
export function barChart({ name, format, overall }, bars, allSeries, names) {
  const totals = bars.map((_, at) => sum(allSeries.map(({ values }) => values[at] ?? 0)))
  const end = axisEnd(Math.max(...totals))
  // There is no half turn.
  const scale = end % 2 > 0 && totals.every(Number.isInteger) ? [end, 0] : [end, end / 2, 0]
  const total = overall ?? `${format(sum(totals))} in all`
  const reading = el('span', { class: 'reading' }, total)
  const colorOf = (/** @type {string} */ series) => `series-${names.indexOf(series) + 1}`

  const columns = bars.map((bar, at) => {
    const parts = allSeries.filter(({ values }) => values[at]).map(({ name: series, values }) => {
      const part = el('span', { class: colorOf(series) })
      part.style.blockSize = `${(100 * (values[at] ?? 0)) / (totals[at] ?? 1)}%`
      return part
    })
    const stack = el('span', { class: 'stack' }, parts)
    stack.style.height = `${(100 * (totals[at] ?? 0)) / end}%`
    const column = el('span', { class: 'column' }, stack)
    column.addEventListener('pointerenter', () => fill(reading, `${label(bar)}: ${format(totals[at] ?? 0)}`))
    return column
  })
  const plot = el('div', { class: 'columns-of-days' }, columns)
  plot.addEventListener('pointerleave', () => fill(reading, total))
  const every = Math.ceil(bars.length / MAX_DATES)
  const shown = bars.map((bar, at) => el('span', {}, at % every === 0 && el('span', {}, dates.format(new Date(bar.from)))))
  return el(
    'figure',
    { class: 'card chart' },
    el('figcaption', {}, el('h3', {}, name), reading),
    el(
      'div',
      { class: 'plot', 'aria-hidden': 'true' },
      el('div', { class: 'scale' }, scale.map((value) => el('span', {}, format(value, true)))),
      plot,
      el('div', { class: 'dates' }, shown),
    ),
    el('details', {}, el('summary', {}, 'Table'), table(name, format, bars, allSeries, totals)),
  )
}

/** @param {import('./usage-series.js').Bucket} bar */
function label({ from, to }) {
  const text = dates.format(new Date(from))
  return from === to ? text : `${text} – ${dates.format(new Date(to))}`
}

/**
 * @param {string} name
 * @param {import('./usage-series.js').Metric['format']} format
 * @param {import('./usage-series.js').Bucket[]} bars
 * @param {import('./usage-series.js').Series[]} allSeries
 * @param {number[]} totals
 */
function table(name, format, bars, allSeries, totals) {
  const isSplit = allSeries.length > 1
  const head = ['Day', ...allSeries.map((series) => series.name), ...(isSplit ? ['Total'] : [])]
  const used = bars.flatMap((bar, at) => (totals[at] ? [{ bar, at }] : []))
  const number = (/** @type {number} */ value) => el('td', { class: 'number' }, format(value))
  const rows = used.map(({ bar, at }) =>
    el('tr', {}, el('th', { scope: 'row' }, label(bar)), allSeries.map(({ values }) => number(values[at] ?? 0)), isSplit && number(totals[at] ?? 0)),
  )
  return el(
    'div',
    { class: 'scroll-x', tabindex: 0, role: 'group', 'aria-label': `${name} by day` },
    el(
      'table',
      {},
      el('caption', { class: 'visually-hidden' }, `${name} by day`),
      el('thead', {}, el('tr', {}, head.map((text, n) => el('th', { scope: 'col', class: n ? 'number' : undefined }, text)))),
      el('tbody', {}, rows),
    ),
  )
}
