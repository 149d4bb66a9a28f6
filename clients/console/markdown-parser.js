/**
 * Parses Markdown into a few kinds of values. markdown-it reads the text into tokens, which hold no markup; formulas and the rule for
 * URLs are ours. HTML is text, and only http, https and mailto URLs become links.
 *
 * @module
 */

/**
 * @typedef {{ type: 'text' | 'code' | 'formula', text: string }} TextNode
 * @typedef {{ type: 'strong' | 'emphasis' | 'strike', children: Inline[] }} StyledNode
 * @typedef {{ type: 'link', href: string, children: Inline[] }} LinkNode
 * @typedef {TextNode | StyledNode | LinkNode | { type: 'break' }} Inline
 *
 * @typedef {{ type: 'paragraph', children: Inline[] } | { type: 'heading', level: number, children: Inline[] }
 *   | { type: 'code', language: string, text: string, isClosed: boolean } | { type: 'quote', children: Block[] } | { type: 'rule' }
 *   | { type: 'list', start: number | undefined, items: Block[][] }
 *   | { type: 'table', head: Inline[][], rows: Inline[][][], align: Align[] } | { type: 'formula', text: string }} Block
 *
 * @typedef {'left' | 'center' | 'right' | undefined} Align
 *
 * @typedef {object} Token a token of markdown-it, as far as it is read here
 * @property {string} type
 * @property {string} tag
 * @property {number} nesting 1 if it opens, -1 if it closes
 * @property {string} content
 * @property {string} info
 * @property {string} markup
 * @property {[number, number]} map lines of a block
 * @property {Token[]} children
 * @property {(name: string) => string | null} attrGet
 */

/** Longer texts are shown verbatim. */
const MAX_CHARS = 400_000
/** Nesting limit of quotes and lists, in tokens: a quote is one, a list and its item are two. Deeper ones are text. */
const MAX_BLOCK_LEVEL = 16
/** Nesting limit of styles. Deeper ones are plain, since elements are created recursively. */
const MAX_INLINE_DEPTH = 8
const MAX_FORMULA_LINES = 60
const SCHEMES = ['http:', 'https:', 'mailto:']
const WORD = /[\p{L}\p{N}]/u
/** `$x$`, closed on the same line: no space inside the dollars, and no digit behind them, so that prices are text. */
const DOLLARS = /\$(?![\s$])((?:[^$\\\n]|\\.){1,500}?)(?<!\s)\$(?!\d)/y
const PARENTHESES = /\\\(([^\n]{1,500}?)\\\)/y

await import(new URL('./vendor/markdown-it.min.js', import.meta.url).href)
const library = /** @type {any} */ (globalThis).markdownit({ html: false, linkify: true })
// Off, so that a streaming answer doesn't jump and shows all its text: a list's first dash would underline a heading, a definition
// of a link would disappear, and models indent paragraphs freely.
library.disable(['lheading', 'reference', 'code'])
library.linkify.set({ fuzzyLink: false, fuzzyEmail: false })
// `safeUrl` decides which links there are. The text of a bare URL stays as written: the library would decode it, and a host could
// look like another.
library.validateLink = () => true
library.normalizeLink = library.normalizeLinkText = (/** @type {string} */ url) => url
const isParagraphEnd = { alt: ['paragraph', 'blockquote', 'list'] }
library.block.ruler.before('fence', 'formula', blockFormula, isParagraphEnd)
library.block.ruler.before('formula', 'too_deep', tooDeep)
library.inline.ruler.before('escape', 'formula', inlineFormula)

/**
 * Returns the normalized URL if a link may point to it, or undefined.
 * @param {string} text
 */
export function safeUrl(text) {
  try {
    const url = new URL(text.trim())
    return SCHEMES.includes(url.protocol) ? url.href : undefined
  } catch {
    return undefined
  }
}

/**
 * @param {string} text
 * @returns {Block[]}
 */
export function parse(text) {
  if (text.length > MAX_CHARS) return [{ type: 'code', language: '', text, isClosed: true }]
  const lines = text.split(/\r\n?|\n/)
  return blocks({ tokens: library.parse(text, {}), at: 0, lines })
}

/**
 * Reads blocks up to the end of the enclosing one, and skips that end.
 * @param {{ tokens: Token[], at: number, lines: string[] }} source
 * @returns {Block[]}
 */
function blocks(source) {
  /** @type {Block[]} */
  const result = []
  for (let token; (token = source.tokens[source.at++]) && token.nesting >= 0;) {
    switch (token.type) {
      case 'paragraph_open':
        result.push({ type: 'paragraph', children: content(source) })
        break
      case 'heading_open':
        result.push({ type: 'heading', level: Number(token.tag.slice(1)), children: content(source) })
        break
      case 'hr':
        result.push({ type: 'rule' })
        break
      case 'formula':
        result.push({ type: 'formula', text: token.content })
        break
      case 'fence':
        result.push(fence(token, source.lines))
        break
      case 'blockquote_open':
        result.push({ type: 'quote', children: blocks(source) })
        break
      case 'bullet_list_open':
      case 'ordered_list_open': {
        const start = token.type === 'ordered_list_open' ? Number(token.attrGet('start') ?? 1) : undefined
        const items = []
        while (source.tokens[source.at++]?.type === 'list_item_open') items.push(blocks(source))
        result.push({ type: 'list', start, items })
        break
      }
      case 'table_open':
        result.push(table(source))
        break
    }
  }
  return result
}

/**
 * Reads the text of a paragraph, a heading or a cell, and skips its end.
 * @param {{ tokens: Token[], at: number }} source
 */
function content(source) {
  const token = source.tokens[source.at]
  source.at += 2
  return inline(token?.children ?? [])
}

/**
 * @param {Token} token
 * @param {string[]} lines of the whole text
 * @returns {Block}
 */
function fence({ map: [start, end], markup, info, content }, lines) {
  // The block of a streaming answer may still be growing. Its last line may follow the marks of quotes.
  const last = end - start > 1 ? (lines[end - 1] ?? '').replace(/^[\s>]*/, '').trimEnd() : ''
  const isClosed = last.length >= markup.length && last === markup.slice(0, 1).repeat(last.length)
  return { type: 'code', language: info.trim().split(/\s/, 1)[0] ?? '', text: content.replace(/\n$/, ''), isClosed }
}

/**
 * @param {{ tokens: Token[], at: number }} source
 * @returns {Block}
 */
function table(source) {
  /** @type {Inline[][][]} */
  const rows = []
  /** @type {Align[]} */
  const align = []
  for (let token; (token = source.tokens[source.at++]) && token.type !== 'table_close';) {
    if (token.type === 'tr_open') rows.push([])
    if (token.type !== 'th_open' && token.type !== 'td_open') continue
    if (token.type === 'th_open') align.push(/** @type {Align} */ (/left|center|right/.exec(token.attrGet('style') ?? '')?.[0]))
    rows.at(-1)?.push(content(source))
  }
  const [head = [], ...body] = rows
  return { type: 'table', head, rows: body, align }
}

const STYLES = /** @type {const} */ ({ strong_open: 'strong', em_open: 'emphasis', s_open: 'strike' })

/**
 * @param {Token[]} tokens
 * @returns {Inline[]}
 */
function inline(tokens) {
  /** @type {Inline[]} */
  const result = []
  /** Children of the open styles and links, innermost last. A style that is too deep has the children of the one around it. */
  const open = [result]
  let isLink = false
  const add = (/** @type {Inline} */ item) => {
    const siblings = open.at(-1) ?? result
    const last = siblings.at(-1)
    if (item.type === 'text' && last?.type === 'text') last.text += item.text
    else if (item.type !== 'text' || item.text !== '') siblings.push(item)
  }
  for (const token of tokens) {
    if (token.type.startsWith('link_')) isLink = token.nesting > 0
    if (token.nesting < 0) open.pop()
    else if (token.nesting > 0) {
      /** @type {Inline[]} */
      const children = []
      const href = token.type === 'link_open' ? safeUrl(token.attrGet('href') ?? '') : undefined
      const style = STYLES[/** @type {keyof typeof STYLES} */ (token.type)]
      const item = href ? { type: /** @type {const} */ ('link'), href, children } : style && { type: style, children }
      if (item && open.length <= MAX_INLINE_DEPTH) add(item)
      open.push(item && open.length <= MAX_INLINE_DEPTH ? children : (open.at(-1) ?? result))
    } else if (token.type === 'softbreak') add({ type: 'text', text: '\n' })
    else if (token.type === 'hardbreak') add({ type: 'break' })
    else if (token.type === 'code_inline') add({ type: 'code', text: token.content })
    else if (token.type === 'formula') add({ type: 'formula', text: token.content })
    else if (token.type === 'image') add(image(token, isLink))
    else add({ type: 'text', text: token.content })
  }
  return result
}

/**
 * An image is shown as a link and never loaded.
 * @param {Token} token
 * @param {boolean} isLink true within a link, where it is text
 * @returns {Inline}
 */
function image(token, isLink) {
  const href = safeUrl(token.attrGet('src') ?? '')
  const text = token.content || href || ''
  return href && !isLink ? { type: 'link', href, children: [{ type: 'text', text }] } : { type: 'text', text }
}

/**
 * Reads `$x$` or `\(x\)`.
 * @param {any} state
 * @param {boolean} isSilent
 */
function inlineFormula(state, isSilent) {
  const { src, pos, posMax } = state
  const pattern = src[pos] === '$' ? DOLLARS : src.startsWith('\\(', pos) ? PARENTHESES : undefined
  if (!pattern || (pattern === DOLLARS && WORD.test(src[pos - 1] ?? ''))) return false
  pattern.lastIndex = pos
  const [all = '', tex = ''] = pattern.exec(src) ?? []
  if (tex.trim() === '' || pos + all.length > posMax) return false
  if (!isSilent) state.push('formula', '', 0).content = tex.trim()
  state.pos += all.length
  return true
}

/**
 * Reads a formula between `$$` and `$$`, or between `\[` and `\]`, up to the next blank line.
 * @param {any} state
 * @param {number} start
 * @param {number} end
 * @param {boolean} isSilent
 */
function blockFormula(state, start, end, isSilent) {
  const line = (/** @type {number} */ at) => state.src.slice(state.bMarks[at] + state.tShift[at], state.eMarks[at]).trimEnd()
  const opening = line(start).slice(0, 2)
  if (opening !== '$$' && opening !== '\\[') return false
  const closing = opening === '$$' ? '$$' : '\\]'
  const found = []
  for (let at = start; at < Math.min(end, start + MAX_FORMULA_LINES); at++) {
    const text = at === start ? line(at).slice(2) : line(at)
    if (at > start && (text === '' || state.sCount[at] < state.blkIndent)) return false
    const isLast = text.endsWith(closing)
    found.push(isLast ? text.slice(0, -2) : text)
    const tex = found.join('\n').trim()
    if (!isLast) continue
    if (tex === '') return false
    if (isSilent) return true
    state.push('formula', '', 0).content = tex
    state.line = at + 1
    return true
  }
  return false
}

/**
 * Takes everything that is nested too deep as one paragraph. The library would leave it out.
 * @param {any} state
 * @param {number} start
 * @param {number} end
 * @param {boolean} isSilent
 */
function tooDeep(state, start, end, isSilent) {
  if (isSilent || state.level < MAX_BLOCK_LEVEL) return false
  state.push('paragraph_open', 'p', 1)
  const text = state.push('inline', '', 0)
  text.content = state.getLines(start, end, state.blkIndent, false).trim()
  text.children = []
  state.push('paragraph_close', 'p', -1)
  state.line = end
  return true
}
