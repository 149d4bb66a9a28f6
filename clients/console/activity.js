/**
 * Server tools of a turn: running ones as they are reported, and finished ones with arguments and result, folded.
 *
 * @module
 */

import { escapeInvisible } from '../javascript/src/patch.js'
import { el } from './dom.js'
import { duration } from './format.js'
import { icon } from './icons.js'
import { valueView } from './value-view.js'

/** @param {string} name */
export const runningTool = (name) => el('p', { class: 'activity' }, el('span', { class: 'running' }, icon('tool'), el('code', {}, escapeInvisible(name))))

/**
 * Marks a running tool as finished.
 * @param {HTMLElement} node
 */
export const endTool = (node) => node.querySelector('.running')?.classList.remove('running')

/** @param {import('../javascript/src/wire.js').StepCall} call */
export function finishedTool({ Name, ArgumentsJson, ResultJson, ErrorMessage, ExecutionMs }) {
  const summary = el('summary', {}, icon('tool'), el('code', {}, escapeInvisible(Name)), duration(ExecutionMs), ErrorMessage !== undefined && el('span', { class: 'tag failed' }, 'failed'))
  return el('details', { class: 'activity' }, summary, valueView(`Arguments of ${Name}`, ArgumentsJson), valueView(`Result of ${Name}`, ErrorMessage ?? ResultJson ?? ''))
}
