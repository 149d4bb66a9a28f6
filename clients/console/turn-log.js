/**
 * Log lines of a turn in a local cloud: those that name it, of every function.
 *
 * @module
 */

import { consoleApi } from './connection.js'
import { el, errorMessage, fill } from './dom.js'
import { LogLines } from './log-lines.js'

/** @param {string} turnId */
export function logView(turnId) {
  const content = el('div', {}, el('p', { class: 'muted' }, 'Loading…'))
  const details = el('details', { class: 'card' }, el('summary', {}, 'Log lines'), content)

  async function load() {
    const machine = await consoleApi('GET', 'machine')
    const names = /** @type {{ Name: string }[]} */ (machine.Functions).map(({ Name }) => Name)
    const logs = await Promise.all(names.map(async (name) => ({ name, ...(await consoleApi('GET', `logs/${name}`)) })))
    const lines = logs.flatMap(({ name, Lines }) => Lines.filter((/** @type {string} */ line) => line.includes(turnId)).map((/** @type {string} */ text) => ({ text, origin: name })))
    const log = new LogLines('Log lines')
    log.show(lines)
    const none = 'The tails of the logs have no line of this turn.'
    fill(content, lines.length > 0 ? log.node : el('p', { class: 'muted' }, none))
  }
  details.addEventListener('toggle', () => details.open && load().catch((error) => fill(content, errorMessage(error))), { once: true })
  return details
}
