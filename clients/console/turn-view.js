/**
 * View of a turn: its instruction, the streaming answer, tool calls and outcome.
 *
 * @module
 */

import { AptixError } from '../javascript/src/index.js'
import { attachmentList, parseRequest } from './attachments.js'
import { button, el, errorMessage, fill, download, announce } from './dom.js'
import { pageUrl, formatCost, formatBytes, formatTokens, timestamp } from './format.js'
import { markdown } from './markdown.js'
import { longerPartialAnswer, savePartialAnswer } from './partial-answers.js'
import { sourceList } from './sources.js'
import { finishedCallCard, toolCard } from './tool-card.js'

/** Shortest interval between two renders of a streaming answer. */
const MIN_RENDER_INTERVAL_MS = 40

/**
 * @typedef {import('../javascript/src/index.js').Turn} Turn
 * @typedef {import('../javascript/src/index.js').Answer} Answer
 * @typedef {import('../javascript/src/wire.js').SessionTurn} SessionTurn
 *
 * @typedef {object} TurnContext environment of a turn's view
 * @property {import('../javascript/src/index.js').Aptix} aptix
 * @property {import('../javascript/src/index.js').Session} session
 * @property {Record<string, import('./tool-card.js').Tool>} tools
 * @property {(turnId: string, text: string) => void} rerun reruns a turn
 * @property {() => void} onUpdate called after content was added at the end
 */

export class TurnView {
  #context
  #question = el('div', { class: 'instruction' })
  #answer = el('div', { class: 'answer' })
  #notes = el('div', {})
  #cards = el('div', {})
  #sources = el('div', {})
  #state = el('p', { class: 'muted' })
  #foot = el('footer', {})
  #text = ''
  /** Last text before a tool round. A stream can repeat it. */
  #lastInterimText = ''
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer
  #renderIntervalMs = MIN_RENDER_INTERVAL_MS
  /** @type {Turn | undefined} */
  #turn
  /** @type {(() => void) | undefined} */
  #abandonTools

  /**
   * @param {TurnContext} context
   * @param {{ id: string, instruction: string, attachments?: import('./attachments.js').Attachment[] }} options
   */
  constructor(context, { id, instruction, attachments = [] }) {
    this.#context = context
    this.id = id
    this.instruction = instruction
    this.#renderInstruction(instruction, attachments)
    this.node = el('article', { class: 'turn', 'aria-label': `Turn: ${instruction.slice(0, 60)}` })
    this.node.append(this.#question, this.#cards, this.#answer, this.#notes, this.#sources, this.#state, this.#foot)
  }

  /**
   * @param {string} instruction
   * @param {import('./attachments.js').Attachment[]} attachments
   */
  #renderInstruction(instruction, attachments) {
    fill(this.#question, el('p', {}, instruction || '(files only)'), attachmentList(attachments))
  }

  /**
   * Shows a stored turn that has ended. Its attachments, calls and long texts are loaded when it is about to be seen.
   * @param {SessionTurn} turn
   */
  showFinished(turn) {
    const isFailed = turn.Status.Id === 'failed'
    const isStopped = turn.StatusReason === 'cancelled'
    if (isStopped) fill(this.#notes, stoppedNote())
    else if (isFailed) fill(this.#notes, errorMessage({ message: turn.Errors.join(' ') || 'The turn failed.' }))
    const partial = turn.PartialAnswerSummary ?? ''
    if (isFailed) this.#render(isStopped ? longerPartialAnswer(this.id, partial) : partial)
    else this.#render(turn.AgentAnswerSummary ?? '')
    this.#addWarnings(turn.Warnings)
    this.#renderFooter(turn)
    this.#whenNear(async () => {
      await Promise.all([this.#loadRequest(), isFailed || turn.ToolRounds ? this.#loadRounds(true) : undefined, this.#loadFullText(turn)])
      this.#context.onUpdate()
    })
  }

  /** Shows the finished tool rounds of a running turn, and its attachments. */
  async showEarlierRounds() {
    await Promise.all([this.#loadRequest(), this.#loadRounds(false)]).catch((error) => this.#notes.append(errorMessage(error)))
  }

  /**
   * Runs a function once the turn is in the viewport, or near it.
   * @param {() => Promise<void>} action
   */
  #whenNear(action) {
    const run = () => action().catch((error) => this.#notes.append(errorMessage(error)))
    const observer = new IntersectionObserver(
      (entries) => {
        if (!entries.some(({ isIntersecting }) => isIntersecting)) return
        observer.disconnect()
        run()
      },
      { rootMargin: '600px' },
    )
    observer.observe(this.node)
  }

  async #loadRequest() {
    const request = parseRequest(await (await this.#context.session.payload(this.id, 'instruction')).text())
    if (!request) return
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
      nodes.push(...Calls.filter(({ RanBy }) => RanBy === 'client').map((call) => finishedCallCard(call)))
    }
    this.#cards.prepend(...nodes)
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
   * Follows a running turn until it ends. Never rejects.
   * @param {Turn} turn
   */
  async follow(turn) {
    this.node.setAttribute('aria-busy', 'true')
    this.#state.textContent = 'Waiting for the model…'
    try {
      for (let next = /** @type {Turn | undefined} */ (turn); next;) next = await this.#read(next)
    } catch (error) {
      if (error instanceof DOMException && error.name === 'AbortError') return
      this.#notes.append(errorMessage(error))
      announce('Turn failed.')
    } finally {
      this.#flush()
      this.#state.textContent = ''
      this.node.removeAttribute('aria-busy')
      this.#context.onUpdate()
    }
    // The cost is available shortly after the end.
    await this.#loadCosts().catch(() => {})
    this.#context.onUpdate()
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
      if (event.type === 'delta') this.#append(event.text)
      else if (event.type === 'reset') this.#reset(event.reason)
      else if (event.type === 'retry') this.#state.textContent = `Retrying: ${event.error.message}`
      else if (event.type === 'status')
        this.#state.textContent = statusText(/** @type {{ Phase?: unknown }} */ (event.status))
      else if (event.type === 'stopped') {
        this.#text = event.text
        savePartialAnswer(this.id, event.text)
        this.#notes.append(stoppedNote())
        announce('Turn stopped.')
      } else if (event.type === 'result') {
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

  /** @param {import('../javascript/src/index.js').Call[]} calls */
  async #runTools(calls) {
    this.#turn = undefined
    this.#reset()
    this.#state.textContent =
      calls.length === 1 ? 'Waiting for a tool result.' : `Waiting for ${calls.length} tool results.`
    announce(this.#state.textContent)
    const cards = calls.map((call) => toolCard(call, this.#context.tools))
    this.#cards.append(...cards.map(({ node }) => node))
    this.#context.onUpdate()
    cards[0]?.focus()
    const abandoned = /** @type {Promise<undefined>} */ (new Promise((resolve) => (this.#abandonTools = () => resolve(undefined))))
    const results = await Promise.race([Promise.all(cards.map(({ result }) => result)), abandoned])
    this.#abandonTools = undefined
    cards.forEach(({ removeButtons }) => removeButtons())
    if (!results) {
      this.#notes.append(stoppedNote())
      return undefined
    }
    this.#state.textContent = 'Tool results sent.'
    return this.#context.session.submitToolResults(this.id, results)
  }

  /** @param {Answer} answer */
  #complete({ text, files, warnings, mode }) {
    this.#text = text
    this.#addWarnings(warnings)
    if (files.length)
      this.#notes.append(
        el(
          'ul',
          { class: 'chips', 'aria-label': 'Files' },
          files.map((file) => this.#fileItem(file)),
        ),
      )
    this.node.dataset.mode = mode
    announce(`Answer complete. ${text.slice(0, 200)}`)
  }

  /** @param {import('../javascript/src/wire.js').FileRef} file */
  #fileItem({ Name, Url, SizeBytes }) {
    const load = async () => download(await (await this.#context.aptix.open(Url)).blob(), Name)
    return el(
      'li',
      {},
      button(Name, () => load().catch((error) => this.#notes.append(errorMessage(error))), { class: 'ghost' }),
      el('small', {}, formatBytes(SizeBytes)),
    )
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

  /** @param {SessionTurn} turn */
  #renderFooter(turn) {
    const details = [turn.Mode, turn.OpenAIModel, formatTokens(turn.Usage), formatCost(turn.Cost)].filter(Boolean).join(' · ')
    const isOver = turn.Status.Id !== 'pending'
    fill(this.#sources, sourceList(turn))
    fill(
      this.#foot,
      timestamp(turn.CreationDate),
      details && el('span', {}, details),
      el('a', { href: pageUrl('trace', this.#context.session.id, this.id) }, 'Trace'),
      isOver && button('Rerun', () => this.#context.rerun(this.id, this.instruction), { class: 'ghost' }),
    )
  }

  /** @param {string} text */
  #append(text) {
    this.#text += text
    this.#state.textContent = ''
    this.#timer ??= setTimeout(() => this.#flush(), this.#renderIntervalMs)
  }

  /** @param {string} [reason] */
  #reset(reason = 'tools') {
    // Keep text before a tool round as interim text. Discard any other text.
    const isNew = this.#text.trim() !== '' && this.#text !== this.#lastInterimText
    if (reason === 'tools' && isNew) this.#cards.append(el('div', { class: 'interim' }, markdown((this.#lastInterimText = this.#text))))
    this.#text = ''
    this.#flush()
  }

  #flush() {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#render(this.#text)
    this.#context.onUpdate()
  }

  /** @param {string} text */
  #render(text) {
    const startedAt = performance.now()
    fill(this.#answer, markdown(text))
    // Render long answers less often, so that rendering takes at most a fifth of the time.
    this.#renderIntervalMs = Math.max(MIN_RENDER_INTERVAL_MS, 5 * (performance.now() - startedAt))
  }
}

const stoppedNote = () => el('p', { class: 'muted' }, 'Stopped.')

/** Labels of the API's phases. */
const PHASES = /** @type {Record<string, string>} */ ({
  working: 'Working…',
  retrieving: 'Searching sources…',
  rebuilding_history: 'Replaying the conversation…',
  thinking: 'Thinking…',
  retrying: 'Retrying the model call…',
  waiting_for_tools: 'Waiting for tools…',
})

/** @param {{ Phase?: unknown, ToolName?: unknown }} status */
function statusText({ Phase, ToolName }) {
  return Phase === 'tool' ? `Running ${ToolName ?? 'a tool'}…` : (PHASES[String(Phase)] ?? '')
}

/** @param {unknown} error */
export const isUnknownSession = (error) => error instanceof AptixError && error.code === 'SessionNotFound'
