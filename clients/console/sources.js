/**
 * Sources of an answer: the chunks that retrieval gave to the turn.
 *
 * @module
 */

import { escapeInvisible } from '../javascript/src/patch.js'
import { el } from './dom.js'

/** @typedef {{ ChunkId: string, Path: string, StartLine: number, EndLine: number, ContentHash: string, Score?: number }} ChunkRef */

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
  const items = chunks.map(({ Path, StartLine, EndLine, Score }) => {
    const lines = StartLine === EndLine ? `line ${StartLine}` : `lines ${StartLine} to ${EndLine}`
    const score = Score === undefined ? '' : `, score ${Score.toFixed(3)}`
    return el('li', {}, el('code', {}, escapeInvisible(Path)), el('span', { class: 'muted' }, ` ${lines}${score}`))
  })
  return el('details', { class: 'sources' }, el('summary', {}, `Sources (${chunks.length})`), el('ol', {}, items))
}
