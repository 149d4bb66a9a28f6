/**
 * Instants, amounts and sizes in the reader's own way.
 *
 * @module
 */

import { el } from './dom.js'

const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const numbers = new Intl.NumberFormat()

/** @param {string | undefined} instant */
export function when(instant) {
  if (!instant) return ''
  return el('time', { datetime: instant }, dates.format(new Date(instant)))
}

/** @param {number} count */
export const number = (count) => numbers.format(count)

/** @param {number | undefined} ms */
export function took(ms) {
  if (ms === undefined || !Number.isFinite(ms)) return ''
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`
}

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1024) return `${bytes} B`
  return bytes < 1 << 20 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / (1 << 20)).toFixed(1)} MiB`
}

/** @param {import('../javascript/src/wire.js').Usage | undefined} usage */
export function tokens(usage) {
  if (!usage) return ''
  const { PromptTokens, CompletionTokens, CachedTokens, ReasoningTokens } = usage
  const more = [CachedTokens && `${number(CachedTokens)} cached`, ReasoningTokens && `${number(ReasoningTokens)} reasoning`]
  const told = more.filter(Boolean).join(', ')
  return `${number(PromptTokens)} in, ${number(CompletionTokens)} out${told && ` (${told})`}`
}

/** @param {import('../javascript/src/wire.js').Cost | undefined} cost */
export const money = (cost) => (cost ? `${cost.Amount} ${cost.Currency}` : '')

/**
 * A text as JSON where it is, laid out to be read.
 * @param {string} text
 */
export function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}

/**
 * Where a page of the console is.
 * @param {'chat' | 'trace'} page
 * @param {string[]} parts
 */
export const at = (page, ...parts) => `#/${[page, ...parts.map(encodeURIComponent)].join('/')}`
