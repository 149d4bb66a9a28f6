/**
 * Excerpts of the sessions that a search finds.
 *
 * @module
 */

import { el } from './dom.js'

/**
 * Shows a match with the search words highlighted.
 * @param {import('../javascript/src/wire.js').SessionMatch['Matches'][number]} match
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
