/**
 * The instruction of a turn, with a script for the mock model folded below the text.
 *
 * @module
 */

import { el } from './dom.js'
import { splitInstruction } from './title.js'

/** @param {string} instruction */
export function instructionNodes(instruction) {
  const { text, script } = splitInstruction(instruction)
  if (script === undefined) return [el('p', { dir: 'auto' }, text || '(files only)')]
  const folded = el('details', { class: 'script' }, el('summary', {}, 'Script for the mock model'), el('code', {}, script))
  return [folded, text !== '' && el('p', { dir: 'auto' }, text)]
}
