/**
 * Parses Markdown into a few kinds of values. markdown-it reads the text into tokens, which hold no markup; formulas, footnotes and the
 * rule for URLs are ours. HTML but `<br>` is text, and only http, https and mailto URLs become links.
 *
 * @module
 */

/**
 * @typedef {{ type: 'text' | 'code' | 'formula', text: string }} TextNode
 * @typedef {{ type: 'strong' | 'emphasis' | 'strike', children: Inline[] }} StyledNode
 * @typedef {{ type: 'link', href: string, children: Inline[] }} LinkNode
 * @typedef {{ type: 'image', mime: string, base64: string, text: string }} ImageNode an image in the text itself
 * @typedef {{ type: 'reference', label: string }} ReferenceNode a reference to a footnote
 * @typedef {TextNode | StyledNode | LinkNode | ImageNode | ReferenceNode | { type: 'break' }} Inline
 *
 * @typedef {{ type: 'paragraph', children: Inline[] } | { type: 'heading', level: number, children: Inline[] }
 *   | { type: 'code', language: string, text: string, isClosed: boolean } | { type: 'quote', children: Block[] } | { type: 'rule' }
 *   | { type: 'list', start: number | undefined, items: Block[][] }
 *   | { type: 'table', head: Inline[][], rows: Inline[][][], align: Align[] } | { type: 'formula', text: string }
 *   | { type: 'footnote', label: string, children: Inline[] }} Block
 *
 * @typedef {'left' | 'center' | 'right' | undefined} Align
 *
 * @typedef {object} Token a token of markdown-it, as far as it is read here
 * @property {string} type
 * @property {string} tag
 * @property {number} nesting 1 if it opens, -1 if it closes
 * @property {number} level 0 of a block of the whole text
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
/** An image that is a part of the text. Others would be loaded from elsewhere. */
const IMAGE_DATA = /^data:(image\/(?:png|jpeg|gif|webp));base64,([A-Za-z0-9+/]+={0,2})$/
/** `[^label]`. A link's text may look the same. */
const REFERENCE = /\[\^([^\]\s^]{1,40})\](?!\()/y
const FOOTNOTE = /^\[\^([^\]\s^]{1,40})\]:[ \t]*/
/** A line break in a cell, which has no other way to get one. */
const BREAK = /<br\s{0,4}\/?>/iy
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
library.block.ruler.before('formula', 'footnote', blockFootnote, isParagraphEnd)
library.block.ruler.before('footnote', 'too_deep', tooDeep)
library.inline.ruler.before('escape', 'formula', inlineFormula)
library.inline.ruler.before('escape', 'reference', inlineReference)
library.inline.ruler.before('escape', 'break', inlineBreak)

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

/** Parser of a text that grows at its end. It parses the last blocks again, since what follows can change them. */
export class GrowingText {
  /** Beginning of the text, whose blocks stay as they are. */
  #settled = ''

  /**
   * Parses a longer text, or another one.
   * @param {string} text
   * @returns {{ isOther: boolean, settled: Block[], open: Block[] }} blocks after those that were settled before. `isOther`: nothing
   *   stays, because the text isn't a longer one.
   */
  update(text) {
    const isOther = !text.startsWith(this.#settled) || text.length > MAX_CHARS
    if (isOther) this.#settled = ''
    const rest = text.slice(this.#settled.length)
    // The library counts lines in a text without carriage returns.
    if (text.length > MAX_CHARS || rest.includes('\r')) return { isOther, settled: [], open: parse(rest) }
    /** @type {Token[]} */
    const tokens = library.parse(rest, {})
    const lines = rest.split('\n')
    const start = lastBlock(tokens, lines)
    const at = tokens.findIndex(({ level, map }) => level === 0 && map?.[0] === start)
    if (start === 0 || at < 0) return { isOther, settled: [], open: blocks({ tokens, at: 0, lines }) }
    this.#settled += lines.slice(0, start).join('\n') + '\n'
    return { isOther, settled: blocks({ tokens: tokens.slice(0, at), at: 0, lines }), open: blocks({ tokens, at, lines }) }
  }
}

/**
 * Returns the first line of the last block that follows a blank line and whose first line is complete. No later text changes the blocks
 * before it: a formula, a quote and a paragraph end at a blank line, and a list and a code block would contain what follows. A line that
 * is still written could become an item of the list.
 * @param {Token[]} tokens
 * @param {string[]} lines
 */
function lastBlock(tokens, lines) {
  const starts = tokens.filter(({ level, nesting, map }) => level === 0 && nesting >= 0 && map).map(({ map }) => map[0])
  return starts.findLast((start) => start > 0 && start < lines.length - 1 && lines[start - 1]?.trim() === '') ?? 0
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
      case 'footnote_open':
        result.push({ type: 'footnote', label: token.info, children: content(source) })
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
    else if (token.type === 'reference') add({ type: 'reference', label: token.content })
    else if (token.type === 'image') add(image(token, isLink))
    else add({ type: 'text', text: token.content })
  }
  return result
}

/**
 * An image from elsewhere is shown as a link and never loaded. One in the text itself is shown.
 * @param {Token} token
 * @param {boolean} isLink true within a link, where it is text
 * @returns {Inline}
 */
function image(token, isLink) {
  const [, mime, base64] = IMAGE_DATA.exec(token.attrGet('src') ?? '') ?? []
  if (mime && base64) return { type: 'image', mime, base64, text: token.content }
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
 * Reads `[^label]`. The footnote may follow later.
 * @param {any} state
 * @param {boolean} isSilent
 */
function inlineReference(state, isSilent) {
  const { src, pos, posMax } = state
  if (src[pos] !== '[' || src[pos + 1] !== '^') return false
  REFERENCE.lastIndex = pos
  const [all = '', label = ''] = REFERENCE.exec(src) ?? []
  if (label === '' || pos + all.length > posMax) return false
  if (!isSilent) state.push('reference', '', 0).content = label
  state.pos += all.length
  return true
}

/**
 * Reads `<br>`, the only tag that is no text.
 * @param {any} state
 * @param {boolean} isSilent
 */
function inlineBreak(state, isSilent) {
  BREAK.lastIndex = state.pos
  const [all = ''] = (state.src[state.pos] === '<' && BREAK.exec(state.src)) || []
  if (all === '' || state.pos + all.length > state.posMax) return false
  if (!isSilent) state.push('hardbreak', 'br', 0)
  state.pos += all.length
  return true
}

/**
 * Reads `[^label]: text`, up to a blank line or the next footnote.
 * @param {any} state
 * @param {number} start
 * @param {number} end
 * @param {boolean} isSilent
 */
function blockFootnote(state, start, end, isSilent) {
  const line = (/** @type {number} */ at) => state.src.slice(state.bMarks[at] + state.tShift[at], state.eMarks[at])
  const [mark, label] = FOOTNOTE.exec(line(start)) ?? []
  if (mark === undefined || label === undefined) return false
  if (isSilent) return true
  let next = start + 1
  while (next < end && !state.isEmpty(next) && state.sCount[next] >= state.blkIndent && !FOOTNOTE.test(line(next))) next++
  const open = state.push('footnote_open', 'p', 1)
  Object.assign(open, { info: label, map: [start, next] })
  const text = state.push('inline', '', 0)
  Object.assign(text, { content: state.getLines(start, next, state.blkIndent, false).trim().slice(mark.length), map: [start, next], children: [] })
  state.push('footnote_close', 'p', -1)
  state.line = next
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
  const last = line(start).slice(2).endsWith(closing) ? start : closingLine(state, start, end, closing, line)
  if (last === undefined || last >= start + MAX_FORMULA_LINES) return false
  const found = Array.from({ length: last - start + 1 }, (_, index) => line(start + index))
  const tex = found.join('\n').slice(2, -2).trim()
  if (tex === '') return false
  if (isSilent) return true
  Object.assign(state.push('formula', '', 0), { content: tex, map: [start, last + 1] })
  state.line = last + 1
  return true
}

/**
 * Finds the line that ends with the mark, before a blank line. What was read for an earlier start isn't read again, so that many marks
 * without an end take linear time.
 * @param {any} state
 * @param {number} start
 * @param {number} end
 * @param {string} closing
 * @param {(at: number) => string} line
 * @returns {number | undefined}
 */
function closingLine(state, start, end, closing, line) {
  // Lines after `from` and before `to` don't end with the mark. `isOver`: none follows in this paragraph.
  const key = `${closing} ${state.level} ${state.blkIndent} ${end}`
  const known = ((state.env.formulas ??= {})[key] ??= { from: -1, to: -1, isOver: false })
  if (start < known.from || start >= known.to) Object.assign(known, { from: start, to: start + 1, isOver: false })
  for (const limit = Math.min(end, start + MAX_FORMULA_LINES); !known.isOver && known.to < limit; known.to++) {
    const text = line(known.to)
    if (text === '' || state.sCount[known.to] < state.blkIndent) known.isOver = true
    else if (text.endsWith(closing)) return known.to
  }
  return undefined
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
