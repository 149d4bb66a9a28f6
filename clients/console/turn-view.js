/**
 * View of a turn: its instruction, the streaming answer, tool calls and outcome.
 *
 * @module
 */

import { AptixError } from '../javascript/src/index.js'
import { endTool, finishedTool, runningTool } from './activity.js'
import { answerFiles } from './answer-files.js'
import { showApprovals } from './approval-card.js'
import { attachmentList, parseRequest } from './attachments.js'
import { announce, button, el, errorMessage, fill } from './dom.js'
import { saveFirstToken } from './first-tokens.js'
import { icon } from './icons.js'
import { instructionNodes } from './instruction.js'
import { GrowingMarkdown, markdown } from './markdown.js'
import { Meter } from './meter.js'
import { whenNear } from './near.js'
import { longerPartialAnswer, savePartialAnswer } from './partial-answers.js'
import { Reasoning } from './reasoning.js'
import { sourceList } from './sources.js'
import { splitInstruction } from './title.js'
import { finishedCallCard, roundActions, toolCard } from './tool-card.js'
import { clearResults, savedResults, saveResult } from './tool-results.js'
import { turnNames } from './branch-tree.js'
import { turnFooter } from './turn-footer.js'

/** Shortest interval between two renders of a streaming answer. */
const MIN_RENDER_INTERVAL_MS = 40

/**
 * @typedef {import('../javascript/src/index.js').Turn} Turn
 * @typedef {import('../javascript/src/index.js').Answer} Answer
 * @typedef {import('../javascript/src/wire.js').SessionTurn} SessionTurn
 *
 * @typedef {object} TurnContext environment of a turn's view
 * @property {import('./connection.js').Connection} connection
 * @property {import('../javascript/src/index.js').Session} session
 * @property {Record<string, import('./page-tools.js').Tool>} tools
 * @property {import('./always.js').AlwaysAllowed} always tools that run without asking
 * @property {boolean} [isReadOnly] true for the turns of another session
 * @property {(turnId: string, text: string) => Promise<void>} rerun reruns a turn
 * @property {(turnId: string, text: string) => Promise<void>} resend runs a turn again with another message
 * @property {(turnId: string) => import('./branch-tree.js').BranchTurn[]} dropped turns that the model no longer sees after that
 * @property {(turnId: string) => Promise<void>} fork continues from a turn in a new session
 * @property {(turnId: string) => string} turnLabel name of an earlier turn
 * @property {(turn: SessionTurn) => void} [onRecord] called with the stored turn
 * @property {() => void} onUpdate called after content was added at the end
 */

export class TurnView {
  #context
  #origin = el('div', {})
  #branch = el('div', {})
  #question = el('div', { class: 'instruction' })
  #answer = el('div', { class: 'answer' })
  #markdown = new GrowingMarkdown(this.#answer)
  #notes = el('div', {})
  #cards = el('div', {})
  #sources = el('div', {})
  #phase = el('span', {})
  #figures = el('span', {})
  #state = el('p', { class: 'muted state', hidden: true }, this.#phase, this.#figures)
  #foot = el('footer', {})
  #text = ''
  /** Last text before a tool round. A stream can repeat it. */
  #lastInterimText = ''
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer
  #renderIntervalMs = MIN_RENDER_INTERVAL_MS
  /** Number of the model's reply that is streamed. */
  #round = 1
  /** True after the first text of that reply. */
  #hasText = false
  /** @type {HTMLElement | undefined} */
  #runningTool
  #reasoning
  /** @type {Meter | undefined} */
  #meter
  /** @type {Turn | undefined} */
  #turn
  /** @type {(() => void) | undefined} */
  #abandonTools
  /** Cards whose results are on the way to the API. @type {ReturnType<typeof toolCard>[]} */
  #sending = []
  /** @type {(() => Promise<void>) | undefined} */
  #loadFeedback

  /**
   * @param {TurnContext} context
   * @param {{ id: string, instruction: string, attachments?: import('./attachments.js').Attachment[], rerunOf?: string }} options
   */
  constructor(context, { id, instruction, attachments = [], rerunOf }) {
    this.#context = context
    this.id = id
    this.#reasoning = new Reasoning(id, this.#cards)
    this.instruction = instruction
    this.#renderInstruction(instruction, attachments)
    this.node = el('article', { class: 'turn', 'aria-label': `Turn: ${splitInstruction(instruction).text.slice(0, 60)}` })
    if (rerunOf) fill(this.#origin, el('p', { class: 'origin' }, icon('rerun'), `Rerun of ${context.turnLabel(rerunOf)}`))
    this.node.append(this.#branch, this.#origin, this.#question, this.#cards, this.#answer, this.#notes, this.#sources, this.#state, this.#foot)
  }

  /**
   * @param {string} instruction
   * @param {import('./attachments.js').Attachment[]} attachments
   */
  #renderInstruction(instruction, attachments) {
    fill(this.#question, instructionNodes(instruction), attachmentList(attachments))
  }

  /**
   * Shows a stored turn that has ended. Its attachments, calls and long texts are loaded when it is about to be seen.
   * @param {SessionTurn} turn
   */
  showFinished(turn) {
    const isFailed = turn.Status.Id === 'failed'
    const isStopped = turn.StatusReason === 'cancelled'
    this.#reasoning.restore()
    if (isStopped) fill(this.#notes, stoppedNote())
    else if (isFailed) fill(this.#notes, errorMessage({ message: plainFailure(turn.Errors.join(' ')) || 'The turn failed.' }))
    const partial = turn.PartialAnswerSummary ?? ''
    if (isFailed) this.#render(isStopped ? longerPartialAnswer(this.id, partial) : partial)
    else this.#render(turn.AgentAnswerSummary ?? '')
    this.#addWarnings(turn.Warnings)
    this.#renderFooter(turn)
    const load = async () => {
      await Promise.all([this.#loadRequest(), isFailed || turn.ToolRounds ? this.#loadRounds(true) : undefined, this.#loadFullText(turn)])
      await this.#loadFeedback?.().catch(() => {})
      this.#context.onUpdate()
    }
    whenNear(this.node, () => void load().catch((error) => this.#notes.append(errorMessage(error))), this.node.closest('.turns-page') ?? undefined)
  }

  /** Shows the finished tool rounds of a running turn, and its attachments. */
  async showEarlierRounds() {
    this.#reasoning.restore()
    await Promise.all([this.#loadRequest(), this.#loadRounds(false)]).catch((error) => this.#notes.append(errorMessage(error)))
  }

  async #loadRequest() {
    const request = parseRequest(await (await this.#context.session.payload(this.id, 'instruction')).text())
    if (!request || (request.instruction === this.instruction && request.attachments.length === 0)) return
    this.instruction = request.instruction
    this.#renderInstruction(request.instruction, request.attachments)
  }

  /**
   * Shows the rounds that ended with tool calls: the text before the calls, and the client's calls.
   * @param {boolean} includesPending shows calls without a result too, since the turn is over
   */
  async #loadRounds(includesPending) {
    const nodes = []
    for await (const { Kind, Text = '', Calls = [] } of this.#context.session.steps(this.id)) {
      if (Kind !== 'tools' || (!includesPending && Calls.some(({ IsPending }) => IsPending))) continue
      if (Text.trim() !== '') nodes.push(el('div', { class: 'interim' }, markdown((this.#lastInterimText = Text))))
      nodes.push(...Calls.map((call) => (call.RanBy === 'server' ? finishedTool(call) : finishedCallCard(call))))
    }
    this.#cards.append(...nodes)
  }

  /**
   * Replaces a truncated text with the full one.
   * @param {SessionTurn} turn
   */
  async #loadFullText(turn) {
    if (turn.AgentAnswerSummaryTruncated) this.#render(await this.#fullAnswer())
    else if (turn.PartialAnswerSummaryTruncated) this.#render(longerPartialAnswer(this.id, await this.#fullPartialAnswer()))
  }

  async #fullAnswer() {
    return (await this.#context.session.payload(this.id, 'answer')).text()
  }

  async #fullPartialAnswer() {
    let text = ''
    for await (const step of this.#context.session.steps(this.id, { full: true })) text = step.Text ?? ''
    return text
  }

  /**
   * Follows a running turn until it ends. Never rejects. Returns the error if the API refused the turn, so that there is none.
   * @param {Turn} turn
   */
  async follow(turn) {
    /** @type {unknown} */
    let failure
    this.node.setAttribute('aria-busy', 'true')
    this.#showState('Waiting for the model…')
    this.#meter = new Meter(this.#figures)
    try {
      for (let next = /** @type {Turn | undefined} */ (turn); next;) next = await this.#read(next).catch((error) => this.#waitForApprovals(error))
    } catch (error) {
      if (error instanceof DOMException && error.name === 'AbortError') return undefined
      failure = error
      if (this.#sending.length > 0) this.#showNotSent(error)
      const { message = String(error), code, requestId } = /** @type {Partial<AptixError>} */ (error ?? {})
      this.#notes.append(errorMessage({ message: plainFailure(message), code, requestId }))
      announce('Turn failed.')
    } finally {
      this.#flush()
      this.#meter.end()
      this.#state.hidden = true
      this.node.removeAttribute('aria-busy')
      this.#context.onUpdate()
    }
    // The cost is available shortly after the end.
    const reading = await this.#loadCosts().catch((error) => error)
    this.#context.onUpdate()
    return reading instanceof AptixError && reading.status === 404 ? failure : undefined
  }

  /** Stops the turn. */
  async stop() {
    this.#abandonTools?.()
    await (this.#turn ? this.#turn.stop() : this.#context.session.cancel(this.id))
  }

  /**
   * @param {Turn} turn
   * @returns {Promise<Turn | undefined>} the continuation of the turn after a tool round
   */
  async #read(turn) {
    this.#turn = turn
    this.#text = ''
    for await (const event of turn) {
      if (event.type !== 'retry' && event.type !== 'stopped') this.#showSent()
      if (event.type === 'delta') this.#append(event.text)
      else if (event.type === 'reset') this.#reset(event.reason)
      else if (event.type === 'retry') this.#showState(`Retrying: ${event.error.message}`)
      else if (event.type === 'status') this.#showStatus(event.status)
      else if (event.type === 'reasoning') {
        this.#reasoning.add(event)
        this.#context.onUpdate()
      }
      else if (event.type === 'stopped') {
        this.#text = event.text
        savePartialAnswer(this.id, event.text)
        this.#reasoning.save()
        this.#notes.append(stoppedNote())
        announce('Turn stopped.')
      } else if (event.type === 'result') {
        this.#reasoning.save()
        const { calls } = event.answer
        if (calls.length) {
          this.#text ||= event.answer.text
          return this.#runTools(calls)
        }
        this.#complete(event.answer)
      }
    }
    return undefined
  }

  /**
   * Shows the calls that wait for a person until none does, and follows the rest of the turn.
   * @param {unknown} error with which the turn's stream ended
   */
  async #waitForApprovals(error) {
    const isWaiting = error instanceof AptixError && error.code === 'TurnInProgress' && error.details !== undefined
    if (!isWaiting) throw error
    this.#turn = undefined
    this.#showSent()
    this.#showState(statusText({ Phase: 'waiting_for_approval' }))
    await showApprovals(this.#context, this.id, this.#cards)
    return this.#context.session.resume({ turnId: this.id })
  }

  /** @param {import('../javascript/src/index.js').Call[]} calls */
  async #runTools(calls) {
    this.#turn = undefined
    this.#reset()
    this.#showState(calls.length === 1 ? 'Waiting for a tool result.' : `Waiting for ${calls.length} tool results.`)
    announce(this.#phase.textContent ?? '')
    const saved = savedResults(this.id)
    const onReady = (/** @type {import('./tool-card.js').Result} */ result) => saveResult(this.id, result)
    const options = { isAlone: calls.length === 1, onReady }
    const cards = calls.map((call) =>
      toolCard(call, this.#context.tools, this.#context.always, { ...options, saved: saved.find(({ id }) => id === call.id) }),
    )
    this.#cards.append(...cards.map(({ node }) => node))
    this.#context.onUpdate()
    // One after another, since a call can change what the next one reads.
    for (const card of cards) await card.runIfAllowed()
    const actions = roundActions(cards)
    this.#cards.append(actions)
    cards.find(({ isOpen }) => isOpen())?.focus()
    const abandoned = /** @type {Promise<undefined>} */ (new Promise((resolve) => (this.#abandonTools = () => resolve(undefined))))
    const results = await Promise.race([Promise.all(cards.map(({ result }) => result)), abandoned])
    this.#abandonTools = undefined
    if (!results) {
      cards.forEach(({ showNotSent }) => showNotSent())
      actions.remove()
      clearResults(this.id)
      this.#notes.append(stoppedNote())
      return undefined
    }
    this.#sending = cards
    this.#showState('Sending the tool results…')
    return this.#context.session.submitToolResults(this.id, results)
  }

  /** Shows that the API has accepted the results. */
  #showSent() {
    if (this.#sending.length === 0) return
    this.#sending.forEach(({ showSent }) => showSent())
    this.#sending = []
    clearResults(this.id)
    this.#showState('Tool results sent.')
  }

  /**
   * Shows that the API has not accepted the results. They can be sent again if it was not reached.
   * @param {unknown} error
   */
  #showNotSent(error) {
    const cards = this.#sending
    this.#sending = []
    cards.forEach(({ showNotSent }) => showNotSent())
    if (!(error instanceof AptixError) || error.retry !== 'same_request') return clearResults(this.id)
    const again = button('Send the results again', async () => {
      fill(this.#notes)
      this.#sending = cards
      await this.follow(this.#context.session.submitToolResults(this.id, await Promise.all(cards.map(({ result }) => result))))
    })
    this.#notes.append(el('p', {}, again))
  }

  /** @param {Answer} answer */
  #complete({ text, files, warnings, mode }) {
    this.#text = text
    this.#addWarnings(warnings)
    if (files.length > 0) this.#notes.append(answerFiles(this.#context.connection.aptix, files))
    this.node.dataset.mode = mode
    announce(`Answer complete. ${text.slice(0, 200)}`)
  }

  /** @param {string[]} warnings */
  #addWarnings(warnings) {
    if (warnings.length)
      this.#notes.append(
        el(
          'ul',
          { class: 'warnings', 'aria-label': 'Warnings' },
          warnings.map((warning) => el('li', {}, warning)),
        ),
      )
  }

  async #loadCosts() {
    for (let attempts = 8; attempts > 0; attempts--) {
      const turn = await this.#context.session.turn(this.id)
      if (turn.Status.Id !== 'pending') return this.#renderFooter(turn)
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
  }

  /** Makes the message a field. Its attachments stay. */
  #edit() {
    const field = el('textarea', { rows: 3, 'aria-label': 'Message', dir: 'auto' }, this.instruction)
    const dropped = this.#context.dropped(this.id)
    const effect = dropped.length > 0 && el('p', {}, `The conversation continues from the changed message. The model then no longer sees ${turnNames(dropped)}.`)
    const before = [...this.#question.childNodes]
    const cancel = () => this.#question.replaceChildren(...before)
    const send = () => {
      const text = field.value.trim()
      if (text === '') return field.focus()
      cancel()
      if (text !== this.instruction) void this.#context.resend(this.id, text)
    }
    const row = el('div', { class: 'row end' }, button('Cancel', cancel), button('Send', send, { class: 'primary' }))
    fill(this.#question, el('div', { class: 'edit-message' }, field, effect, row))
    queueMicrotask(() => field.focus())
  }

  /**
   * Shows that the turn isn't on the branch that the session continues from.
   * @param {string | undefined} text removes the note if undefined
   */
  showOutside(text) {
    this.node.classList.toggle('outside', text !== undefined)
    fill(this.#branch, text !== undefined && el('p', { class: 'origin' }, icon('fork'), text))
  }

  /** @param {SessionTurn} turn */
  #renderFooter(turn) {
    this.#context.onRecord?.(turn)
    fill(this.#sources, sourceList(turn))
    const texts = { instruction: () => this.instruction, answer: () => this.#text, edit: () => this.#edit() }
    const { nodes, loadFeedback } = turnFooter(this.#context, turn, texts)
    this.#loadFeedback = loadFeedback
    fill(this.#foot, ...nodes)
  }

  /** @param {string} text */
  #showState(text) {
    this.#phase.textContent = text
    this.#phase.classList.toggle('running', text !== '')
    this.#state.hidden = false
  }

  /** @param {import('../javascript/src/events.js').Status} status */
  #showStatus(status) {
    this.#showState(statusText(status))
    if (status.Round !== undefined && status.Round !== this.#round) {
      this.#round = status.Round
      this.#hasText = false
    }
    if (this.#runningTool) endTool(this.#runningTool)
    this.#runningTool = undefined
    if (status.Phase !== 'tool') return
    this.#runningTool = runningTool(status.ToolName ?? 'a tool')
    this.#cards.append(this.#runningTool)
  }

  /** @param {string} text */
  #append(text) {
    this.#text += text
    this.#meter?.add(text.length)
    this.#showState('')
    if (!this.#hasText) saveFirstToken(this.id, this.#round)
    this.#hasText = true
    this.#timer ??= setTimeout(() => this.#flush(), this.#renderIntervalMs)
  }

  /** @param {string} [reason] */
  #reset(reason = 'tools') {
    // Keep text before a tool round as interim text. Discard any other text.
    if (reason === 'tools') this.#showInterimText(this.#text)
    this.#text = ''
    this.#flush()
  }

  /** @param {string} text */
  #showInterimText(text) {
    if (text.trim() === '' || text === this.#lastInterimText) return
    // A stream can leave out the end of a round's text, which the round's result has.
    const last = this.#cards.lastElementChild
    if (last?.className === 'interim' && text.startsWith(this.#lastInterimText)) last.remove()
    this.#cards.append(el('div', { class: 'interim' }, markdown((this.#lastInterimText = text))))
  }

  #flush() {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#render(this.#text)
    this.#context.onUpdate()
  }

  /** @param {string} text */
  #render(text) {
    this.#text = text
    const startedAt = performance.now()
    this.#markdown.show(text)
    // Render long answers less often, so that rendering takes at most a fifth of the time.
    this.#renderIntervalMs = Math.max(MIN_RENDER_INTERVAL_MS, 5 * (performance.now() - startedAt))
  }
}

/**
 * Names the page's own way to try again in place of the API's.
 * @param {string} text
 */
const plainFailure = (text) => text.replace(/Send (it|the instruction) again with a new TurnId\./g, 'Use Rerun to try again.')

const stoppedNote = () => el('p', { class: 'muted' }, 'Stopped.')

/** Labels of the API's phases. */
const PHASES = /** @type {Record<string, string>} */ ({
  working: 'Working…',
  retrieving: 'Searching sources…',
  rebuilding_history: 'Replaying the conversation…',
  thinking: 'Thinking…',
  retrying: 'Retrying the model call…',
  waiting_for_tools: 'Waiting for tools…',
  waiting_for_approval: 'Waiting for an approval…',
})

/** @param {{ Phase?: unknown, ToolName?: unknown, Attempt?: number }} status */
function statusText({ Phase, ToolName, Attempt = 1 }) {
  const text = Phase === 'tool' ? `Running ${ToolName ?? 'a tool'}…` : (PHASES[String(Phase)] ?? '')
  // A later attempt has taken the turn over from one that died.
  return Attempt > 1 && text !== '' ? `${text} (attempt ${Attempt})` : text
}
