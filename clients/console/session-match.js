/**
 * Excerpts of the sessions that a search finds.
 *
 * @module
 */

import { el } from './dom.js'

/** @typedef {import('../javascript/src/wire.js').SessionMatch['Matches'][number]} Match */

/**
 * Shows the match with the most of the searched words. The name is shown anyway.
 * @param {Match[]} matches
 */
export function bestExcerpt(matches) {
  const words = (/** @type {Match} */ { Snippet, Marks }) => new Set(Marks.map(({ Start, Length }) => Snippet.slice(Start, Start + Length).toLowerCase())).size
  const best = matches.filter(({ MatchedIn }) => MatchedIn !== 'name').reduce((best, match) => (best && words(best) >= words(match) ? best : match), /** @type {Match | undefined} */ (undefined))
  return best && matchExcerpt(best)
}

/**
 * Shows a match with the search words highlighted.
 * @param {Match} match
 */
export function matchExcerpt({ MatchedIn, SequenceNumber, Snippet, Marks }) {
  let offset = 0
  const parts = Marks.flatMap(({ Start, Length }) => {
    const before = Snippet.slice(offset, Start)
    offset = Start + Length
    return [before, el('mark', {}, Snippet.slice(Start, offset))]
  })
  const where = SequenceNumber === undefined ? MatchedIn : `${MatchedIn} of turn ${SequenceNumber}`
  return el('small', {}, `${where}: `, ...parts, Snippet.slice(offset))
}
