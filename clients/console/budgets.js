/**
 * The budgets of the organization: how far each is used, when its window ends, and their changes by operators. Users see the budgets that
 * limit each user, with their own figures.
 *
 * @module
 */

import { openBudget } from './budget-dialog.js'
import { announce, button, el, errorMessage, fill, openDialog } from './dom.js'
import { forecast } from './forecast.js'
import { formatAmount, formatNumber, timestamp, turnsWithoutPrice } from './format.js'

const PATH = 'api/ai/agent/budgets'
const MICROS = 1_000_000
/** Share of a limit from which on its bar warns. */
const NEAR_LIMIT = 0.8
/** Meters of a budget with a bar. */
const MAX_BARS = 3

/**
 * @typedef {import('../javascript/src/wire.js').Budget} Budget
 * @typedef {import('../javascript/src/wire.js').BudgetUse} BudgetUse
 * @typedef {import('../javascript/src/wire.js').BudgetUseReport} BudgetUseReport
 * @typedef {{ ETag?: string, Currency?: string, Budgets: Budget[] }} Budgets
 */

/** @param {import('./connection.js').Connection} connection */
export function budgetSection(connection) {
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

  /**
   * Returns the budgets, or undefined if the caller isn't an operator.
   * @returns {Promise<Budgets | undefined>}
   */
  const editable = () => connection.read(PATH).catch((error) => (error.status === 403 ? undefined : Promise.reject(error)))

  async function show() {
    const [budgets, report] = await Promise.all([editable(), /** @type {Promise<BudgetUseReport>} */ (connection.read(`${PATH}/use`))])
    if (budgets) current = budgets
    add.hidden = !budgets
    // Others than operators can't add the first one.
    node.hidden = !budgets && !report.Budgets.length
    fill(problem)
    const rows = report.Budgets.map((use) => row(use, report.Currency, Boolean(budgets)))
    fill(list, rows.length ? rows : el('li', { class: 'muted' }, 'Nothing limits the turns of this organization. A budget limits tokens, money or turns.'))
  }

  /**
   * @param {BudgetUse} use
   * @param {string | undefined} currency
   * @param {boolean} isEditable
   */
  function row(use, currency, isEditable) {
    const { Id, Action } = use.Budget
    const actions = isEditable && [
      button('Edit', () => edit(Id), { 'aria-label': `Edit the budget ${Id}` }),
      button('Remove', () => confirmRemoval(Id), { 'aria-label': `Remove the budget ${Id}`, class: 'danger ghost' }),
    ]
    return el(
      'li',
      {},
      el('div', { class: 'row' }, el('strong', {}, Id), Action === 'warn' && el('span', { class: 'tag' }, 'warns'), el('span', { class: 'muted' }, description(use.Budget, currency)), el('span', { class: 'spacer' }), actions || ''),
      ...consumption(use, currency),
    )
  }

  /** @param {string} [id] the budget to change */
  function edit(id) {
    const budget = current.Budgets.find(({ Id }) => Id === id)
    openBudget(budget, current.Currency, async (changed, currency) => {
      const { Budgets } = current
      const at = budget ? Budgets.indexOf(budget) : Budgets.length
      await replace({ ...(currency && { Currency: currency }), Budgets: [...Budgets.slice(0, at), changed, ...Budgets.slice(at + 1)] })
      announce(`Saved the budget ${changed.Id}.`)
    })
  }

  /** @param {string} id */
  function confirmRemoval(id) {
    const hint = el('p', {}, 'Turns are no longer limited by it. This takes effect within ten seconds.')
    openDialog({ title: `Remove the budget ${id}?`, fields: [hint], submit: 'Remove', isDangerous: true }, async () => {
      await replace({ ...current, Budgets: current.Budgets.filter(({ Id }) => Id !== id) })
      announce(`Removed the budget ${id}.`)
    })
  }

  /**
   * Replaces all budgets, unless somebody else changed them meanwhile.
   * @param {Budgets} budgets
   */
  async function replace(budgets) {
    try {
      await connection.send('PUT', PATH, JSON.stringify(budgets), { 'if-match': current.ETag ?? '*' })
    } catch (error) {
      if (/** @type {{ status?: number }} */ (error).status !== 412) throw error
      await show()
      throw new Error('Somebody else changed the budgets. The page shows them now: close this dialog and repeat your change.')
    }
    await show()
  }

  show().catch((error) => {
    node.hidden = false
    fill(problem, errorMessage(error))
  })
  return node
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
  return `${amountText(Limit, Unit, currency)} ${Window === 'concurrent' ? 'at once' : `a ${Window}`}, ${subject}`
}

/**
 * Returns the bars of a budget, of those who used most.
 * @param {BudgetUse} use
 * @param {string | undefined} currency
 */
function consumption({ Budget, WindowEndDate, Meters, OmittedMeters }, currency) {
  if (!Meters.length) return [el('p', { class: 'muted' }, unused(Budget))]
  const bars = Meters.slice(0, MAX_BARS).map((meter) => bar(Budget, meter, currency, WindowEndDate))
  const more = Meters.length - bars.length + OmittedMeters
  return [...bars, more > 0 && el('small', { class: 'muted' }, `and ${formatNumber(more)} more, who used less`)]
}

/**
 * Returns the reason why a budget has no bar.
 * @param {Budget} budget
 */
function unused({ Window, Scope, Subject }) {
  if (Window === 'turn') return 'Each turn has this limit of its own.'
  if (Scope === 'session' && !Subject) return 'Each session has this limit of its own. A warning or an error of its turns says when it is used up.'
  return 'Not used yet.'
}

/**
 * @param {Budget} budget
 * @param {BudgetUse['Meters'][number]} meter
 * @param {string | undefined} currency
 * @param {string | undefined} end end of the window
 */
function bar({ Unit, Limit, Window }, { Subject, Used, Reserved, UnpricedTurns = 0 }, currency, end) {
  const share = (Used + Reserved) / Limit
  const line = el('span', { class: `share ${share >= 1 ? 'over' : share >= NEAR_LIMIT ? 'near' : ''}`, 'aria-hidden': 'true' })
  const percentage = (/** @type {number} */ amount) => `${Math.min(100, (100 * amount) / Limit)}%`
  line.style.setProperty('--share', percentage(Used))
  line.style.setProperty('--taken', percentage(Used + Reserved))
  const state = share >= 1 ? 'used up: ' : share >= NEAR_LIMIT ? 'nearly used up: ' : ''
  // All concurrent turns are ones that haven't ended.
  const amount = amountText(Window === 'concurrent' ? Reserved : Used, Unit, currency)
  const reserved = Reserved > 0 && Window !== 'concurrent' ? `, and ${amountText(Reserved, Unit, currency)} reserved` : ''
  const unpriced = UnpricedTurns > 0 ? `, without ${turnsWithoutPrice(UnpricedTurns)}` : ''
  const text = `${Math.floor(100 * share)} %, ${state}${amount}${reserved}${Subject === undefined ? '' : ` by ${Subject}`}${unpriced}`
  const expected = forecast({ window: Window, used: Used, end, now: new Date() })
  const outlook = expected !== undefined && `about ${amountText(Math.round(expected), Unit, currency)} by then, if it goes on like this${expected > Limit ? ': over the limit' : ''}`
  return el('div', { class: 'consumption' }, line, el('span', {}, text), end && el('small', {}, 'resets ', timestamp(end), outlook && ` · ${outlook}`))
}
