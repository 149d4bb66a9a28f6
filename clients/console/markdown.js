/**
 * Renders Markdown as elements. A model's output is untrusted: it is parsed into a few kinds of values, and elements are
 * created from these. Text never becomes markup, nothing is loaded, and unsupported syntax is shown as text.
 *
 * @module
 */

import { diagram } from './diagram.js'
import { announce, button, download, el } from './dom.js'
import { highlight } from './highlight.js'
import { GrowingText, parse } from './markdown-parser.js'
import { formula } from './maths.js'
import { image } from './preview.js'

/**
 * @typedef {import('./markdown-parser.js').Block} Block
 * @typedef {import('./markdown-parser.js').Inline} Inline
 */

/** Characters of a line from which a code block can be wrapped. */
const MAX_LINE_CHARS = 60
/** Characters from which the text of a cell is long. */
const LONG_CELL_CHARS = 40
/** Extensions of downloaded code, by language. Others are text. */
const EXTENSIONS = /** @type {Record<string, string>} */ ({
  bash: 'sh', c: 'c', cpp: 'cpp', css: 'css', csharp: 'cs', go: 'go', html: 'html', java: 'java', javascript: 'js', js: 'js', json: 'json', markdown: 'md',
  md: 'md', python: 'py', py: 'py', ruby: 'rb', rust: 'rs', rs: 'rs', sh: 'sh', sql: 'sql', toml: 'toml', ts: 'ts', tsx: 'tsx', typescript: 'ts', xml: 'xml', yaml: 'yaml', yml: 'yaml',
})

/**
 * Renders a Markdown text.
 * @param {string} text
 */
export function markdown(text) {
  /** @type {number[]} */
  const levels = []
  return parse(text).map((item) => blockNode(item, levels))
}

/** A text that grows, in an element. Blocks that no longer change stay: a selection in them survives, and a long answer costs no more. */
export class GrowingMarkdown {
  #text = new GrowingText()
  #node
  /** @type {number[]} */
  #levels = []
  /** Elements of the blocks that can still change. @type {HTMLElement[]} */
  #open = []

  /** @param {HTMLElement} node its children are those of the text */
  constructor(node) {
    this.#node = node
  }

  /** @param {string} text */
  show(text) {
    const { isOther, settled, open } = this.#text.update(text)
    if (isOther) {
      this.#levels = []
      this.#node.replaceChildren()
    } else this.#open.forEach((element) => element.remove())
    this.#node.append(...settled.map((item) => blockNode(item, this.#levels)))
    const levels = [...this.#levels]
    this.#open = open.map((item) => blockNode(item, levels))
    this.#node.append(...this.#open)
  }
}

/**
 * @param {Block} item
 * @param {number[]} levels of the enclosing headings
 * @returns {HTMLElement}
 */
function blockNode(item, levels) {
  switch (item.type) {
    case 'paragraph':
      return el('p', { dir: 'auto' }, item.children.map(inlineNode))
    case 'heading':
      while ((levels.at(-1) ?? 0) >= item.level) levels.pop()
      levels.push(item.level)
      // Headings start below the page's own and skip no level, even if the model does.
      return el(/** @type {'h2'} */ (`h${Math.min(6, levels.length + 1)}`), { dir: 'auto' }, item.children.map(inlineNode))
    case 'rule':
      return el('hr')
    case 'quote':
      return el(
        'blockquote',
        { dir: 'auto' },
        item.children.map((inner) => blockNode(inner, levels)),
      )
    case 'code':
      return item.language === 'mermaid' && item.isClosed ? diagramBlock(item.text) : codeBlock(item.text, item.language)
    case 'formula':
      return formula(item.text, true)
    case 'footnote': {
      const back = jump('↩', `Back to the reference ${item.label}`, (answer) => answer.querySelector(`[data-reference="${CSS.escape(item.label)}"]`))
      return el('p', { class: 'footnote', dir: 'auto', tabindex: -1, 'data-footnote': item.label }, el('sup', {}, item.label), ' ', item.children.map(inlineNode), ' ', back)
    }
    case 'list':
      return el(
        item.start === undefined ? 'ul' : 'ol',
        { start: item.start, dir: 'auto' },
        item.items.map((inner) => listItem(inner, levels)),
      )
    case 'table': {
      const head = el(
        'tr',
        {},
        item.head.map((children, column) => cell('th', children, item.align[column])),
      )
      const rows = item.rows.map((row) =>
        el(
          'tr',
          {},
          row.map((children, column) => cell('td', children, item.align[column])),
        ),
      )
      const table = el('table', {}, el('thead', {}, head), el('tbody', {}, rows))
      return el('div', { class: 'scroll-x table', tabindex: 0, role: 'group', 'aria-label': 'Table' }, table)
    }
  }
}

/**
 * Creates a cell of a table. A cell with a long text has a least width, or a column with a long word would leave it one word per line.
 * @param {'th' | 'td'} tag
 * @param {Inline[]} children
 * @param {import('./markdown-parser.js').Align} align
 */
function cell(tag, children, align) {
  const node = el(tag, { scope: tag === 'th' ? 'col' : undefined, dir: 'auto', class: align && `align-${align}` }, children.map(inlineNode))
  node.classList.toggle('long', (node.textContent ?? '').length > LONG_CELL_CHARS)
  return node
}

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
  const paragraph = rest.some(({ type }) => type === 'paragraph') ? [el('p', { dir: 'auto' }, check, text)] : [check, ...text]
  return el('li', { dir: 'auto', class: check ? 'task' : undefined }, ...paragraph, rest.map((inner) => blockNode(inner, levels)))
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
  const source = code(text, language)
  const wrap = button('Wrap', () => wrap.setAttribute('aria-pressed', String(source.classList.toggle('wrap'))), { class: 'ghost', 'aria-pressed': 'false', title: 'Wrap long lines' })
  const save = button('Download', () => download(new Blob([text], { type: 'text/plain' }), `code.${EXTENSIONS[language.toLowerCase()] ?? 'txt'}`), { class: 'ghost', 'aria-label': language ? `Download ${language} code` : 'Download code' })
  const isLong = text.split('\n').some((line) => line.length > MAX_LINE_CHARS)
  return el('figure', { class: 'code' }, el('figcaption', {}, el('span', {}, language || 'text'), el('span', {}, isLong && wrap, save, copyButton(text, language))), source)
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
    case 'image':
      return image(new Blob([Uint8Array.from(atob(item.base64), (letter) => letter.charCodeAt(0))], { type: item.mime }), item.text || 'Image', 'inline-image')
    case 'reference': {
      const link = jump(item.label, `Footnote ${item.label}`, (answer) => answer.querySelector(`[data-footnote="${CSS.escape(item.label)}"]`))
      link.dataset.reference = item.label
      return el('sup', {}, link)
    }
    case 'link':
      return el('a', { href: item.href, rel: 'noopener noreferrer', target: '_blank' }, item.children.map(inlineNode))
    default:
      return el(TAGS[item.type], {}, item.children.map(inlineNode))
  }
}

/**
 * A link within an answer. The address belongs to the page, so it isn't one of the text.
 * @param {string} text
 * @param {string} label
 * @param {(answer: Element) => HTMLElement | null} find
 */
function jump(text, label, find) {
  const link = el('a', { href: '#', role: 'button', 'aria-label': label, title: label }, text)
  link.addEventListener('click', (event) => {
    event.preventDefault()
    const target = find(link.closest('.answer, .interim') ?? document.body)
    target?.scrollIntoView({ block: 'center' })
    target?.focus({ preventScroll: true })
  })
  return link
}

const TAGS = /** @type {const} */ ({ strong: 'strong', emphasis: 'em', strike: 's' })
