/**
 * Lines of a structured log: time, level and message, with the other fields folded.
 *
 * @module
 */

import { el } from './dom.js'
import { valueView } from './value-view.js'

/** Fields that say the most about a line, in the order in which it shows them. Ids come last. */
const FIRST_FIELDS = ['method', 'path', 'status', 'error', 'action', 'total_ms']

/** A list of log lines. A line that stays keeps its state when the list is shown again. */
export class LogLines {
  /** @type {Map<string, HTMLElement>} */
  #shown = new Map()

  /** @param {string} label */
  constructor(label) {
    this.node = el('div', { class: 'log', tabindex: 0, role: 'group', 'aria-label': label })
  }

  /**
   * @param {{ text: string, origin?: string }[]} lines
   * @param {string} [filter] shows the lines with this text alone
   */
  show(lines, filter = '') {
    const isAtEnd = this.node.scrollTop + this.node.clientHeight >= this.node.scrollHeight - 8
    const found = lines.filter(({ text }) => text.toLowerCase().includes(filter.toLowerCase()))
    const next = new Map(found.map((line) => [key(line), this.#shown.get(key(line)) ?? logLine(line)]))
    this.#shown = next
    if (next.size > 0) this.node.replaceChildren(...next.values())
    else this.node.replaceChildren(el('p', { class: 'muted' }, lines.length > 0 ? 'No line has this text.' : 'No log lines yet.'))
    if (isAtEnd) this.node.scrollTop = this.node.scrollHeight
  }
}

/** @param {{ text: string, origin?: string }} line */
const key = ({ text, origin }) => `${origin} ${text}`

/** @param {{ text: string, origin?: string }} line */
function logLine({ text, origin }) {
  const fields = parse(text)
  if (!fields) return el('p', {}, text)
  const { timestamp, level, message, ...rest } = fields
  const names = [...FIRST_FIELDS.filter((name) => name in rest), ...Object.keys(rest).filter((name) => !FIRST_FIELDS.includes(name))]
  const more = names.map((name) => `${name}=${typeof rest[name] === 'string' ? rest[name] : JSON.stringify(rest[name])}`)
  const details = el(
    'details',
    {},
    el(
      'summary',
      {},
      el('time', { datetime: timestamp }, String(timestamp).slice(11, 23)),
      origin !== undefined && el('span', { class: 'muted' }, origin),
      el('span', { class: `tag ${level === 'ERROR' ? 'failed' : level === 'WARN' ? 'pending' : ''}`.trim() }, level),
      el('strong', {}, message),
      el('span', { class: 'rest' }, more.join(' ')),
    ),
  )
  // The fields are created when they are seen, since a log has hundreds of lines.
  details.addEventListener('toggle', () => details.append(valueView('Fields', JSON.stringify(rest))), { once: true })
  return details
}

/**
 * @param {string} text
 * @returns {Record<string, any> | undefined} undefined if the line is no JSON object
 */
function parse(text) {
  try {
    const fields = JSON.parse(text)
    return typeof fields === 'object' && fields !== null && 'message' in fields ? fields : undefined
  } catch {
    return undefined
  }
}
