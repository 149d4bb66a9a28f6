/**
 * Renders Markdown as elements. A model's output is untrusted: it is parsed into a few kinds of values, and elements are
 * created from these. Text never becomes markup, nothing is loaded, and unsupported syntax is shown as text.
 *
 * @module
 */

import { diagram } from './diagram.js'
import { announce, button, el } from './dom.js'
import { highlight } from './highlight.js'
import { parse } from './markdown-parser.js'
import { formula } from './maths.js'

/**
 * @typedef {import('./markdown-parser.js').Block} Block
 * @typedef {import('./markdown-parser.js').Inline} Inline
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
      return item.language === 'mermaid' && item.isClosed ? diagramBlock(item.text) : codeBlock(item.text, item.language)
    case 'formula':
      return formula(item.text, true)
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
        item.head.map((cell, column) => el('th', { scope: 'col', class: alignClass(item.align[column]) }, cell.map(inlineNode))),
      )
      const rows = item.rows.map((row) =>
        el(
          'tr',
          {},
          row.map((cell, column) => el('td', { class: alignClass(item.align[column]) }, cell.map(inlineNode))),
        ),
      )
      const table = el('table', {}, el('thead', {}, head), el('tbody', {}, rows))
      return el('div', { class: 'scroll-x table', tabindex: 0, role: 'group', 'aria-label': 'Table' }, table)
    }
  }
}

/** @param {import('./markdown-parser.js').Align} align */
const alignClass = (align) => align && `align-${align}`

/**
 * @param {Block[]} item
 * @param {number[]} levels
 */
function listItem(item, levels) {
  const [first, ...rest] = item
  if (first?.type !== 'paragraph') return el('li', {}, item.map((inner) => blockNode(inner, levels)))
  const { isDone, children } = task(first.children)
  const check = isDone !== undefined && el('input', { type: 'checkbox', checked: isDone, disabled: true, 'aria-label': isDone ? 'Done' : 'To do' })
  const text = children.map(inlineNode)
  const paragraph = rest.some(({ type }) => type === 'paragraph') ? [el('p', {}, check, text)] : [check, ...text]
  return el('li', { class: check ? 'task' : undefined }, ...paragraph, rest.map((inner) => blockNode(inner, levels)))
}

/**
 * Reads the box of a task item: `[ ]` or `[x]`.
 * @param {Inline[]} children
 * @returns {{ isDone?: boolean, children: Inline[] }}
 */
function task(children) {
  const [first, ...rest] = children
  const [box = '', mark] = first?.type === 'text' ? (/^\[([ xX])\] /.exec(first.text) ?? []) : []
  if (mark === undefined || first?.type !== 'text') return { children }
  return { isDone: mark !== ' ', children: [{ type: 'text', text: first.text.slice(box.length) }, ...rest] }
}

/**
 * @param {string} text
 * @param {string} language
 */
function codeBlock(text, language) {
  return el('figure', { class: 'code' }, el('figcaption', {}, el('span', {}, language || 'text'), copyButton(text, language)), code(text, language))
}

/**
 * A diagram with its source. The source is shown instead if it can't be drawn.
 * @param {string} text
 */
function diagramBlock(text) {
  const source = code(text, 'mermaid')
  const label = el('span', {}, 'mermaid')
  const size = button('Full size', () => size.setAttribute('aria-pressed', String(drawn.classList.toggle('full'))), { class: 'ghost', 'aria-pressed': 'false' })
  const toggle = button('Source', () => showSource(!drawn.hidden), { class: 'ghost', 'aria-pressed': 'false' })
  const drawn = diagram(text, (reason) => {
    label.textContent = `mermaid, not drawn: ${reason}`
    size.remove()
    toggle.remove()
    showSource(true)
  })
  const showSource = (/** @type {boolean} */ isShown) => {
    source.hidden = !isShown
    drawn.hidden = size.hidden = isShown
    toggle.setAttribute('aria-pressed', String(isShown))
  }
  showSource(false)
  return el('figure', { class: 'code' }, el('figcaption', {}, label, el('span', {}, size, toggle, copyButton(text, 'mermaid'))), drawn, source)
}

/**
 * @param {string} text
 * @param {string} language
 */
function copyButton(text, language) {
  const copy = button('Copy', () => copyText(text, copy), { class: 'ghost', 'aria-label': language ? `Copy ${language} code` : 'Copy code' })
  return copy
}

/**
 * @param {string} text
 * @param {string} language
 */
function code(text, language) {
  const codeElement = el('code', {}, text)
  highlight(codeElement, text, language)
  return el('pre', { tabindex: 0, role: 'group', 'aria-label': language ? `Code, ${language}` : 'Code' }, codeElement)
}

/**
 * Copies a text and says so on the button.
 * @param {string} text
 * @param {HTMLButtonElement} copy
 */
async function copyText(text, copy) {
  await navigator.clipboard.writeText(text).then(
    () => {
      const label = copy.textContent
      copy.textContent = 'Copied'
      announce('Copied.')
      setTimeout(() => (copy.textContent = label), 1_500)
    },
    () => announce("Can't access the clipboard."),
  )
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
    case 'formula':
      return formula(item.text, false)
    case 'break':
      return el('br')
    case 'link':
      return el('a', { href: item.href, rel: 'noopener noreferrer', target: '_blank' }, item.children.map(inlineNode))
    default:
      return el(TAGS[item.type], {}, item.children.map(inlineNode))
  }
}

const TAGS = /** @type {const} */ ({ strong: 'strong', emphasis: 'em', strike: 's' })
