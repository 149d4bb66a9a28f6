/**
 * What stands within a paragraph of Markdown, as values: emphasis, code, links. Markup of the text is text, and a link leads
 * to http, https or mailto, or is none.
 *
 * @module
 */

/**
 * @typedef {{ type: 'text' | 'code', text: string }} Words
 * @typedef {{ type: 'strong' | 'emphasis' | 'strike', children: Inline[] }} Marked
 * @typedef {{ type: 'link', href: string, children: Inline[] }} Link
 * @typedef {Words | Marked | Link | { type: 'break' }} Inline
 */

/** Deeper than this, marks are text. */
const MOST_DEPTH = 8
/** A link's text and address are no longer, in characters. */
const MOST_LINK = 2_000
const MARKS = /** @type {const} */ ([
  ['**', 'strong'],
  ['__', 'strong'],
  ['~~', 'strike'],
  ['*', 'emphasis'],
  ['_', 'emphasis'],
])
const SCHEMES = ['http:', 'https:', 'mailto:']
const SPECIAL = /[\\`*_~[!<\nhH]/g
const PUNCTUATION = /[!-/:-@[-`{-~]/
const BARE = /https?:\/\/[^\s<>"`|]{1,2000}/iy
const WORD = /[\p{L}\p{N}]/u

/**
 * Where a link may lead, spelled as a browser does; nothing where it may not.
 * @param {string} text
 */
export function address(text) {
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
 * @param {boolean} [isLink] whether this is a link's text: links don't hold links
 * @returns {Inline[]}
 */
export function inline(text, depth = 0, isLink = false) {
  /** @type {Inline[]} */
  const found = []
  /** Marks and runs of backticks that nothing closes any more. */
  const open = new Set()
  let plain = ''
  let at = 0
  const add = (/** @type {Inline} */ item, /** @type {number} */ end) => {
    if (plain) found.push({ type: 'text', text: plain })
    plain = ''
    found.push(item)
    at = end
  }
  while (at < text.length) {
    SPECIAL.lastIndex = at
    const next = SPECIAL.exec(text)?.index ?? text.length
    plain += text.slice(at, next)
    at = next
    if (at === text.length) break
    const c = text[at]
    if (c === '\\' && PUNCTUATION.test(text[at + 1] ?? '')) {
      plain += text[at + 1]
      at += 2
    } else if (c === '\n') {
      const isBreak = plain.endsWith('  ') || plain.endsWith('\\')
      plain = plain.endsWith('\\') ? plain.slice(0, -1) : plain.trimEnd()
      if (isBreak) add({ type: 'break' }, at + 1)
      else {
        plain += '\n'
        at += 1
      }
    } else {
      const item = code(text, at, open) ?? link(text, at, depth, isLink) ?? marked(text, at, depth, isLink, open)
      if (item) add(item.item, item.end)
      else {
        // A run of the same character opens nothing half way.
        const run = '`*_~'.includes(/** @type {string} */ (c)) ? runOf(text, at) : 1
        plain += text.slice(at, at + run)
        at += run
      }
    }
  }
  if (plain) found.push({ type: 'text', text: plain })
  return found
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
 * @typedef {{ item: Inline, end: number } | undefined} Found
 *
 * @param {string} text
 * @param {number} at
 * @param {Set<string>} open
 * @returns {Found}
 */
function code(text, at, open) {
  if (text[at] !== '`') return undefined
  const run = runOf(text, at)
  const fence = '`'.repeat(run)
  if (open.has(fence)) return undefined
  for (let end = text.indexOf(fence, at + run); end >= 0;) {
    const length = runOf(text, end)
    if (length === run) {
      const held = text.slice(at + run, end).replaceAll('\n', ' ')
      const isPadded = held.startsWith(' ') && held.endsWith(' ') && held.trim() !== ''
      return { item: { type: 'code', text: isPadded ? held.slice(1, -1) : held }, end: end + run }
    }
    end = text.indexOf(fence, end + length)
  }
  open.add(fence)
  return undefined
}

/**
 * `[text](address)`, an image, which is a link to it and is never loaded, `<address>`, or an address by itself.
 * @param {string} text
 * @param {number} at
 * @param {number} depth
 * @param {boolean} isLink
 * @returns {Found}
 */
function link(text, at, depth, isLink) {
  const c = text[at]
  if (c === '<' || c === 'h' || c === 'H') return isLink ? undefined : bare(text, at)
  const from = c === '!' ? at + 1 : at
  if (text[from] !== '[') return undefined
  const middle = text.slice(from, from + MOST_LINK).indexOf('](')
  if (middle < 0) return undefined
  const begin = from + middle + 2
  const end = closing(text, begin)
  if (end < 0) return undefined
  const label = text.slice(from + 1, begin - 2)
  // Of several brackets the last one opens the link.
  if (c === '[' && label.includes('[') && !label.includes(']') && !label.includes('![')) return undefined
  const [, target = ''] = /^\s*<?([^\s>]*)/.exec(text.slice(begin, end)) ?? []
  const href = address(target)
  const children =
    depth < MOST_DEPTH ? inline(label, depth + 1, true) : [{ type: /** @type {const} */ ('text'), text: label }]
  if (href && !isLink)
    return {
      item: { type: 'link', href, children: children.length ? children : [{ type: 'text', text: href }] },
      end: end + 1,
    }
  return { item: { type: 'text', text: label || target }, end: end + 1 }
}

/**
 * Where the parenthesis ends that an address stands in.
 * @param {string} text
 * @param {number} from
 */
function closing(text, from) {
  let depth = 1
  for (let at = from; at < Math.min(text.length, from + MOST_LINK); at++) {
    if (text[at] === '\n') return -1
    if (text[at] === '(') depth += 1
    if (text[at] === ')' && --depth === 0) return at
  }
  return -1
}

/**
 * @param {string} text
 * @param {number} at
 * @returns {Found}
 */
function bare(text, at) {
  const isBracketed = text[at] === '<'
  if (!isBracketed && WORD.test(text[at - 1] ?? '')) return undefined
  if (isBracketed) {
    const end = text.slice(at, at + MOST_LINK).indexOf('>')
    const inner = end < 0 ? '' : text.slice(at + 1, at + end)
    const href = /^(https?:\/\/|mailto:)\S+$/i.test(inner) ? address(inner) : undefined
    return href ? { item: { type: 'link', href, children: [{ type: 'text', text: inner }] }, end: at + end + 1 } : undefined
  }
  BARE.lastIndex = at
  let found = BARE.exec(text)?.[0] ?? ''
  while (/[.,;:!?'*_~]$/.test(found) || (found.endsWith(')') && !found.includes('('))) found = found.slice(0, -1)
  const href = found && address(found)
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
 * @returns {Found}
 */
function marked(text, at, depth, isLink, open) {
  if (depth >= MOST_DEPTH) return undefined
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
