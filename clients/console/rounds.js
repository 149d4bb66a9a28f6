/**
 * The items of a model call in a few words: what was told, what was called, what tools gave, what was answered.
 *
 * @module
 */

import { el } from './dom.js'

/** As much of an item is shown. */
const MOST_CHARS = 160

/**
 * @param {string} request
 * @param {string} response
 */
export function rounds(request, response) {
  const asked = items(request, 'input').map((item) => ({ ...item, from: 'Asked' }))
  const answered = items(response, 'output').map((item) => ({ ...item, from: 'Answered' }))
  const rows = [...asked, ...answered].map(({ from, kind, text }) => {
    const short = text.length > MOST_CHARS ? `${text.slice(0, MOST_CHARS)}…` : text
    return el('tr', {}, el('td', {}, from), el('th', { scope: 'row' }, kind), el('td', {}, short))
  })
  if (!rows.length) return ''
  const head = ['', 'Item', 'Content'].map((name) => (name ? el('th', { scope: 'col' }, name) : el('td', {})))
  const table = el(
    'table',
    { class: 'items' },
    el('caption', { class: 'unseen' }, 'Items of the call'),
    el('thead', {}, el('tr', {}, head)),
    el('tbody', {}, rows),
  )
  return el('div', { class: 'wide', tabindex: 0, role: 'group', 'aria-label': 'Items of the call' }, table)
}

/**
 * @param {string} json
 * @param {'input' | 'output'} member
 * @returns {{ kind: string, text: string }[]}
 */
function items(json, member) {
  try {
    const all = JSON.parse(json)[member]
    return Array.isArray(all) ? all.map(item) : []
  } catch {
    return []
  }
}

/** @param {any} item */
function item({ type, role, name, content, call_id, arguments: given, output, summary }) {
  if (type === 'function_call') return { kind: `call ${name}`, text: String(given ?? '') }
  if (type === 'function_call_output')
    return { kind: `result of ${call_id}`, text: typeof output === 'string' ? output : JSON.stringify(output) }
  if (type === 'reasoning') return { kind: 'reasoning', text: words(summary) }
  return { kind: role ?? type ?? 'item', text: words(content) }
}

/** @param {any} content */
function words(content) {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part) => part?.text ?? part?.refusal ?? `(${part?.type ?? 'part'})`).join(' ')
}
