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
 * @returns {HTMLElement}
 */
export function valueView(label, text) {
  const value = parse(text)
  const texts = longTexts(label, value)
  if (texts.length > 0) return el('div', { class: 'value' }, texts.map(([name, part]) => valueView(name, part)))
  const isText = value === undefined || typeof value === 'string'
  const shown = escapeInvisible(isText ? (value ?? text) : JSON.stringify(value, undefined, 2))
  const code = el('code', {}, shown)
  if (!isText) highlight(code, shown, 'json')
  return el('div', { class: 'value' }, el('small', { 'aria-hidden': 'true' }, label.split(' of ', 1)[0]), el('pre', { tabindex: 0, role: 'group', 'aria-label': label }, code))
}

/**
 * Splits an object whose members have texts of several lines, such as a patch, which are unreadable as JSON: the object without them, and
 * each text, with a label.
 * @param {string} label
 * @param {unknown} value
 * @returns {[string, string][]}
 */
function longTexts(label, value) {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
  const members = Object.entries(value)
  const isLong = (/** @type {[string, unknown]} */ [, member]) => typeof member === 'string' && member.trimEnd().includes('\n')
  const long = members.filter(isLong)
  if (long.length === 0) return []
  const rest = Object.fromEntries(members.filter((member) => !isLong(member)))
  const shown = /** @type {[string, string][]} */ (long.map(([name, member]) => [name, JSON.stringify(member)]))
  return Object.keys(rest).length > 0 ? [[label, JSON.stringify(rest)], ...shown] : shown
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
