/**
 * Renders Markdown as elements. A model's output is untrusted: it is parsed into a few kinds of values, and elements are
 * created from these. Text never becomes markup, nothing is loaded, and unsupported syntax is shown as text.
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
 * Renders a Markdown text.
 * @param {string} text
 */
export function markdown(text) {
  /** @type {number[]} */
  const levels = []
  return parse(text).map((item) => blockNode(item, levels))
}

/**
 * @param {Block} item
 * @param {number[]} levels of the enclosing headings
 * @returns {HTMLElement}
 */
function blockNode(item, levels) {
  switch (item.type) {
    case 'paragraph':
      return el('p', {}, item.children.map(inlineNode))
    case 'heading':
      while ((levels.at(-1) ?? 0) >= item.level) levels.pop()
      levels.push(item.level)
      // Headings start below the page's own and skip no level, even if the model does.
      return el(/** @type {'h2'} */ (`h${Math.min(6, levels.length + 1)}`), {}, item.children.map(inlineNode))
    case 'rule':
      return el('hr')
    case 'quote':
      return el(
        'blockquote',
        {},
        item.children.map((inner) => blockNode(inner, levels)),
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
        item.head.map((cell) => el('th', { scope: 'col' }, cell.map(inlineNode))),
      )
      const rows = item.rows.map((row) =>
        el(
          'tr',
          {},
          row.map((cell) => el('td', {}, cell.map(inlineNode))),
        ),
      )
      const table = el('table', {}, el('thead', {}, head), el('tbody', {}, rows))
      return el('div', { class: 'scroll-x', tabindex: 0, role: 'group', 'aria-label': 'Table' }, table)
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
    item.length === 1 && only?.type === 'paragraph' ? only.children.map(inlineNode) : item.map((inner) => blockNode(inner, levels)),
  )
}

/**
 * @param {string} text
 * @param {string} language
 */
function codeBlock(text, language) {
  const copy = button('Copy', () => navigator.clipboard.writeText(text), { class: 'ghost' })
  const head = el('figcaption', {}, el('span', {}, language), copy)
  const codeElement = el(
    'pre',
    { tabindex: 0, role: 'group', 'aria-label': language ? `Code, ${language}` : 'Code' },
    el('code', {}, text),
  )
  return el('figure', { class: 'code' }, head, codeElement)
}

/**
 * @param {Inline} item
 * @returns {Node | string}
 */
function inlineNode(item) {
  switch (item.type) {
    case 'text':
      return item.text
    case 'code':
      return el('code', {}, item.text)
    case 'break':
      return el('br')
    case 'link':
      return el('a', { href: item.href, rel: 'noopener noreferrer', target: '_blank' }, item.children.map(inlineNode))
    default:
      return el(TAGS[item.type], {}, item.children.map(inlineNode))
  }
}

const TAGS = /** @type {const} */ ({ strong: 'strong', emphasis: 'em', strike: 's' })
