/**
 * The trace page: a turn's timeline, rounds, raw model requests and responses, tokens and cost.
 *
 * @module
 */

import { copyButton, curl } from './curl.js'
import { button, el, errorMessage, fill, announce } from './dom.js'
import { pageUrl, formatCost, formatNumber, formatTokens, duration, timestamp } from './format.js'
import { instructionNodes } from './instruction.js'
import { notFound } from './not-found.js'
import { sourceList } from './sources.js'
import { stepView } from './step-view.js'
import { logView } from './turn-log.js'
import { bars, elapsed, timeline } from './timeline.js'

/**
 * @typedef {import('../javascript/src/wire.js').SessionTurn & {
 *   OpenAIModel?: string, OpenAIResponseId?: string, PreviousOpenAIResponseId?: string, OpenAIRequestPayloadUrl?: string,
 *   OpenAIResponsePayloadUrl?: string, OpenAIResponseReceivedDate?: string, ToolRounds?: number, ServerToolMs?: number,
 *   RerunOfTurnId?: string, StatusReason?: string, ErrorCode?: string,
 * }} TracedTurn
 */

/** @typedef {import('../javascript/src/wire.js').TurnStep} Step */

const NO_PAYLOADS =
  'No raw requests and responses. Operators see them in a local cloud, and elsewhere for turns whose conversation context sets StoreRawPayloads.'

/**
 * @param {import('./connection.js').Connection} connection
 * @param {string[]} parts
 * @returns {import('./main.js').View}
 */
export function trace(connection, [sessionId = '', turnId = '']) {
  const session = connection.aptix.session(sessionId)
  const node = el('div', {}, el('h1', {}, 'Trace'), el('p', { class: 'muted' }, 'Loading…'))

  async function load() {
    const turn = /** @type {TracedTurn} */ (await session.turn(turnId))
    const turns = session.turns({ order: 'desc' })
    const before = turn.SequenceNumber > 1 ? await findPreviousTurn(turns, turn.SequenceNumber) : undefined
    const body = { SessionId: sessionId, TurnId: crypto.randomUUID(), Instruction: turn.InstructionSummary }
    const command = curl(connection.api, 'POST', 'api/ai/agent/execute', body)
    const other = turn.RerunOfTurnId ?? before?.Id
    const links = el(
      'div',
      { class: 'row' },
      el('a', { href: pageUrl('chat', sessionId) }, 'Conversation'),
      before && el('a', { href: pageUrl('trace', sessionId, before.Id) }, 'Previous turn'),
      other && el('a', { href: pageUrl('compare', sessionId, other, turn.Id) }, turn.RerunOfTurnId ? 'Compare with the original' : 'Compare with the previous turn'),
      el('span', { class: 'spacer' }),
      copyButton('Copy as curl', () => command),
      button('Refresh', () => load()),
    )
    const steps = await collect(session.steps(turn.Id))
    const allBars = bars(turn, steps)
    const lastStepBefore = before && (await collect(session.steps(before.Id))).at(-1)
    fill(
      node,
      el('h1', {}, `Turn ${turn.SequenceNumber}`, el('span', { class: `tag ${turn.Status.Id}` }, turn.Status.Text)),
      links,
      el('div', { class: 'instruction plain' }, instructionNodes(turn.InstructionSummary)),
      [
        ...turn.Errors.map((error) => errorMessage({ message: error })),
        ...turn.Warnings.map((warning) => el('p', { class: 'warnings' }, warning)),
      ],
      propertyList(turn, allBars),
      timeline(turn, steps, allBars, select),
      sourceList(turn),
      steps.map((step, index) => stepView(connection.aptix, step, steps[index - 1] ?? lastStepBefore, costShare(turn, step))),
      connection.config.IsLocal && logView(turn.Id),
      !steps.some(({ OpenAIRequestPayloadUrl }) => OpenAIRequestPayloadUrl) && el('p', { class: 'muted' }, NO_PAYLOADS),
    )
    announce('Trace loaded.')
  }

  /** @param {number} round */
  function select(round) {
    const step = node.querySelector(`.step[aria-label='Round ${round}']`)
    step?.scrollIntoView({ block: 'start' })
    step?.querySelector('summary')?.focus({ preventScroll: true })
  }

  load().catch((error) => {
    if (error.status !== 404) return fill(node, el('h1', {}, 'Trace'), errorMessage(error))
    fill(node, el('h1', {}, 'Turn not found'), notFound(sessionId, turnId))
  })
  return { title: 'Trace', node }
}

/**
 * Returns the turn before the one with this number.
 * @param {AsyncGenerator<import('../javascript/src/wire.js').SessionTurn, void, void>} turns newest first
 * @param {number} number
 * @returns {Promise<TracedTurn | undefined>}
 */
async function findPreviousTurn(turns, number) {
  for await (const turn of turns) if (turn.SequenceNumber === number - 1) return turn
  return undefined
}

/**
 * Returns the part of a turn's cost that its tokens make of the step, since prices are not part of the turn.
 * @param {TracedTurn} turn
 * @param {Step} step
 */
function costShare({ Cost, Usage }, step) {
  if (!Cost || !Usage?.TotalTokens || !step.Usage) return ''
  const amount = (Number(Cost.Amount) * step.Usage.TotalTokens) / Usage.TotalTokens
  return `about ${Number(amount.toPrecision(2))} ${Cost.Currency}`
}

/** @param {AsyncGenerator<Step, void, void>} steps */
export async function collect(steps) {
  /** @type {Step[]} */
  const items = []
  for await (const step of steps) items.push(step)
  return items
}

/**
 * @param {TracedTurn} turn
 * @param {import('./timeline.js').Bar[]} allBars
 */
function propertyList(turn, allBars) {
  // Parallel calls count once, so that the parts are not longer than the turn.
  const time = (/** @type {import('./timeline.js').Kind} */ kind) => {
    const count = allBars.filter((bar) => bar.kind === kind).length
    return count === 0 ? '' : duration(elapsed(allBars, kind))
  }
  const properties = [
    ['Started', timestamp(turn.CreationDate)],
    ['User', turn.CreatedByUser.Text],
    ['Duration', duration(Date.parse(turn.StatusTimeStamp) - Date.parse(turn.CreationDate))],
    ['Reason', turn.StatusReason],
    ['Error', turn.ErrorCode],
    ['Mode', turn.Mode],
    ['Model', turn.OpenAIModel],
    ['Tokens', formatTokens(turn.Usage)],
    ['Estimated', turn.EstimatedTokens && `${formatNumber(turn.EstimatedTokens)} tokens, because the provider didn't report them`],
    ['Cost', formatCost(turn.Cost)],
    ['Tool rounds', turn.ToolRounds],
    ['Retrieval', time('retrieval')],
    ['Model time', time('model')],
    ['Server tools', time('server') || duration(turn.ServerToolMs)],
    ['Client tools', time('client') || duration(turn.ClientToolMs)],
    ['Provider response', turn.OpenAIResponseId],
    ['Continues response', turn.PreviousOpenAIResponseId],
    ['Rerun of', turn.RerunOfTurnId],
    ['Turn id', turn.Id],
  ]
  const present = properties.filter(([, value]) => value !== undefined && value !== '')
  return el(
    'dl',
    { class: 'properties' },
    present.map(([name, value]) => el('div', {}, el('dt', {}, /** @type {string} */ (name)), el('dd', {}, value))),
  )
}
