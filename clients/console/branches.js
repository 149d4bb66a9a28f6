/**
 * Branches of a conversation: reruns of a turn, and forks into new sessions.
 *
 * @module
 */

import { el, labelledField, openDialog } from './dom.js'
import { pageUrl } from './format.js'
import { icon } from './icons.js'
import { displayTitle } from './title.js'
import { TurnView } from './turn-view.js'

/** Turns of the original session that a fork shows. */
const MAX_INHERITED = 20

/**
 * Asks for the changes of a rerun, and starts it.
 * @param {import('../javascript/src/index.js').Session} session
 * @param {string} turnId
 * @param {string} text instruction of the turn
 * @param {Iterable<string>} models names to choose from
 * @param {(turn: import('../javascript/src/index.js').Turn, instruction: string) => void} follow
 */
export function openRerun(session, turnId, text, models, follow) {
  const fields = [
    labelledField('Instruction', el('textarea', { name: 'text', rows: 4, required: true }, text)),
    labelledField('Model (optional)', el('input', { name: 'model', list: 'models', autocomplete: 'off', placeholder: 'as before' })),
    el('datalist', { id: 'models' }, [...new Set(models)].map((model) => el('option', { value: model }))),
    labelledField('Mode (optional)', el('input', { name: 'mode', autocomplete: 'off', placeholder: 'as before' })),
  ]
  openDialog({ title: 'Rerun this turn', fields, submit: 'Rerun' }, ({ text: instruction = '', model, mode }) => {
    const changed = instruction === text ? {} : { text: instruction }
    follow(session.rerun(turnId, { ...changed, model: model || undefined, mode: mode || undefined }), instruction)
  })
}

/**
 * Forks a session after a turn and opens the fork.
 * @param {import('../javascript/src/index.js').Session} session
 * @param {string} turnId
 * @param {string} name of the session
 */
export async function forkTurn(session, turnId, name) {
  const fork = await session.fork(turnId, { name: `${displayTitle(name)} (fork)` })
  location.hash = pageUrl('chat', fork.id)
}

/** @param {{ SessionId: string, TurnId: string }} origin */
export const forkNotice = ({ SessionId }) =>
  el('div', { class: 'notice branch' }, icon('fork'), el('span', {}, 'Forked from ', el('a', { href: pageUrl('chat', SessionId) }, 'another session'), '. The turns above the line are from there.'))

/**
 * Returns the turns that a fork continues from, for reading, and a line below them. Empty if the caller can't read them.
 * @param {import('./turn-view.js').TurnContext} context
 * @param {import('../javascript/src/index.js').Session} original
 * @param {string} lastTurnId
 */
export async function inheritedTurns(context, original, lastTurnId) {
  /** @type {import('../javascript/src/wire.js').SessionTurn[]} */
  const found = []
  try {
    for await (const turn of original.turns({ order: 'desc' })) {
      if (found.length > 0 || turn.Id === lastTurnId) found.unshift(turn)
      if (found.length === MAX_INHERITED) break
    }
  } catch {
    return []
  }
  const views = found.map((turn) => {
    const view = new TurnView({ ...context, session: original, isReadOnly: true }, { id: turn.Id, instruction: turn.InstructionSummary })
    view.showFinished(turn)
    return view.node
  })
  return found.length > 0 ? [...views, el('p', { class: 'fork-line' }, icon('fork'), 'Forked here')] : []
}
