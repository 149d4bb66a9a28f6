/**
 * A local cloud's machine: its processes, its queues, its logs, and who asks.
 *
 * @module
 */

import { consoleApi } from './connection.js'
import { button, el, failure, fill, labelled } from './dom.js'
import { number } from './format.js'

const EVERY_MS = 2_000

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
  const log = el('pre', { class: 'log', tabindex: 0, role: 'group', 'aria-label': 'Log' })
  const which = el('select', {})
  const isFollowing = el('input', { type: 'checkbox', checked: true })
  const node = el(
    'div',
    {},
    el('h1', {}, 'Local cloud'),
    problem,
    el(
      'div',
      { class: 'columns' },
      panel('Processes', table(['Function', 'Processes'], functions)),
      panel('Queues', table(['Queue', 'Waiting', 'Delayed', 'Being handled'], queues)),
    ),
    panel(
      'Logs',
      el(
        'div',
        { class: 'row' },
        labelled('Function', which),
        el('label', { class: 'check' }, isFollowing, 'Keep up'),
        button('Read now', () => readLog()),
      ),
      log,
    ),
    el('div', { class: 'columns' }, panel('Who am I', claims), panel('Services', services)),
  )

  async function readLog() {
    if (!which.value) return
    const { Lines } = await consoleApi('GET', `logs/${which.value}`)
    const isAtEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 8
    log.textContent = Lines.map(readable).join('\n') || 'Nothing yet.'
    if (isAtEnd) log.scrollTop = log.scrollHeight
  }

  async function look() {
    const machine = /** @type {Machine} */ (await consoleApi('GET', 'machine'))
    fill(
      functions,
      machine.Functions.map(({ Name, Processes }) => row(Name, [Processes])),
    )
    fill(
      queues,
      machine.Queues.map(({ Name, Waiting, Delayed, InFlight }) => row(Name, [Waiting, Delayed, InFlight])),
    )
    fill(services, machine.Services.map(({ Name, Url }) => pair(Name, Url)).flat(), pair('Data', machine.DataFolder))
    if (!which.options.length)
      fill(
        which,
        machine.Functions.map(({ Name }) => el('option', {}, Name)),
      )
    fill(problem)
  }

  async function once() {
    if (document.hidden) return
    try {
      await look()
      if (isFollowing.checked) await readLog()
    } catch (error) {
      fill(problem, failure(error))
    }
  }
  which.addEventListener('change', () => void readLog().catch((error) => fill(problem, failure(error))))
  once()
  const timer = setInterval(once, EVERY_MS)
  connection.claims().then((told) => {
    const shown = Object.entries(told).map(([name, value]) =>
      pair(name, typeof value === 'object' ? JSON.stringify(value) : String(value)),
    )
    fill(claims, shown.flat())
  })
  return { title: 'Local', node, end: () => clearInterval(timer) }
}

/**
 * A line of a log, with what names it first.
 * @param {string} line
 */
export function readable(line) {
  try {
    const { timestamp, level, message, ...rest } = JSON.parse(line)
    const more = Object.entries(rest).map(
      ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
    )
    return [String(timestamp).slice(11, 23), level, message, ...more].join(' ')
  } catch {
    return line
  }
}

/**
 * @param {string} title
 * @param {Node[]} held
 */
const panel = (title, ...held) => el('section', { class: 'card', 'aria-label': title }, el('h2', {}, title), ...held)

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
    counts.map((count) => el('td', { class: 'number' }, count === null ? '–' : number(count))),
  )

/**
 * @param {string} name
 * @param {string} value
 */
const pair = (name, value) => [el('dt', {}, name), el('dd', {}, value)]
