/**
 * Arguments and results of tools: highlighted JSON, or the text of a string.
 *
 * @module
 */

import { escapeInvisible } from '../javascript/src/patch.js'
import { el } from './dom.js'
import { highlight } from './highlight.js'

/**
 * @param {string} label
 * @param {string} text JSON, or any other text
 */
export function valueView(label, text) {
  const value = parse(text)
  const isText = value === undefined || typeof value === 'string'
  const shown = escapeInvisible(isText ? (value ?? text) : JSON.stringify(value, undefined, 2))
  const code = el('code', {}, shown)
  if (!isText) highlight(code, shown, 'json')
  return el('div', { class: 'value' }, el('small', { 'aria-hidden': 'true' }, label.split(' of ', 1)[0]), el('pre', { tabindex: 0, role: 'group', 'aria-label': label }, code))
}

/**
 * @param {string} text
 * @returns {unknown} undefined if the text is no JSON
 */
function parse(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
