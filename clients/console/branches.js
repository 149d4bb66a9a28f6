/**
 * Branches of a conversation: reruns of a turn, and forks into new sessions.
 *
 * @module
 */

import { newId } from '../javascript/src/id.js'
import { turnNames } from './branch-tree.js'
import { el, labelledField, openDialog } from './dom.js'
import { pageUrl } from './format.js'
import { setHandoff } from './handoff.js'
import { icon } from './icons.js'
import { displayTitle } from './title.js'
import { TurnView } from './turn-view.js'

/** Turns of the original session that a fork shows. */
const MAX_INHERITED = 20

/** Variants of a rerun that are compared, at most. */
const MAX_VARIANTS = 4

/**
 * A change of a turn that runs again. What is absent stays as before.
 * @typedef {{ text?: string, model?: string, mode?: string }} Variant
 */

/**
 * Asks for the changes of a rerun, or of several that are compared.
 * @param {{ text: string, dropped: import('./branch-tree.js').BranchTurn[], models: Iterable<string> }} turn its instruction, the turns that the model no longer sees
 *   afterwards, and the names of models to choose from
 * @param {(variants: Variant[]) => void} start
 */
export function openRerun({ text, dropped, models }, start) {
  const effect = `Once it is complete, the conversation continues from the rerun. The model then no longer sees ${turnNames(dropped)}. ${dropped.length === 1 ? 'It stays' : 'They stay'} in the record.`
  const list = el('div', { class: 'variants' })
  /** @type {(() => Variant)[]} */
  const variants = []
  const add = () => {
    const instruction = el('textarea', { name: 'text', rows: 3, required: true }, text)
    const model = el('input', { name: 'model', list: 'models', autocomplete: 'off', placeholder: 'as before' })
    const mode = el('input', { name: 'mode', autocomplete: 'off', placeholder: 'as before' })
    variants.push(() => ({
      ...(instruction.value === text ? {} : { text: instruction.value }),
      ...(model.value.trim() && { model: model.value.trim() }),
      ...(mode.value.trim() && { mode: mode.value.trim() }),
    }))
    const legend = el('legend', { class: variants.length === 1 ? 'visually-hidden' : '' }, `Variant ${variants.length}`)
    list.append(el('fieldset', {}, legend, labelledField('Instruction', instruction), el('div', { class: 'fields' }, labelledField('Model (optional)', model), labelledField('Mode (optional)', mode))))
    list.querySelectorAll('legend').forEach((label) => label.classList.toggle('visually-hidden', variants.length === 1))
    more.hidden = variants.length === MAX_VARIANTS
    if (variants.length === 1) return
    model.focus()
    const submit = dialog?.querySelector('button.primary')
    if (submit) submit.textContent = `Run ${variants.length} and compare`
  }
  const more = el('button', { type: 'button', class: 'ghost', onclick: add }, icon('plus'), 'Compare with another model or instruction')
  /** @type {HTMLDialogElement | undefined} */
  let dialog
  add()
  const fields = [
    dropped.length > 0 && el('p', { class: 'effect' }, effect),
    list,
    el('datalist', { id: 'models' }, [...new Set(models)].map((model) => el('option', { value: model }))),
    el('div', {}, more),
  ]
  dialog = openDialog({ title: 'Rerun this turn', fields: fields.filter((field) => field !== false), submit: 'Rerun' }, () => start(variants.map((variant) => variant())))
}

/**
 * Opens the comparison page, which runs the variants of a turn.
 * @param {import('../javascript/src/index.js').Session} session
 * @param {string} turnId
 * @param {Variant[]} variants
 */
export function compareReruns(session, turnId, variants) {
  const reruns = variants.map((variant) => ({ id: newId(), rerunOf: turnId, variant }))
  setHandoff('reruns', reruns)
  location.hash = pageUrl('compare', session.id, turnId, ...reruns.map(({ id }) => id))
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
