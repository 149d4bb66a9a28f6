/**
 * Server tools of a turn: running ones as they are reported, and finished ones with arguments and result, folded.
 *
 * @module
 */

import { escapeInvisible } from '../javascript/src/patch.js'
import { el } from './dom.js'
import { duration, prettyJson } from './format.js'
import { icon } from './icons.js'

/** @param {string} name */
export const runningTool = (name) => el('p', { class: 'activity' }, el('span', { class: 'running' }, icon('tool'), el('code', {}, escapeInvisible(name))))

/**
 * Marks a running tool as finished.
 * @param {HTMLElement} node
 */
export const endTool = (node) => node.querySelector('.running')?.classList.remove('running')

/** @param {import('../javascript/src/wire.js').StepCall} call */
export function finishedTool({ Name, ArgumentsJson, ResultJson, ErrorMessage, ExecutionMs }) {
  const value = (/** @type {string} */ label, /** @type {string} */ text) =>
    el('pre', { tabindex: 0, role: 'group', 'aria-label': `${label} of ${Name}` }, escapeInvisible(text))
  const summary = el('summary', {}, icon('tool'), el('code', {}, escapeInvisible(Name)), duration(ExecutionMs), ErrorMessage !== undefined && el('span', { class: 'tag failed' }, 'failed'))
  return el('details', { class: 'activity' }, summary, value('Arguments', prettyJson(ArgumentsJson)), value('Result', ErrorMessage ?? prettyJson(ResultJson ?? '')))
}
