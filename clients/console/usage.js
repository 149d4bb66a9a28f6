/**
 * The usage page: turns, tokens and cost of the user, or of the organization for an operator, by day, user, agent or model; and the
 * budgets of the organization.
 *
 * @module
 */

import { budgetSection } from './budgets.js'
import { announce, button, download, el, errorMessage, fill, labelledField } from './dom.js'
import { duration, formatCost, formatNumber, turnsWithoutPrice } from './format.js'
import { usageCharts } from './usage-charts.js'
import { usageTimes } from './usage-times.js'

const PATH = 'api/ai/agent/usage'
const GROUPINGS = { day: 'Day', user: 'User', agent: 'Agent', model: 'Model' }

/**
 * @typedef {{ Key?: string, Turns: number, CompletedTurns: number, UnpricedTurns?: number, ModelCalls: number, ModelMs: number,
 *   Usage: import('../javascript/src/wire.js').Usage, EstimatedTokens?: number, Costs?: import('../javascript/src/wire.js').Cost[] }} Group
 * @typedef {{ Tool: string, Calls: number, Costs?: import('../javascript/src/wire.js').Cost[] }} ToolUsage
 * @typedef {{ From: string, To: string, By: keyof typeof GROUPINGS, Groups: Group[], OmittedGroups?: number, Total: Group, Tools?: ToolUsage[] }} Report
 */

/**
 * @param {import('./connection.js').Connection} connection
 * @returns {import('./main.js').View}
 */
export function usage(connection) {
  const form = filters()
  const problem = el('div', {})
  const charts = el('div', {})
  const result = el('div', { class: 'scroll-x' })
  const tools = el('div', {})
  const times = el('div', {})
  const node = el(
    'div',
    {},
    el('h1', {}, 'Usage'),
    el('p', { class: 'muted' }, 'Turns count on the day on which they ended, in UTC. Operators see their whole organization.'),
    budgetSection(connection),
    form,
    problem,
    charts,
    result,
    tools,
    times,
  )
  let readNumber = 0

  const query = () => /** @type {Record<string, string>} */ (Object.fromEntries(new FormData(form)))

  /**
   * @param {Record<string, string>} query
   * @returns {Promise<Report>}
   */
  function readReport(query) {
    return connection.read(usagePath(query))
  }

  async function read() {
    const currentRead = ++readNumber
    const { by = 'day', ...range } = query()
    const days = await readReport({ by: 'day', ...range })
    const report = by === 'day' ? days : await readReport({ by, ...range })
    const figures = await usageCharts(readReport, days, by)
    if (currentRead !== readNumber) return
    fill(problem)
    showRange(form, days)
    fill(charts, figures)
    fill(result, report.Groups.length ? table(report) : el('p', { class: 'muted' }, `No usage from ${report.From} to ${report.To}.`))
    fill(tools, toolSection(report.Tools ?? []))
    announce(`Usage by ${report.By}: ${report.Groups.length} rows.`)
    const shown = await usageTimes(connection.aptix, days)
    if (currentRead === readNumber) fill(times, shown)
  }

  const start = () => void read().catch((error) => fill(problem, errorMessage(error)))
  const save = async () => {
    try {
      download(new Blob([await connection.readText(usagePath(query()), 'text/csv')], { type: 'text/csv' }), 'usage.csv')
    } catch (error) {
      fill(problem, errorMessage(error))
    }
  }
  form.append(el('div', { class: 'row' }, button('Download CSV', save)))
  form.addEventListener('submit', (event) => event.preventDefault())
  form.addEventListener('change', start)
  start()
  return { title: 'Usage', node, dispose: () => void readNumber++ }
}

/**
 * @param {Record<string, string>} query the property to group by, and days as YYYY-MM-DD
 */
function usagePath({ by = 'day', from, to }) {
  const query = new URLSearchParams({ by })
  if (from) query.set('from', `${from}T00:00:00Z`)
  if (to) query.set('to', `${to}T00:00:00Z`)
  return `${PATH}?${query}`
}

function filters() {
  const groupings = Object.entries(GROUPINGS).map(([value, label]) => el('option', { value }, label))
  return el(
    'form',
    { class: 'fields filters' },
    labelledField('By', el('select', { name: 'by' }, groupings)),
    labelledField('From', el('input', { type: 'date', name: 'from' })),
    labelledField('To', el('input', { type: 'date', name: 'to' })),
  )
}

/**
 * Fills the days that the user left open.
 * @param {HTMLFormElement} form
 * @param {Report} report
 */
function showRange(form, { From, To }) {
  for (const [name, day] of Object.entries({ from: From, to: To })) {
    const field = /** @type {HTMLInputElement} */ (form.elements.namedItem(name))
    field.value ||= day
  }
}

/** @param {Report} report */
function table({ From, To, By, Groups, OmittedGroups, Total }) {
  const most = Math.max(1, ...Groups.map((group) => group.Usage.TotalTokens))
  const omitted = OmittedGroups ? ` ${formatNumber(OmittedGroups)} more are part of the total.` : ''
  const head = [GROUPINGS[By], 'Turns', 'Model calls', 'Model time', 'Input', 'Output', 'Tokens', 'Estimated', 'Cost']
  return el(
    'table',
    { class: 'list usage' },
    el('caption', {}, `${From} to ${To}.${omitted}`),
    el('thead', {}, el('tr', {}, head.map((name, n) => el('th', { scope: 'col', class: n ? 'number' : undefined }, name)))),
    el('tbody', {}, Groups.map((group) => row(group, group.Key ?? 'none', most))),
    el('tfoot', {}, row(Total, 'Total')),
  )
}

/**
 * Creates the table of connections' tools. Null without calls.
 * @param {ToolUsage[]} tools
 */
function toolSection(tools) {
  if (!tools.length) return null
  const head = ['Tool', 'Calls', 'Cost']
  const rows = tools.map(({ Tool, Calls, Costs = [] }) =>
    el('tr', {}, el('th', { scope: 'row' }, el('code', {}, Tool)), el('td', { class: 'number', 'data-label': 'Calls' }, formatNumber(Calls)), el('td', { class: 'number', 'data-label': 'Cost' }, Costs.map(formatCost).join(', ') || '–')),
  )
  return el(
    'section',
    { 'aria-label': 'Tools' },
    el('h2', {}, 'Tools of connections'),
    el(
      'div',
      { class: 'scroll-x' },
      el(
        'table',
        { class: 'list usage' },
        el('caption', {}, 'Calls that reached their target, or may have. The cost above includes their price.'),
        el('thead', {}, el('tr', {}, head.map((name, n) => el('th', { scope: 'col', class: n ? 'number' : undefined }, name)))),
        el('tbody', {}, rows),
      ),
    ),
  )
}

/**
 * @param {Group} group
 * @param {string} name
 * @param {number} [most] the most tokens of a group; the bar is relative to it
 */
function row({ Turns, CompletedTurns, UnpricedTurns = 0, ModelCalls, ModelMs, Usage, EstimatedTokens = 0, Costs = [] }, name, most) {
  const cell = (/** @type {string} */ label, /** @type {(Node | string | false)[]} */ ...children) =>
    el('td', { class: 'number', 'data-label': label }, ...children)
  const failed = Turns - CompletedTurns
  const bar = el('span', { class: 'share' })
  if (most) bar.style.setProperty('--share', `${(100 * Usage.TotalTokens) / most}%`)
  return el(
    'tr',
    {},
    el('th', { scope: 'row' }, name),
    cell('Turns', formatNumber(Turns), failed > 0 && el('small', {}, ` ${formatNumber(failed)} without an answer`)),
    cell('Model calls', formatNumber(ModelCalls)),
    cell('Model time', Turns > 0 ? duration(ModelMs / Turns) : '–'),
    cell('Input', formatNumber(Usage.PromptTokens)),
    cell('Output', formatNumber(Usage.CompletionTokens)),
    cell('Tokens', ...(most ? [bar] : []), formatNumber(Usage.TotalTokens)),
    cell('Estimated', EstimatedTokens ? formatNumber(EstimatedTokens) : '–'),
    cell('Cost', Costs.map(formatCost).join(', ') || '–', UnpricedTurns > 0 && el('small', {}, ` without ${turnsWithoutPrice(UnpricedTurns)}`)),
  )
}
