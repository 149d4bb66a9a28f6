/**
 * Parses the block syntax of Markdown that answers use: paragraphs, headings, lists, quotes, tables and code. Unsupported
 * syntax is text.
 *
 * @module
 */

import { inline } from './markdown-inline.js'

/**
 * @typedef {import('./markdown-inline.js').Inline} Inline
 *
 * @typedef {{ type: 'paragraph', children: Inline[] } | { type: 'heading', level: number, children: Inline[] }
 *   | { type: 'code', language: string, text: string, isClosed: boolean } | { type: 'quote', children: Block[] } | { type: 'rule' }
 *   | { type: 'list', start: number | undefined, items: Block[][] }
 *   | { type: 'table', head: Inline[][], rows: Inline[][][], align: Align[] } | { type: 'formula', text: string }} Block
 *
 * @typedef {'left' | 'center' | 'right' | undefined} Align
 */

/** Longer texts are shown verbatim. */
const MAX_CHARS = 400_000
/** Nesting limit of lists and quotes. Deeper ones are paragraphs. */
const MAX_DEPTH = 8
const MAX_COLUMNS = 50
const MAX_FORMULA_LINES = 60

const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^`\n]*)$/
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]|$)/
const QUOTE = /^ {0,3}> ?/
const FORMULA = /^ {0,3}(\$\$|\\\[)/
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])( {1,4}|$)/

/**
 * @param {string} text
 * @param {number} [depth]
 * @returns {Block[]}
 */
export function parse(text, depth = 0) {
  if (text.length > MAX_CHARS) return [{ type: 'code', language: '', text, isClosed: true }]
  return blocks(text.replace(/\r\n?/g, '\n').split('\n'), depth)
}

/**
 * @param {string[]} lines
 * @param {number} depth
 * @returns {Block[]}
 */
function blocks(lines, depth) {
  /** @type {Block[]} */
  const result = []
  for (let at = 0; at < lines.length;) {
    const line = /** @type {string} */ (lines[at])
    if (line.trim() === '') at += 1
    else {
      const match = fence(lines, at) ?? formula(lines, at) ?? heading(line, at) ?? rule(line, at) ?? nested(lines, at, depth) ?? table(lines, at)
      const { block, end } = match ?? paragraph(lines, at)
      result.push(block)
      at = end
    }
  }
  return result
}

/**
 * @typedef {{ block: Block, end: number } | undefined} BlockMatch
 *
 * @param {string[]} lines
 * @param {number} at
 * @returns {BlockMatch}
 */
function fence(lines, at) {
  const [, mark, language = ''] = FENCE.exec(lines[at] ?? '') ?? []
  if (!mark) return undefined
  const indent = (lines[at] ?? '').search(/\S/)
  let end = at + 1
  const isEnd = (/** @type {string} */ line) => {
    const trimmed = line.trim()
    return trimmed.length >= mark.length && line.search(/\S/) < 4 && [...trimmed].every((c) => c === mark[0])
  }
  while (end < lines.length && !isEnd(lines[end] ?? '')) end += 1
  const content = lines.slice(at + 1, end).map((line) => (line.slice(0, indent).trim() === '' ? line.slice(indent) : line))
  const [name = ''] = language.trim().split(/\s/, 1)
  // The block of a streaming answer may still be growing.
  return { block: { type: 'code', language: name, text: content.join('\n'), isClosed: end < lines.length }, end: end + 1 }
}

/**
 * Parses a formula between `$$` and `$$`, or between `\[` and `\]`, up to the next blank line.
 * @param {string[]} lines
 * @param {number} at
 * @returns {BlockMatch}
 */
function formula(lines, at) {
  const [opening, mark] = FORMULA.exec(lines[at] ?? '') ?? []
  if (opening === undefined) return undefined
  const closing = mark === '$$' ? '$$' : '\\]'
  const found = []
  for (let end = at; end < lines.length && end < at + MAX_FORMULA_LINES; end++) {
    const line = end === at ? (lines[at] ?? '').slice(opening.length) : (lines[end] ?? '')
    if (line.trim() === '' && end > at) return undefined
    const isLast = line.trimEnd().endsWith(closing)
    found.push(isLast ? line.trimEnd().slice(0, -closing.length) : line)
    const text = found.join('\n').trim()
    if (isLast) return text === '' ? undefined : { block: { type: 'formula', text }, end: end + 1 }
  }
  return undefined
}

/**
 * @param {string} line
 * @param {number} at
 * @returns {BlockMatch}
 */
function heading(line, at) {
  const [, marks] = HEADING.exec(line) ?? []
  if (!marks) return undefined
  let text = line.trim().slice(marks.length).trim()
  let end = text.length
  while (text[end - 1] === '#') end -= 1
  if (end === 0 || text[end - 1] === ' ') text = text.slice(0, end).trim()
  return { block: { type: 'heading', level: marks.length, children: inline(text) }, end: at + 1 }
}

/**
 * @param {string} line
 * @param {number} at
 * @returns {BlockMatch}
 */
function rule(line, at) {
  const marks = line.replace(/[ \t]/g, '')
  const isRule = marks.length >= 3 && '-*_'.includes(marks[0] ?? '') && [...marks].every((c) => c === marks[0])
  return isRule && line.search(/\S/) < 4 ? { block: { type: 'rule' }, end: at + 1 } : undefined
}

/**
 * Parses a quote or a list.
 * @param {string[]} lines
 * @param {number} at
 * @param {number} depth
 * @returns {BlockMatch}
 */
function nested(lines, at, depth) {
  const line = lines[at] ?? ''
  if (depth >= MAX_DEPTH) return undefined
  if (QUOTE.test(line)) {
    let end = at
    while (QUOTE.test(lines[end] ?? '')) end += 1
    const inner = lines.slice(at, end).map((line) => line.replace(QUOTE, ''))
    return { block: { type: 'quote', children: blocks(inner, depth + 1) }, end }
  }
  return list(lines, at, depth)
}

/**
 * @param {string[]} lines
 * @param {number} at
 * @param {number} depth
 * @returns {BlockMatch}
 */
function list(lines, at, depth) {
  const [, , first] = ITEM.exec(lines[at] ?? '') ?? []
  if (!first) return undefined
  const kind = first.at(-1)
  /** @type {Block[][]} */
  const items = []
  let end = at
  for (;;) {
    const line = lines[end] ?? ''
    const [prefix = '', indent = '', mark] = ITEM.exec(line) ?? []
    if (mark?.at(-1) !== kind || rule(line, end)) break
    const itemStart = end++
    // Models indent by two, regardless of the marker's width.
    const least = indent.length + 2
    const isInner = (/** @type {string} */ line) => line.search(/\S/) >= least
    const continues = (/** @type {number} */ at) => {
      const line = lines[at]
      if (line === undefined) return false
      if (line.trim() !== '') return isInner(line) || (lines[at - 1]?.trim() !== '' && isText(lines, at))
      return isInner(lines[at + 1] ?? '')
    }
    while (continues(end)) end += 1
    const width = Math.min(prefix.length, least + 2)
    const rest = lines.slice(itemStart + 1, end).map((line) => line.slice(Math.min(line.search(/\S|$/), width)))
    items.push(blocks([line.slice(prefix.length), ...rest], depth + 1))
    // Skip a blank line between two items.
    if (lines[end]?.trim() === '' && ITEM.exec(lines[end + 1] ?? '')?.[2]?.at(-1) === kind) end += 1
  }
  const start = kind === '.' || kind === ')' ? Number.parseInt(first, 10) : undefined
  return items.length ? { block: { type: 'list', start, items }, end } : undefined
}

/**
 * Returns true if a line starts no other block and so continues the paragraph before it.
 * @param {string[]} lines
 * @param {number} at
 */
function isText(lines, at) {
  const line = lines[at] ?? ''
  return line.trim() !== '' && ![FENCE, HEADING, QUOTE, ITEM, FORMULA].some((pattern) => pattern.test(line)) && !rule(line, at)
}

/**
 * @param {string[]} lines
 * @param {number} at
 * @returns {BlockMatch}
 */
function table(lines, at) {
  if (!lines[at]?.includes('|') || !lines[at + 1]?.includes('-')) return undefined
  const head = cells(lines[at] ?? '')
  const under = cells(lines[at + 1] ?? '')
  if (head.length !== under.length || !under.every((cell) => /^:?-+:?$/.test(cell))) return undefined
  let end = at + 2
  while (lines[end]?.includes('|')) end += 1
  const rows = lines.slice(at + 2, end).map((line) => {
    const row = cells(line)
    return head.map((_, column) => inline(row[column] ?? ''))
  })
  const align = under.map((cell) => alignment(cell))
  return { block: { type: 'table', head: head.map((cell) => inline(cell)), rows, align }, end }
}

/**
 * @param {string} cell of the line below the head
 * @returns {Align}
 */
function alignment(cell) {
  if (cell.endsWith(':')) return cell.startsWith(':') ? 'center' : 'right'
  return cell.startsWith(':') ? 'left' : undefined
}

/** @param {string} line */
function cells(line) {
  const all = line
    .trim()
    .replaceAll('\\|', '\0')
    .split('|')
    .map((cell) => cell.trim().replaceAll('\0', '|'))
  if (all[0] === '') all.shift()
  if (all.at(-1) === '') all.pop()
  return all.slice(0, MAX_COLUMNS)
}

/**
 * @param {string[]} lines
 * @param {number} at
 * @returns {{ block: Block, end: number }}
 */
function paragraph(lines, at) {
  let end = at + 1
  while (end < lines.length && isText(lines, end) && !table(lines, end)) end += 1
  const text = lines
    .slice(at, end)
    .map((line) => line.trimStart())
    .join('\n')
  return { block: { type: 'paragraph', children: inline(text.trimEnd()) }, end }
}
