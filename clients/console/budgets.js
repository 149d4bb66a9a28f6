/**
 * The budgets of the organization: how far each is used, when its window ends, and their changes. For operators.
 *
 * @module
 */

import { openBudget } from './budget-dialog.js'
import { announce, button, el, errorMessage, fill, openDialog } from './dom.js'
import { formatAmount, formatNumber, timestamp } from './format.js'

const PATH = 'api/ai/agent/budgets'
const MICROS = 1_000_000
/** Share of a limit from which on its bar warns. */
const NEAR_LIMIT = 0.8

/**
 * @typedef {{ Id: string, Scope: 'org' | 'user' | 'agent' | 'session', Subject?: string, Window: 'turn' | 'minute' | 'day' | 'month',
 *   Unit: 'tokens' | 'money' | 'turns', Limit: number, Action?: 'stop' | 'warn' }} Budget
 * @typedef {{ Currency?: string, Budgets: Budget[] }} Budgets
 * @typedef {import('./usage.js').Report} Report
 * @typedef {import('./usage.js').Group} Group
 */

/**
 * @param {import('./connection.js').Connection} connection
 * @param {(query: Record<string, string>) => Promise<Report>} readUsage
 */
export function budgetSection(connection, readUsage) {
  const problem = el('div', {})
  const list = el('ul', { class: 'budgets' })
  const add = button('Add a budget', () => edit())
  const node = el(
    'section',
    { class: 'card', 'aria-label': 'Budgets', hidden: true },
    el('div', { class: 'row head' }, el('h2', {}, 'Budgets'), el('span', { class: 'spacer' }), add),
    problem,
    list,
  )
  /** @type {Budgets} */
  let current = { Budgets: [] }

  /** @returns {Promise<Budgets>} */
  const stored = () => connection.read(PATH)

  async function show() {
    current = await stored()
    node.hidden = false
    const rows = await Promise.all(current.Budgets.map(async (budget) => row(budget, await usageOf(budget, current.Currency, readUsage))))
    fill(problem)
    fill(list, rows.length ? rows : el('li', { class: 'muted' }, 'Nothing limits the turns of this organization. A budget limits tokens, money or turns.'))
  }

  /**
   * @param {Budget} budget
   * @param {Group | undefined} group the usage that counts, of the one who used most
   */
  function row(budget, group) {
    const { Id, Action } = budget
    const actions = [
      button('Edit', () => edit(budget), { 'aria-label': `Edit the budget ${Id}` }),
      button('Remove', () => confirmRemoval(budget), { 'aria-label': `Remove the budget ${Id}`, class: 'danger ghost' }),
    ]
    return el(
      'li',
      {},
      el('div', { class: 'row' }, el('strong', {}, Id), Action === 'warn' && el('span', { class: 'tag' }, 'warns'), el('span', { class: 'muted' }, description(budget, current.Currency)), el('span', { class: 'spacer' }), actions),
      consumption(budget, group, current.Currency),
    )
  }

  /** @param {Budget} [budget] */
  function edit(budget) {
    openBudget(budget, current.Currency, async (changed, currency) => {
      const { Budgets } = current
      const at = budget ? Budgets.indexOf(budget) : Budgets.length
      await replace({ ...(currency && { Currency: currency }), Budgets: [...Budgets.slice(0, at), changed, ...Budgets.slice(at + 1)] })
      announce(`Saved the budget ${changed.Id}.`)
    })
  }

  /** @param {Budget} budget */
  function confirmRemoval(budget) {
    const hint = el('p', {}, 'Turns are no longer limited by it. This takes effect within ten seconds.')
    openDialog({ title: `Remove the budget ${budget.Id}?`, fields: [hint], submit: 'Remove', isDangerous: true }, async () => {
      await replace({ ...current, Budgets: current.Budgets.filter((other) => other !== budget) })
      announce(`Removed the budget ${budget.Id}.`)
    })
  }

  /**
   * Replaces all budgets, unless somebody else changed them meanwhile.
   * @param {Budgets} budgets
   */
  async function replace(budgets) {
    if (JSON.stringify(await stored()) !== JSON.stringify(current)) {
      await show()
      throw new Error('Somebody else changed the budgets. The page shows them now: close this dialog and repeat your change.')
    }
    await connection.send('PUT', PATH, JSON.stringify(budgets))
    await show()
  }

  // Others than operators don't see the budgets.
  show().catch((error) => error.status !== 403 && (fill(problem, errorMessage(error)), (node.hidden = false)))
  return node
}

/**
 * Returns the usage that counts against a budget, of the user or agent who used most of it. Minutes, turns and sessions have none: usage is
 * counted by day.
 * @param {Budget} budget
 * @param {string | undefined} currency
 * @param {(query: Record<string, string>) => Promise<Report>} readUsage
 * @returns {Promise<Group | undefined>}
 */
async function usageOf({ Scope, Subject, Window, Unit }, currency, readUsage) {
  if (Scope === 'session' || (Window !== 'day' && Window !== 'month')) return undefined
  const to = new Date().toISOString().slice(0, 10)
  const from = Window === 'month' ? `${to.slice(0, 8)}01` : to
  const { Groups, Total } = await readUsage({ by: Scope === 'org' ? 'day' : Scope, from, to })
  if (Scope === 'org') return Total
  if (Subject !== undefined) return Groups.find(({ Key }) => Key === Subject) ?? { ...Total, Key: Subject, Turns: 0, Usage: { ...Total.Usage, TotalTokens: 0 }, Costs: [] }
  const unit = (/** @type {Group} */ group) => used(group, Unit, currency)
  return [...Groups].sort((one, other) => unit(other) - unit(one))[0] ?? Total
}

/**
 * @param {Group} group
 * @param {Budget['Unit']} unit
 * @param {string | undefined} currency
 */
function used({ Turns, Usage, Costs = [] }, unit, currency) {
  if (unit === 'turns') return Turns
  if (unit === 'tokens') return Usage.TotalTokens
  return Math.round(MICROS * Number(Costs.find(({ Currency }) => Currency === currency)?.Amount ?? 0))
}

/**
 * @param {number} amount
 * @param {Budget['Unit']} unit
 * @param {string | undefined} currency
 */
const amountText = (amount, unit, currency) => (unit === 'money' ? `${formatAmount(amount / MICROS)} ${currency ?? ''}` : `${formatNumber(amount)} ${unit}`)

/**
 * @param {Budget} budget
 * @param {string | undefined} currency
 */
function description({ Scope, Subject, Window, Unit, Limit }, currency) {
  const subject = Scope === 'org' ? 'all turns together' : Subject ? `${Scope} ${Subject}` : `each ${Scope}`
  return `${amountText(Limit, Unit, currency)} a ${Window}, ${subject}`
}

/**
 * @param {Budget} budget
 * @param {Group | undefined} group
 * @param {string | undefined} currency
 */
function consumption({ Scope, Window, Unit, Limit }, group, currency) {
  if (!group) return el('p', { class: 'muted' }, 'Usage is recorded by day for users and agents, so this page can’t show how far it is used.')
  const amount = used(group, Unit, currency)
  const share = amount / Limit
  const bar = el('span', { class: `share ${share >= 1 ? 'over' : share >= NEAR_LIMIT ? 'near' : ''}`, 'aria-hidden': 'true' })
  bar.style.setProperty('--share', `${Math.min(100, 100 * share)}%`)
  const whose = Scope === 'org' || !group.Key ? '' : ` by ${group.Key}`
  const state = share >= 1 ? 'used up: ' : share >= NEAR_LIMIT ? 'nearly used up: ' : ''
  const text = `${Math.floor(100 * share)} %, ${state}${amountText(amount, Unit, currency)}${whose}`
  return el('div', { class: 'consumption' }, bar, el('span', {}, text), el('small', {}, 'resets ', timestamp(windowEnd(Window, new Date()))))
}

/**
 * Returns the end of the calendar window in UTC that contains a time.
 * @param {Budget['Window']} window
 * @param {Date} now
 */
export function windowEnd(window, now) {
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()]
  return new Date(window === 'month' ? Date.UTC(year, month + 1) : Date.UTC(year, month, day + 1)).toISOString()
}
