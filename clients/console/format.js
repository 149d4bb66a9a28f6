/**
 * Formats dates, numbers and sizes in the reader's locale.
 *
 * @module
 */

import { el } from './dom.js'

const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const numbers = new Intl.NumberFormat()
const amounts = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 4 })
const shortNumbers = new Intl.NumberFormat(undefined, { notation: 'compact', maximumSignificantDigits: 3 })

/** @param {string | undefined} instant */
export function timestamp(instant) {
  if (!instant) return ''
  return el('time', { datetime: instant }, dates.format(new Date(instant)))
}

/** @param {number} count */
export const formatNumber = (count) => numbers.format(count)

/**
 * Formats a sum of money. Small ones keep their digits.
 * @param {number} amount
 */
export const formatAmount = (amount) => amounts.format(amount)

/**
 * Describes the turns that a sum of money lacks, because their models have no price.
 * @param {number} count
 */
export const turnsWithoutPrice = (count) => (count === 1 ? '1 turn that has no price' : `${formatNumber(count)} turns that have no price`)

/**
 * Formats a number in a few characters, such as 1.2M.
 * @param {number} count
 */
export const formatShort = (count) => shortNumbers.format(count)

/** @param {number | undefined} ms */
export function duration(ms) {
  if (ms === undefined || !Number.isFinite(ms)) return ''
  const minutes = Math.floor(ms / 60_000)
  if (minutes >= 24 * 60) return `${Math.floor(minutes / (24 * 60))} d ${Math.floor(minutes / 60) % 24} h`
  if (minutes >= 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
  if (minutes > 0) return `${minutes} min ${Math.floor(ms / 1000) % 60} s`
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`
}

/** @param {number} bytes */
export function formatBytes(bytes) {
  if (bytes < 1024) return `${bytes} B`
  return bytes < 1 << 20 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / (1 << 20)).toFixed(1)} MiB`
}

/** @param {import('../javascript/src/wire.js').Usage | undefined} usage */
export function formatTokens(usage) {
  if (!usage) return ''
  const { PromptTokens, CompletionTokens, CachedTokens, ReasoningTokens } = usage
  const more = [CachedTokens && `${formatNumber(CachedTokens)} cached`, ReasoningTokens && `${formatNumber(ReasoningTokens)} reasoning`]
  const details = more.filter(Boolean).join(', ')
  return `${formatNumber(PromptTokens)} in, ${formatNumber(CompletionTokens)} out${details && ` (${details})`}`
}

/** @param {import('../javascript/src/wire.js').Cost | undefined} cost */
export const formatCost = (cost) => (cost ? `${cost.Amount} ${cost.Currency}` : '')

/** @param {import('../javascript/src/wire.js').Ratings} ratings */
export const formatRatings = ({ Count, Mean }) => `Rated ${formatNumber(Mean)} of 5 (${formatNumber(Count)})`

/**
 * Formats JSON with indentation. Returns any other text unchanged.
 * @param {string} text
 */
export function prettyJson(text) {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}

/**
 * Returns the URL of a page of the console.
 * @param {'chat' | 'trace' | 'compare'} page
 * @param {string[]} parts
 */
export const pageUrl = (page, ...parts) => `#/${[page, ...parts.map(encodeURIComponent)].join('/')}`
