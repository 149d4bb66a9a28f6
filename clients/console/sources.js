/**
 * Sources of an answer: the chunks that retrieval gave to the turn.
 *
 * @module
 */

import { escapeInvisible } from '../javascript/src/patch.js'
import { el } from './dom.js'

/** @typedef {{ ChunkId: string, Path: string, StartLine: number, EndLine: number, ContentHash: string, Score?: number, Repo?: string, Section?: string, Page?: number }} ChunkRef */

/**
 * @param {import('../javascript/src/wire.js').SessionTurn} turn
 * @returns {ChunkRef[]}
 */
export const chunkRefs = (turn) => /** @type {ChunkRef[]} */ (turn.ChunkRefs ?? [])

/**
 * Shows the sources of a turn, folded. Returns an empty text if it has none.
 * @param {import('../javascript/src/wire.js').SessionTurn} turn
 */
export function sourceList(turn) {
  const chunks = chunkRefs(turn)
  if (chunks.length === 0) return ''
  // Similarities differ by the embedding model, so the bars show them relative to the best one of this turn.
  const best = Math.max(...chunks.map(({ Score = 0 }) => Score))
  const items = chunks.map(({ Path, StartLine, EndLine, Score, Repo, Section, Page }) => {
    const lines = StartLine === EndLine ? `line ${StartLine}` : `lines ${StartLine} to ${EndLine}`
    const page = Page === undefined ? '' : `, page ${Page}`
    const score = Score === undefined ? '' : `, score ${Score.toFixed(3)}`
    const bar = el('span', {})
    bar.style.inlineSize = `${best > 0 ? Math.max(0, (100 * (Score ?? 0)) / best) : 0}%`
    return el(
      'li',
      {},
      el('code', {}, escapeInvisible(Path)),
      el('span', { class: 'muted' }, `${Repo === undefined ? '' : ` in ${escapeInvisible(Repo)}`} ${lines}${page}${score}`),
      Section !== undefined && el('div', { class: 'muted' }, escapeInvisible(Section)),
      Score !== undefined && el('span', { class: 'score', 'aria-hidden': 'true' }, bar),
    )
  })
  return el('details', { class: 'sources' }, el('summary', {}, `Sources (${chunks.length})`), el('ol', {}, items))
}
