/**
 * Parses the inline syntax of Markdown: emphasis, code and links. HTML is text, and only http, https and mailto URLs become
 * links.
 *
 * @module
 */

/**
 * @typedef {{ type: 'text' | 'code' | 'formula', text: string }} TextNode
 * @typedef {{ type: 'strong' | 'emphasis' | 'strike', children: Inline[] }} StyledNode
 * @typedef {{ type: 'link', href: string, children: Inline[] }} LinkNode
 * @typedef {TextNode | StyledNode | LinkNode | { type: 'break' }} Inline
 */

/** Nesting limit. Deeper marks are text. */
const MAX_DEPTH = 8
/** Length limit of a link's text and URL. */
const MAX_LINK_CHARS = 2_000
const MARKS = /** @type {const} */ ([
  ['**', 'strong'],
  ['__', 'strong'],
  ['~~', 'strike'],
  ['*', 'emphasis'],
  ['_', 'emphasis'],
])
/** Code units of a line break and of parentheses. */
const [NEWLINE, OPENING, CLOSING] = [0x0a, 0x28, 0x29]
const SCHEMES = ['http:', 'https:', 'mailto:']
const SPECIAL = /[\\`*_~[!<\n$hH]/g
const PUNCTUATION = /[!-/:-@[-`{-~]/
const URL_PATTERN = /https?:\/\/[^\s<>"`|]{1,2000}/iy
const WORD = /[\p{L}\p{N}]/u
/** `$x$`, closed on the same line: no space inside the dollars, and no digit behind them, so that prices are text. */
const DOLLARS = /\$(?![\s$])((?:[^$\\\n]|\\.){1,500}?)(?<!\s)\$(?!\d)/y
const PARENTHESES = /\\\(([^\n]{1,500}?)\\\)/y

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
 * @param {number} [depth]
 * @param {boolean} [isLink] true for a link's text, since links can't be nested
 * @returns {Inline[]}
 */
export function inline(text, depth = 0, isLink = false) {
  /** @type {Inline[]} */
  const found = []
  /** Marks and runs of backticks without a closing counterpart in the rest of the text. */
  const open = new Set()
  /** Pieces of the current text. They are joined once, since the text can have many lines. */
  let plain = /** @type {string[]} */ ([])
  let at = 0
  const flush = () => {
    const joined = plain.join('')
    if (joined) found.push({ type: 'text', text: joined })
    plain = []
  }
  const add = (/** @type {Inline} */ item, /** @type {number} */ end) => {
    flush()
    found.push(item)
    at = end
  }
  while (at < text.length) {
    SPECIAL.lastIndex = at
    const next = SPECIAL.exec(text)?.index ?? text.length
    if (next > at) plain.push(text.slice(at, next))
    at = next
    if (at === text.length) break
    const c = text[at]
    const maths = formula(text, at)
    if (maths) add(maths.item, maths.end)
    else if (c === '\\' && PUNCTUATION.test(text[at + 1] ?? '')) {
      plain.push(text[at + 1] ?? '')
      at += 2
    } else if (c === '\n') {
      const last = plain.at(-1) ?? ''
      const isBreak = last.endsWith('  ') || last.endsWith('\\')
      if (last.endsWith('\\')) plain.push((plain.pop() ?? '').slice(0, -1))
      else trimEnd(plain)
      if (isBreak) add({ type: 'break' }, at + 1)
      else {
        plain.push('\n')
        at += 1
      }
    } else {
      const item = code(text, at, open) ?? link(text, at, depth, isLink) ?? styled(text, at, depth, isLink, open)
      if (item) add(item.item, item.end)
      else {
        // A run of the same character can't open anything in its middle.
        const run = '`*_~'.includes(/** @type {string} */ (c)) ? runOf(text, at) : 1
        plain.push(text.slice(at, at + run))
        at += run
      }
    }
  }
  flush()
  return found
}

/**
 * Removes white space at the end of joined pieces.
 * @param {string[]} pieces
 */
function trimEnd(pieces) {
  for (let last; (last = pieces.pop()) !== undefined; ) {
    const trimmed = last.trimEnd()
    if (trimmed === '') continue
    pieces.push(trimmed)
    return
  }
}

/**
 * @param {string} text
 * @param {number} at
 */
function runOf(text, at) {
  let end = at + 1
  while (text[end] === text[at]) end += 1
  return end - at
}

/**
 * @typedef {{ item: Inline, end: number } | undefined} InlineMatch
 *
 * @param {string} text
 * @param {number} at
 * @param {Set<string>} open
 * @returns {InlineMatch}
 */
function code(text, at, open) {
  if (text[at] !== '`') return undefined
  const run = runOf(text, at)
  const fence = '`'.repeat(run)
  if (open.has(fence)) return undefined
  for (let end = text.indexOf(fence, at + run); end >= 0;) {
    const length = runOf(text, end)
    if (length === run) {
      const content = text.slice(at + run, end).replaceAll('\n', ' ')
      const isPadded = content.startsWith(' ') && content.endsWith(' ') && content.trim() !== ''
      return { item: { type: 'code', text: isPadded ? content.slice(1, -1) : content }, end: end + run }
    }
    end = text.indexOf(fence, end + length)
  }
  open.add(fence)
  return undefined
}

/**
 * Parses `$x$` or `\(x\)`.
 * @param {string} text
 * @param {number} at
 * @returns {InlineMatch}
 */
function formula(text, at) {
  const pattern = text[at] === '$' ? DOLLARS : text.startsWith('\\(', at) ? PARENTHESES : undefined
  if (!pattern || (pattern === DOLLARS && WORD.test(text[at - 1] ?? ''))) return undefined
  pattern.lastIndex = at
  const [all = '', tex = ''] = pattern.exec(text) ?? []
  return tex.trim() === '' ? undefined : { item: { type: 'formula', text: tex.trim() }, end: at + all.length }
}

/**
 * Parses `[text](url)`, an image (shown as a link and never loaded), `<url>` or a bare URL.
 * @param {string} text
 * @param {number} at
 * @param {number} depth
 * @param {boolean} isLink
 * @returns {InlineMatch}
 */
function link(text, at, depth, isLink) {
  const c = text[at]
  if (c === '<' || c === 'h' || c === 'H') return isLink ? undefined : autolink(text, at)
  const from = c === '!' ? at + 1 : at
  if (text[from] !== '[') return undefined
  const middle = text.slice(from, from + MAX_LINK_CHARS).indexOf('](')
  if (middle < 0) return undefined
  const begin = from + middle + 2
  const end = closingParen(text, begin)
  if (end < 0) return undefined
  const label = text.slice(from + 1, begin - 2)
  // The last of several opening brackets starts the link.
  if (c === '[' && label.includes('[') && !label.includes(']') && !label.includes('![')) return undefined
  const [, target = ''] = /^\s*<?([^\s>]*)/.exec(text.slice(begin, end)) ?? []
  const href = safeUrl(target)
  const children =
    depth < MAX_DEPTH ? inline(label, depth + 1, true) : [{ type: /** @type {const} */ ('text'), text: label }]
  if (href && !isLink)
    return {
      item: { type: 'link', href, children: children.length ? children : [{ type: 'text', text: href }] },
      end: end + 1,
    }
  return { item: { type: 'text', text: label || target }, end: end + 1 }
}

/**
 * Returns the position of the closing parenthesis of a URL, or -1.
 * @param {string} text
 * @param {number} from
 */
function closingParen(text, from) {
  let depth = 1
  for (let at = from; at < Math.min(text.length, from + MAX_LINK_CHARS); at++) {
    const code = text.charCodeAt(at)
    if (code === NEWLINE) return -1
    if (code === OPENING) depth += 1
    if (code === CLOSING && --depth === 0) return at
  }
  return -1
}

/**
 * @param {string} text
 * @param {number} at
 * @returns {InlineMatch}
 */
function autolink(text, at) {
  const isBracketed = text[at] === '<'
  if (!isBracketed && WORD.test(text[at - 1] ?? '')) return undefined
  if (isBracketed) {
    const end = text.slice(at, at + MAX_LINK_CHARS).indexOf('>')
    const inner = end < 0 ? '' : text.slice(at + 1, at + end)
    const href = /^(https?:\/\/|mailto:)\S+$/i.test(inner) ? safeUrl(inner) : undefined
    return href ? { item: { type: 'link', href, children: [{ type: 'text', text: inner }] }, end: at + end + 1 } : undefined
  }
  URL_PATTERN.lastIndex = at
  let found = URL_PATTERN.exec(text)?.[0] ?? ''
  while (/[.,;:!?'*_~]$/.test(found) || (found.endsWith(')') && !found.includes('('))) found = found.slice(0, -1)
  const href = found && safeUrl(found)
  return href
    ? { item: { type: 'link', href, children: [{ type: 'text', text: found }] }, end: at + found.length }
    : undefined
}

/**
 * @param {string} text
 * @param {number} at
 * @param {number} depth
 * @param {boolean} isLink
 * @param {Set<string>} open
 * @returns {InlineMatch}
 */
function styled(text, at, depth, isLink, open) {
  if (depth >= MAX_DEPTH) return undefined
  const [mark, type] = MARKS.find(([mark]) => text.startsWith(mark, at)) ?? []
  if (!mark || !type || open.has(mark)) return undefined
  const begin = at + mark.length
  if (!text[begin] || /\s/.test(/** @type {string} */ (text[begin]))) return undefined
  const isWithinWord = WORD.test(text[at - 1] ?? '')
  if (mark.startsWith('_') && isWithinWord) return undefined
  for (let end = text.indexOf(mark, begin + 1); end >= 0; end = text.indexOf(mark, end + 1)) {
    const isLonger = mark.length === 1 && (text[end + 1] === mark || text[end - 1] === mark)
    const isAfterSpace = /\s|\\/.test(text[end - 1] ?? '')
    const isInWord = mark.startsWith('_') && WORD.test(text[end + mark.length] ?? '')
    if (isLonger) end += text[end + 1] === mark ? 1 : 0
    else if (!isAfterSpace && !isInWord) {
      return { item: { type, children: inline(text.slice(begin, end), depth + 1, isLink) }, end: end + mark.length }
    }
  }
  open.add(mark)
  return undefined
}
