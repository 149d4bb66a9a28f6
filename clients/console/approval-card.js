/**
 * Card of a call that waits for a person: what would be sent, and the answer. An approval names the hash of the call that the
 * card shows, so it is for that call and no other.
 *
 * @module
 */

import { escapeInvisible } from '../javascript/src/patch.js'
import { invisibleWarning } from './diff.js'
import { announce, button, el, errorMessage, fill } from './dom.js'
import { pageUrl, prettyJson, timestamp } from './format.js'
import { icon } from './icons.js'
import { valueView } from './value-view.js'

/** Path of the approvals. */
export const APPROVALS = 'api/ai/agent/approvals'
/** Time between two looks at a turn that waits. */
const LOOK_INTERVAL_MS = 2000
/** The most characters of a reason. */
const MAX_REASON_CHARS = 4096
/** States in words, with the kinds of their tags. */
const STATES = /** @type {Record<string, [string, string]>} */ ({
  pending: ['needs approval', 'pending'],
  approved: ['approved', 'completed'],
  denied: ['denied', 'failed'],
  expired: ['expired', ''],
  closed: ['closed', ''],
})

/** @typedef {import('../javascript/src/wire.js').Approval} Approval */

/**
 * @param {import('./connection.js').Connection} connection
 * @param {Approval} approval
 * @param {{ level?: 'h2' | 'h3', isInTurn?: boolean, onAnswered?: () => void }} [options] `isInTurn`: the card stands in its turn, and links to no session
 */
export function approvalCard(connection, approval, { level = 'h2', isInTurn = false, onAnswered = () => {} } = {}) {
  const { ApprovalId, Tool } = approval
  const name = escapeInvisible(Tool)
  const tag = el('span', { class: 'tag' })
  const argsView = el('div', {})
  const facts = el('p', { class: 'muted' })
  const state = el('p', { class: 'muted', role: 'status' })
  const problem = el('div', {})
  const reason = el('input', { id: `reason-${ApprovalId}`, maxlength: MAX_REASON_CHARS, autocomplete: 'off' })
  const reasonField = el('div', {}, el('label', { for: reason.id, class: 'muted' }, 'Reason for the model, if you deny'), reason)
  /** @type {HTMLTextAreaElement | undefined} */
  let edited

  const approve = button('Approve', () => answer('approve', { Hash: shown.Hash, ...(edited && edited.value !== prettyJson(shown.ArgumentsJson) ? { ArgumentsJson: edited.value } : {}) }), {
    class: 'primary',
    'aria-label': `Approve the call of ${name}`,
  })
  const edit = button('Edit', () => editArgs(), { title: 'Change the arguments' })
  const deny = button('Deny', () => answer('deny', { Hash: shown.Hash, ...(reason.value.trim() ? { Reason: reason.value.trim() } : {}) }), { 'aria-label': `Deny the call of ${name}` })
  const buttons = el('div', { class: 'row' }, approve, edit, deny)
  const warning = invisibleWarning(`${Tool}\n${approval.ArgumentsJson}`)
  const head = el('div', { class: 'tool-head' }, icon('tool'), el(level, {}, el('code', {}, name)), el('span', { class: 'spacer' }), tag)
  const node = el('div', { class: 'card tool', role: 'group', 'aria-label': `Approval: ${name}` }, head, el('div', { class: 'tool-body' }, facts, argsView, warning, reasonField, problem, state, buttons))

  /** What the person sees. @type {Approval} */
  let shown = approval

  /** @param {Approval} next */
  function show(next) {
    shown = next
    edited = undefined
    const [text, kind] = STATES[next.Status] ?? [next.Status, '']
    tag.textContent = text
    tag.className = `tag ${kind}`
    fill(argsView, valueView('Arguments', next.ArgumentsJson), next.EditedArgumentsJson !== undefined && valueView('Arguments as approved', next.EditedArgumentsJson))
    const { SessionId, TurnId, ConnectionId, ConnectionVersion, AskedByUserId, ExpiresDate } = next
    const turn = !isInTurn && el('a', { href: pageUrl('trace', SessionId, TurnId) }, 'Its turn')
    fill(facts, `Asked by ${AskedByUserId}. Connection ${ConnectionId}, version ${ConnectionVersion}. Expires `, timestamp(ExpiresDate), '. ', turn)
    fill(state, stateText(next))
    buttons.hidden = reasonField.hidden = !next.MayAnswer
    edit.hidden = !next.MayEdit
  }

  function editArgs() {
    if (edited) return show(shown)
    edited = el('textarea', { rows: 6, spellcheck: 'false', 'aria-label': 'Arguments' }, prettyJson(shown.ArgumentsJson))
    const field = edited
    field.addEventListener('input', () => {
      approve.disabled = !isJson(field.value)
      fill(state, approve.disabled ? 'The arguments are no valid JSON.' : stateText(shown))
    })
    fill(argsView, field)
    queueMicrotask(() => field.focus())
  }

  /**
   * @param {'approve' | 'deny'} what
   * @param {Record<string, unknown>} body
   */
  async function answer(what, body) {
    fill(problem)
    try {
      show(await connection.send('POST', `${APPROVALS}/${encodeURIComponent(ApprovalId)}/${what}`, JSON.stringify(body)))
      announce(`The call of ${name} is ${shown.Status}.`)
      onAnswered()
    } catch (error) {
      fill(problem, errorMessage(error))
      // Somebody else was faster, or it expired.
      await connection.read(`${APPROVALS}/${encodeURIComponent(ApprovalId)}`).then((next) => !next.MayAnswer && show(next), () => {})
    }
  }

  show(approval)
  return { node, show }
}

/**
 * Shows the calls of a turn that wait for a person, until it waits for none.
 * @param {{ connection: import('./connection.js').Connection, session: import('../javascript/src/index.js').Session }} context
 * @param {string} turnId
 * @param {HTMLElement} container
 */
export async function showApprovals({ connection, session }, turnId, container) {
  /** Cards by approval. @type {Map<string, ReturnType<typeof approvalCard>>} */
  const cards = new Map()
  const read = (/** @type {string} */ id) => connection.read(`${APPROVALS}/${encodeURIComponent(id)}`)
  for (;;) {
    const turn = await session.turn(turnId)
    for (const { ApprovalId } of turn.Waiting?.Approvals ?? []) {
      if (cards.has(ApprovalId)) continue
      const card = approvalCard(connection, await read(ApprovalId), { isInTurn: true })
      cards.set(ApprovalId, card)
      container.append(card.node)
    }
    if (turn.StatusReason !== 'waiting_for_approval') break
    await new Promise((resolve) => setTimeout(resolve, LOOK_INTERVAL_MS))
  }
  // Others may have answered.
  await Promise.all([...cards].map(async ([id, card]) => card.show(await read(id))))
}

/** @param {Approval} approval */
function stateText({ Status, MayAnswer, AnsweredByUser, AnsweredDate, Reason, EditedArgumentsJson }) {
  if (Status === 'pending') return MayAnswer ? [] : ['Somebody else has to answer.']
  if (Status === 'expired') return ['Nobody answered in time, so the call isn’t sent.']
  if (Status === 'closed') return ['The turn has ended. The call isn’t sent.']
  const what = Status === 'denied' ? 'Denied' : EditedArgumentsJson === undefined ? 'Approved' : 'Approved with other arguments'
  return [`${what} by ${AnsweredByUser?.Text ?? 'somebody'} `, timestamp(AnsweredDate), `.${Reason ? ` The reason: ${Reason}` : ''}`]
}

/** @param {string} text */
function isJson(text) {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
