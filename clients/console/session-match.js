/**
 * Excerpts of the sessions that a search finds.
 *
 * @module
 */

import { el } from './dom.js'
import { pageUrl } from './format.js'

/** @typedef {import('../javascript/src/wire.js').SessionMatch['Matches'][number]} Match */

/**
 * Returns the match with the most of the searched words. The name is shown anyway.
 * @param {Match[]} matches
 */
function bestMatch(matches) {
  const words = (/** @type {Match} */ { Snippet, Marks }) => new Set(Marks.map(({ Start, Length }) => Snippet.slice(Start, Start + Length).toLowerCase())).size
  return matches.filter(({ MatchedIn }) => MatchedIn !== 'name').reduce((best, match) => (best && words(best) >= words(match) ? best : match), /** @type {Match | undefined} */ (undefined))
}

/**
 * Returns the address of a session that a search found, at the turn with the best match, and an excerpt of it.
 * @param {import('../javascript/src/wire.js').SessionMatch} found
 */
export function searchHit({ Session, Matches }) {
  const match = bestMatch(Matches)
  return { href: match?.TurnId === undefined ? pageUrl('chat', Session.Id) : pageUrl('chat', Session.Id, 'turn', match.TurnId), excerpt: match && matchExcerpt(match) }
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
