/**
 * What happened in a turn: when, in which rounds, what the model was asked and answered, and what it cost.
 *
 * @module
 */

import { copying, curl } from './curl.js'
import { button, el, failure, fill, tell } from './dom.js'
import { at, money, tokens, took, when } from './format.js'
import { stepView } from './step-view.js'
import { timeline } from './timeline.js'

/**
 * @typedef {import('../javascript/src/wire.js').SessionTurn & {
 *   OpenAIModel?: string, OpenAIResponseId?: string, PreviousOpenAIResponseId?: string, OpenAIRequestPayloadUrl?: string,
 *   OpenAIResponsePayloadUrl?: string, OpenAIResponseReceivedDate?: string, ToolRounds?: number, ServerToolMs?: number,
 *   RerunOfTurnId?: string, StatusReason?: string, ErrorCode?: string,
 * }} TracedTurn
 */

/** @typedef {import('../javascript/src/wire.js').TurnStep} Step */

const UNSEEN =
  'What the model was asked is shown to operators, of turns whose conversation context has StoreRawPayloads: set it, and it is shown of turns from then on.'

/**
 * @param {import('./connection.js').Connection} connection
 * @param {string[]} parts
 * @returns {import('./main.js').View}
 */
export function trace(connection, [sessionId = '', turnId = '']) {
  const session = connection.aptix.session(sessionId)
  const node = el('div', {}, el('h1', {}, 'Trace'), el('p', { class: 'soft' }, 'Reading the turn.'))

  async function load() {
    const turn = /** @type {TracedTurn} */ (await session.turn(turnId))
    const turns = session.turns({ order: 'desc' })
    const before = turn.SequenceNumber > 1 ? await previous(turns, turn.SequenceNumber) : undefined
    const asked = { SessionId: sessionId, TurnId: crypto.randomUUID(), Instruction: turn.InstructionSummary }
    const line = curl(connection.api, 'POST', 'api/ai/agent/execute', asked)
    const links = el(
      'div',
      { class: 'row' },
      el('a', { href: at('chat', sessionId) }, 'Conversation'),
      before && el('a', { href: at('trace', sessionId, before.Id) }, 'Turn before'),
      el('span', { class: 'grow' }),
      copying('Copy the turn as curl', () => line),
      button('Read again', () => load()),
    )
    const steps = await all(session.steps(turn.Id))
    const earlier = before && (await all(session.steps(before.Id))).at(-1)
    fill(
      node,
      el('h1', {}, `Turn ${turn.SequenceNumber}`, el('span', { class: `tag ${turn.Status.Id}` }, turn.Status.Text)),
      links,
      el('p', { class: 'asked' }, turn.InstructionSummary),
      [
        ...turn.Errors.map((error) => failure({ message: error })),
        ...turn.Warnings.map((warning) => el('p', { class: 'warnings' }, warning)),
      ],
      facts(turn),
      timeline(turn, steps),
      steps.map((step, index) => stepView(connection.aptix, step, steps[index - 1] ?? earlier)),
      !steps.some(({ OpenAIRequestPayloadUrl }) => OpenAIRequestPayloadUrl) && el('p', { class: 'soft' }, UNSEEN),
    )
    tell('The trace is shown.')
  }

  load().catch((error) => fill(node, el('h1', {}, 'Trace'), failure(error)))
  return { title: 'Trace', node }
}

/**
 * The turn before another one.
 * @param {AsyncGenerator<import('../javascript/src/wire.js').SessionTurn, void, void>} turns newest first
 * @param {number} number
 * @returns {Promise<TracedTurn | undefined>}
 */
async function previous(turns, number) {
  for await (const turn of turns) if (turn.SequenceNumber === number - 1) return turn
  return undefined
}

/** @param {AsyncGenerator<Step, void, void>} steps */
async function all(steps) {
  /** @type {Step[]} */
  const read = []
  for await (const step of steps) read.push(step)
  return read
}

/** @param {TracedTurn} turn */
function facts(turn) {
  const all = [
    ['Asked', when(turn.CreationDate)],
    ['By', turn.CreatedByUser.Text],
    ['Took', took(Date.parse(turn.StatusTimeStamp) - Date.parse(turn.CreationDate))],
    ['Why', turn.StatusReason],
    ['Error', turn.ErrorCode],
    ['Mode', turn.Mode],
    ['Model', turn.OpenAIModel],
    ['Tokens', tokens(turn.Usage)],
    ['Cost', money(turn.Cost)],
    ['Tool rounds', turn.ToolRounds],
    ['Server tools', took(turn.ServerToolMs)],
    ['Client tools', took(turn.ClientToolMs)],
    ['Response', turn.OpenAIResponseId],
    ['Continued from', turn.PreviousOpenAIResponseId],
    ['Runs again', turn.RerunOfTurnId],
    ['Turn', turn.Id],
  ]
  const known = all.filter(([, value]) => value !== undefined && value !== '')
  return el(
    'dl',
    { class: 'facts' },
    known.map(([name, value]) => el('div', {}, el('dt', {}, /** @type {string} */ (name)), el('dd', {}, value))),
  )
}
