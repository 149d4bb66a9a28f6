/**
 * Footer of a turn: actions on the answer, its time, tokens and cost.
 *
 * @module
 */

import { announce, button, el, iconButton } from './dom.js'
import { feedbackButtons } from './feedback.js'
import { formatCost, formatTokens, pageUrl, timestamp } from './format.js'
import { icon } from './icons.js'

/**
 * @param {import('./turn-view.js').TurnContext} context
 * @param {import('../javascript/src/wire.js').SessionTurn} turn
 * @param {{ instruction: () => string, answer: () => string, edit: () => void }} texts
 */
export function turnFooter(context, turn, { instruction, answer, edit }) {
  const { connection, session, isReadOnly } = context
  const isOver = turn.Status.Id !== 'pending'
  const isCompleted = turn.Status.Id === 'completed'
  const copy = async () => {
    await navigator.clipboard.writeText(answer()).then(
      () => announce('Copied.'),
      () => announce("Can't access the clipboard."),
    )
  }
  const details = [turn.Mode, turn.OpenAIModel, formatTokens(turn.Usage), formatCost(turn.Cost)].filter(Boolean).join(' · ')
  const feedback = isCompleted && !isReadOnly ? feedbackButtons(connection, session.id, turn.Id) : undefined
  const rerunOf = /** @type {string | undefined} */ (turn.RerunOfTurnId)
  const nodes = [
    isOver && iconButton('copy', 'Copy answer', copy),
    feedback?.node,
    isOver && !isReadOnly && iconButton('edit', 'Edit message', edit),
    isOver && !isReadOnly && button([icon('rerun'), 'Rerun'], () => context.rerun(turn.Id, instruction()), { class: 'ghost' }),
    isCompleted && !isReadOnly && button([icon('fork'), 'Fork'], () => context.fork(turn.Id), { class: 'ghost', title: 'Continue from here in a new session' }),
    el('a', { href: pageUrl('trace', session.id, turn.Id) }, icon('trace'), 'Trace'),
    rerunOf && el('a', { href: pageUrl('compare', session.id, rerunOf, turn.Id) }, 'Compare with the original'),
    el('span', { class: 'details' }, !isReadOnly && `Turn ${turn.SequenceNumber} · `, timestamp(turn.CreationDate), details && ` · ${details}`),
  ]
  return { nodes, loadFeedback: async () => feedback?.load() }
}
