/**
 * The state of a local cloud: processes, queues, logs, services and the caller's claims.
 *
 * @module
 */

import { consoleApi } from './connection.js'
import { button, el, errorMessage, fill, labelledField } from './dom.js'
import { formatNumber } from './format.js'
import { LogLines } from './log-lines.js'
import { mockButton, modelForm, providerName } from './model-setup.js'

const POLL_INTERVAL_MS = 2_000

/**
 * @typedef {{
 *   Functions: { Name: string, Processes: number }[], DataFolder: string, Services: { Name: string, Url: string }[],
 *   Queues: { Name: string, Waiting: number | null, Delayed: number | null, InFlight: number | null }[],
 * }} Machine
 */

/**
 * @param {import('./connection.js').Connection} connection
 * @returns {import('./main.js').View}
 */
export function local(connection) {
  const functions = el('tbody', {})
  const queues = el('tbody', {})
  const services = el('dl', {})
  const claims = el('dl', {})
  const problem = el('div', {})
  const log = new LogLines('Log')
  /** @type {{ text: string }[]} */
  let lines = []
  const functionSelect = el('select', {})
  const filter = el('input', { type: 'search', placeholder: 'Text, id or status' })
  const autoRefresh = el('input', { type: 'checkbox', checked: true })
  const node = el(
    'div',
    {},
    el('h1', {}, 'Local cloud'),
    problem,
    modelPanel(connection.config),
    el(
      'div',
      { class: 'columns' },
      panel('Processes', table(['Function', 'Processes'], functions)),
      panel('Queues', table(['Queue', 'Waiting', 'Delayed', 'In flight'], queues)),
    ),
    panel(
      'Logs',
      el(
        'div',
        { class: 'row' },
        labelledField('Function', functionSelect),
        labelledField('Filter', filter),
        el('label', { class: 'checkbox' }, autoRefresh, 'Refresh automatically'),
        button('Refresh', () => readLog()),
      ),
      log.node,
    ),
    el('div', { class: 'columns' }, panel('Token claims', claims), panel('Services', services)),
  )

  async function readLog() {
    if (!functionSelect.value) return
    const { Lines } = await consoleApi('GET', `logs/${functionSelect.value}`)
    lines = Lines.map((/** @type {string} */ text) => ({ text }))
    log.show(lines, filter.value)
  }

  async function loadMachine() {
    const machine = /** @type {Machine} */ (await consoleApi('GET', 'machine'))
    fill(
      functions,
      machine.Functions.map(({ Name, Processes }) => row(Name, [Processes])),
    )
    fill(
      queues,
      machine.Queues.map(({ Name, Waiting, Delayed, InFlight }) => row(Name, [Waiting, Delayed, InFlight])),
    )
    fill(services, machine.Services.map(({ Name, Url }) => pair(Name, Url)).flat(), pair('Data folder', machine.DataFolder))
    if (!functionSelect.options.length)
      fill(
        functionSelect,
        machine.Functions.map(({ Name }) => el('option', {}, Name)),
      )
    fill(problem)
  }

  async function poll() {
    if (document.hidden) return
    try {
      await loadMachine()
      if (autoRefresh.checked) await readLog()
    } catch (error) {
      fill(problem, errorMessage(error))
    }
  }
  functionSelect.addEventListener('change', () => void readLog().catch((error) => fill(problem, errorMessage(error))))
  filter.addEventListener('input', () => log.show(lines, filter.value))
  poll()
  const timer = setInterval(poll, POLL_INTERVAL_MS)
  connection.claims().then((values) => {
    const rows = Object.entries(values).map(([name, value]) =>
      pair(name, typeof value === 'object' ? JSON.stringify(value) : String(value)),
    )
    fill(claims, rows.flat())
  })
  return { title: 'Local', node, dispose: () => clearInterval(timer) }
}

/** @param {import('./connection.js').Config} config */
function modelPanel(config) {
  const { Provider, Providers, IsMock } = config
  if (!Providers?.length) return panel('Model', el('p', {}, IsMock ? 'The mock model, as this cloud was started with.' : 'Set by the options or the environment of this cloud.'))
  const status = el('div', { role: 'status' })
  const [now, change] = Provider ? [providerName(Provider), el('div', { class: 'row' }, mockButton(config, status), status)] : ['The mock model', '']
  return panel('Model', el('p', {}, now, el('small', {}, '. A change restarts the local cloud.')), modelForm(config), change)
}

/**
 * @param {string} title
 * @param {(Node | string)[]} children
 */
const panel = (title, ...children) => el('section', { class: 'card', 'aria-label': title }, el('h2', {}, title), ...children)

/**
 * @param {string[]} names
 * @param {Node} body
 */
function table(names, body) {
  const head = names.map((name, column) => el('th', { scope: 'col', class: column ? 'number' : undefined }, name))
  return el('table', {}, el('thead', {}, el('tr', {}, head)), body)
}

/**
 * @param {string} name
 * @param {(number | null)[]} counts
 */
const row = (name, counts) =>
  el(
    'tr',
    {},
    el('th', { scope: 'row' }, name),
    counts.map((count) => el('td', { class: 'number' }, count === null ? '–' : formatNumber(count))),
  )

/**
 * @param {string} name
 * @param {string} value
 */
const pair = (name, value) => [el('dt', {}, name), el('dd', {}, value)]
