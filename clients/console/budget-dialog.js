/**
 * Dialog for a budget.
 *
 * @module
 */

import { el, labelledField, openDialog } from './dom.js'

const MICROS = 1_000_000
const SCOPES = { org: 'all turns together', user: 'each user', agent: 'each agent', session: 'each session' }
const WINDOWS = { turn: 'a turn', concurrent: 'at once', minute: 'a minute', day: 'a day', month: 'a month' }
const UNITS = { tokens: 'tokens', money: 'money', turns: 'turns' }
const ACTIONS = { stop: 'refuse new turns, stop running ones', warn: 'warn' }
const UNPRICED = { refuse: 'refuse them, or warn', allow: 'start them, and count their number alone' }

/** @typedef {import('./budgets.js').Budget} Budget */

/**
 * Opens a dialog for a new budget, or for a change of one.
 * @param {Budget | undefined} budget
 * @param {string | undefined} currency the currency of all budgets
 * @param {(budget: Budget, currency: string | undefined) => Promise<void>} save
 */
export function openBudget(budget, currency, save) {
  const unit = choice('Unit', UNITS, budget?.Unit ?? 'tokens')
  const scope = choice('Scope', SCOPES, budget?.Scope ?? 'user')
  const limit = el('input', { name: 'Limit', required: true, inputmode: 'decimal', autocomplete: 'off', value: budget && shownLimit(budget) })
  const money = labelledField('Currency of all budgets (ISO 4217)', el('input', { name: 'Currency', value: currency ?? '', maxlength: 3, placeholder: 'EUR', autocomplete: 'off' }))
  const subject = labelledField('Only this one (id; empty: each has its own limit)', el('input', { name: 'Subject', value: budget?.Subject ?? '', autocomplete: 'off' }))
  const unpriced = labelledField('Turns of models without a price in the currency', choice('Unpriced', UNPRICED, budget?.Unpriced ?? 'refuse'))
  const update = () => {
    money.hidden = unpriced.hidden = unit.value !== 'money'
    subject.hidden = scope.value === 'org'
  }
  const fields = [
    labelledField('Name', el('input', { name: 'Id', required: true, maxlength: 64, autocomplete: 'off', value: budget?.Id ?? '' })),
    el('div', { class: 'fields' }, labelledField('Limit', limit), labelledField('Unit', unit), labelledField('In', choice('Window', WINDOWS, budget?.Window ?? 'day'))),
    money,
    labelledField('For', scope),
    subject,
    labelledField('At the limit', choice('Action', ACTIONS, budget?.Action ?? 'stop')),
    unpriced,
  ]
  for (const field of [unit, scope]) field.addEventListener('change', update)
  update()
  openDialog({ title: budget ? `Edit the budget ${budget.Id}` : 'Add a budget', fields, submit: 'Save' }, (values) =>
    save(parseBudget(values), values.Currency?.trim().toUpperCase() || undefined),
  )
}

/**
 * @param {string} name
 * @param {Record<string, string>} options
 * @param {string} value
 */
function choice(name, options, value) {
  return el('select', { name }, Object.entries(options).map(([key, label]) => el('option', { value: key, selected: key === value }, label)))
}

/** @param {Budget} budget */
const shownLimit = ({ Unit, Limit }) => String(Unit === 'money' ? Limit / MICROS : Limit)

/**
 * Returns the budget of the form's values. The API validates the rest.
 * @param {Record<string, string>} values
 * @returns {Budget}
 */
export function parseBudget({ Id = '', Scope, Subject = '', Window, Unit, Limit = '', Action, Unpriced }) {
  const number = Number(Limit.trim())
  const limit = Unit === 'money' ? Math.round(number * MICROS) : number
  if (!Number.isSafeInteger(limit) || limit < 1) {
    throw new Error(Unit === 'money' ? 'Limit: use a positive amount of money such as 500 or 0.25.' : 'Limit: use a whole number from 1 on.')
  }
  const subject = Scope === 'org' ? '' : Subject.trim()
  const budget = { Id: Id.trim(), Scope, ...(subject && { Subject: subject }), Window, Unit, Limit: limit, Action, ...(Unit === 'money' && Unpriced === 'allow' && { Unpriced }) }
  return /** @type {Budget} */ (budget)
}
