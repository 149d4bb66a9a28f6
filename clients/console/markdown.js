/**
 * Markdown as elements. What a model writes is not trusted: it is read into values of a few kinds, and elements are made of
 * those. No markup comes out of text, nothing is loaded, and whatever is not understood is shown as it stands.
 *
 * @module
 */

import { button, el } from './dom.js'
import { parse } from './markdown-blocks.js'

/**
 * @typedef {import('./markdown-blocks.js').Block} Block
 * @typedef {import('./markdown-inline.js').Inline} Inline
 */

/**
 * Elements of a text.
 * @param {string} text
 */
export function markdown(text) {
  /** @type {number[]} */
  const levels = []
  return parse(text).map((item) => block(item, levels))
}

/**
 * @param {Block} item
 * @param {number[]} levels of the headings that this stands under
 * @returns {HTMLElement}
 */
function block(item, levels) {
  switch (item.type) {
    case 'paragraph':
      return el('p', {}, item.children.map(words))
    case 'heading':
      while ((levels.at(-1) ?? 0) >= item.level) levels.pop()
      levels.push(item.level)
      // Below the page's own, and one below the other, whatever levels the model leaves out.
      return el(/** @type {'h2'} */ (`h${Math.min(6, levels.length + 1)}`), {}, item.children.map(words))
    case 'rule':
      return el('hr')
    case 'quote':
      return el(
        'blockquote',
        {},
        item.children.map((inner) => block(inner, levels)),
      )
    case 'code':
      return codeBlock(item.text, item.language)
    case 'list':
      return el(
        item.start === undefined ? 'ul' : 'ol',
        { start: item.start },
        item.items.map((inner) => listItem(inner, levels)),
      )
    case 'table': {
      const head = el(
        'tr',
        {},
        item.head.map((cell) => el('th', { scope: 'col' }, cell.map(words))),
      )
      const rows = item.rows.map((row) =>
        el(
          'tr',
          {},
          row.map((cell) => el('td', {}, cell.map(words))),
        ),
      )
      const table = el('table', {}, el('thead', {}, head), el('tbody', {}, rows))
      return el('div', { class: 'wide', tabindex: 0, role: 'group', 'aria-label': 'Table' }, table)
    }
  }
}

/**
 * @param {Block[]} item
 * @param {number[]} levels
 */
function listItem(item, levels) {
  const [only] = item
  return el(
    'li',
    {},
    item.length === 1 && only?.type === 'paragraph' ? only.children.map(words) : item.map((inner) => block(inner, levels)),
  )
}

/**
 * @param {string} text
 * @param {string} language
 */
function codeBlock(text, language) {
  const copy = button('Copy', () => navigator.clipboard.writeText(text), { class: 'quiet' })
  const head = el('figcaption', {}, el('span', {}, language), copy)
  const held = el(
    'pre',
    { tabindex: 0, role: 'group', 'aria-label': language ? `Code, ${language}` : 'Code' },
    el('code', {}, text),
  )
  return el('figure', { class: 'code' }, head, held)
}

/**
 * @param {Inline} item
 * @returns {Node | string}
 */
function words(item) {
  switch (item.type) {
    case 'text':
      return item.text
    case 'code':
      return el('code', {}, item.text)
    case 'break':
      return el('br')
    case 'link':
      return el('a', { href: item.href, rel: 'noopener noreferrer', target: '_blank' }, item.children.map(words))
    default:
      return el(NAMES[item.type], {}, item.children.map(words))
  }
}

const NAMES = /** @type {const} */ ({ strong: 'strong', emphasis: 'em', strike: 's' })
