/**
 * Table of a model call's input and output items: messages, tool calls, tool results and reasoning.
 *
 * @module
 */

import { el } from './dom.js'

/** Longest excerpt of an item. */
const MAX_CHARS = 160

/**
 * @param {string} request
 * @param {string} response
 */
export function modelItems(request, response) {
  const inputs = items(request, 'input').map((item) => ({ ...item, from: 'Input' }))
  const outputs = items(response, 'output').map((item) => ({ ...item, from: 'Output' }))
  const rows = [...inputs, ...outputs].map(({ from, kind, text }) => {
    const excerpt = text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text
    return el('tr', {}, el('td', {}, from), el('th', { scope: 'row' }, kind), el('td', {}, excerpt))
  })
  if (!rows.length) return ''
  const head = ['', 'Item', 'Content'].map((name) => (name ? el('th', { scope: 'col' }, name) : el('td', {})))
  const table = el(
    'table',
    { class: 'items' },
    el('caption', { class: 'visually-hidden' }, 'Input and output items'),
    el('thead', {}, el('tr', {}, head)),
    el('tbody', {}, rows),
  )
  return el('div', { class: 'scroll-x', tabindex: 0, role: 'group', 'aria-label': 'Input and output items' }, table)
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
function item({ type, role, name, content, call_id, arguments: args, output, summary }) {
  if (type === 'function_call') return { kind: `call ${name}`, text: String(args ?? '') }
  if (type === 'function_call_output')
    return { kind: `result of ${call_id}`, text: typeof output === 'string' ? output : JSON.stringify(output) }
  if (type === 'reasoning') return { kind: 'reasoning', text: contentText(summary) }
  return { kind: role ?? type ?? 'item', text: contentText(content) }
}

/** @param {any} content */
function contentText(content) {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part) => part?.text ?? part?.refusal ?? `(${part?.type ?? 'part'})`).join(' ')
}
