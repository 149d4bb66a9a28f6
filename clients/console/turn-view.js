/**
 * A turn as it is shown: what was asked, the answer while it is written, its tool rounds, and what it came to.
 *
 * @module
 */

import { AptixError } from '../javascript/src/index.js'
import { button, el, failure, fill, save, tell } from './dom.js'
import { at, money, size, tokens, when } from './format.js'
import { markdown } from './markdown.js'
import { toolCard } from './tool-card.js'

/** Shown no more often than this. */
const LEAST_PAUSE_MS = 40

/**
 * @typedef {import('../javascript/src/index.js').Turn} Turn
 * @typedef {import('../javascript/src/index.js').Answer} Answer
 * @typedef {import('../javascript/src/wire.js').SessionTurn} SessionTurn
 *
 * @typedef {object} Place what a turn is shown in
 * @property {import('../javascript/src/index.js').Aptix} aptix
 * @property {import('../javascript/src/index.js').Session} session
 * @property {Record<string, import('./tool-card.js').Tool>} tools
 * @property {(turnId: string, text: string) => void} again runs a turn once more
 * @property {() => void} changed something was added at the end
 */

export class TurnView {
  #place
  #answer = el('div', { class: 'answer' })
  #notes = el('div', {})
  #cards = el('div', {})
  #state = el('p', { class: 'soft' })
  #foot = el('footer', {})
  #text = ''
  /** What was said last before a tool round: a stream may tell it twice. */
  #aside = ''
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer
  #pause = LEAST_PAUSE_MS
  /** @type {Turn | undefined} */
  #turn
  /** @type {(() => void) | undefined} */
  #leaveTools

  /**
   * @param {Place} place
   * @param {{ id: string, asked: string, attached?: (string | undefined)[] }} what
   */
  constructor(place, { id, asked, attached = [] }) {
    this.#place = place
    this.id = id
    this.asked = asked
    const question = el('div', { class: 'asked' }, el('p', {}, asked || '(files alone)'))
    if (attached.length)
      question.append(
        el(
          'ul',
          { class: 'chips', 'aria-label': 'Attached' },
          attached.map((name) => el('li', {}, name)),
        ),
      )
    this.node = el('article', { class: 'turn', 'aria-label': `Turn: ${asked.slice(0, 60)}` })
    this.node.append(question, this.#cards, this.#answer, this.#notes, this.#state, this.#foot)
  }

  /**
   * A turn that is over, as it is stored.
   * @param {SessionTurn} turn
   */
  async ended(turn) {
    const isFailed = turn.Status.Id === 'failed'
    if (isFailed) fill(this.#notes, failure({ message: turn.Errors.join(' ') || 'The turn failed.' }))
    this.#show((isFailed ? turn.PartialAnswerSummary : turn.AgentAnswerSummary) ?? '')
    const isCut = isFailed ? turn.PartialAnswerSummaryTruncated : turn.AgentAnswerSummaryTruncated
    if (isCut) {
      const whole = async () => this.#show(await (isFailed ? this.#partial() : this.#whole()))
      const more = button(isFailed ? 'Show all there was' : 'Show the whole answer', () =>
        whole().then(
          () => more.remove(),
          (error) => this.#notes.append(failure(error)),
        ),
      )
      this.#state.append(more)
    }
    this.#warn(turn.Warnings)
    this.#tellCosts(turn)
  }

  async #whole() {
    return (await this.#place.session.payload(this.id, 'answer')).text()
  }

  async #partial() {
    let text = ''
    for await (const step of this.#place.session.steps(this.id, { whole: true })) text = step.Text ?? ''
    return text
  }

  /**
   * A turn that is under way, until it is over; it never rejects.
   * @param {Turn} turn
   */
  async follow(turn) {
    this.node.setAttribute('aria-busy', 'true')
    this.#state.textContent = 'Waiting for the model.'
    try {
      for (let next = /** @type {Turn | undefined} */ (turn); next;) next = await this.#listen(next)
    } catch (error) {
      if (error instanceof DOMException && error.name === 'AbortError') return
      this.#notes.append(failure(error))
      tell('The turn failed.')
    } finally {
      this.#flush()
      this.#state.textContent = ''
      this.node.removeAttribute('aria-busy')
      this.#place.changed()
    }
    // What it cost is known a moment after its end.
    await this.#costs().catch(() => {})
    this.#place.changed()
  }

  /** Ends the turn, whatever it is at. */
  async stop() {
    this.#leaveTools?.()
    await (this.#turn ? this.#turn.stop() : this.#place.session.cancel(this.id))
  }

  /**
   * @param {Turn} turn
   * @returns {Promise<Turn | undefined>} the rest of the turn, after a tool round
   */
  async #listen(turn) {
    this.#turn = turn
    this.#text = ''
    for await (const event of turn) {
      if (event.type === 'delta') this.#add(event.text)
      else if (event.type === 'reset') this.#reset(event.reason)
      else if (event.type === 'retry') this.#state.textContent = `${event.error.message}: it is tried again.`
      else if (event.type === 'status')
        this.#state.textContent = statusText(/** @type {{ Phase?: unknown }} */ (event.status))
      else if (event.type === 'stopped') {
        this.#text = event.text
        this.#notes.append(el('p', { class: 'soft' }, 'Stopped.'))
        tell('The turn was stopped.')
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
      calls.length === 1 ? 'The model waits for a tool.' : `The model waits for ${calls.length} tools.`
    tell(this.#state.textContent)
    const cards = calls.map((call) => toolCard(call, this.#place.tools))
    this.#cards.append(...cards.map(({ node }) => node))
    this.#place.changed()
    cards[0]?.focus()
    const left = /** @type {Promise<undefined>} */ (new Promise((resolve) => (this.#leaveTools = () => resolve(undefined))))
    const results = await Promise.race([Promise.all(cards.map(({ result }) => result)), left])
    this.#leaveTools = undefined
    cards.forEach(({ end }) => end())
    if (!results) {
      this.#notes.append(el('p', { class: 'soft' }, 'Stopped.'))
      return undefined
    }
    this.#state.textContent = 'The results are sent.'
    return this.#place.session.submit(this.id, results)
  }

  /** @param {Answer} answer */
  #complete({ text, files, warnings, mode }) {
    this.#text = text
    this.#warn(warnings)
    if (files.length)
      this.#notes.append(
        el(
          'ul',
          { class: 'chips', 'aria-label': 'Files of the answer' },
          files.map((file) => this.#file(file)),
        ),
      )
    this.node.dataset.mode = mode
    tell(`The answer is complete. ${text.slice(0, 200)}`)
  }

  /** @param {import('../javascript/src/wire.js').FileRef} file */
  #file({ Name, Url, SizeBytes }) {
    const load = async () => save(await (await this.#place.aptix.open(Url)).blob(), Name)
    return el(
      'li',
      {},
      button(Name, () => load().catch((error) => this.#notes.append(failure(error))), { class: 'quiet' }),
      el('small', {}, size(SizeBytes)),
    )
  }

  /** @param {string[]} warnings */
  #warn(warnings) {
    if (warnings.length)
      this.#notes.append(
        el(
          'ul',
          { class: 'warnings', 'aria-label': 'Warnings' },
          warnings.map((warning) => el('li', {}, warning)),
        ),
      )
  }

  async #costs() {
    for (let left = 8; left > 0; left--) {
      const turn = await this.#place.session.turn(this.id)
      if (turn.Status.Id !== 'pending') return this.#tellCosts(turn)
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
  }

  /** @param {SessionTurn} turn */
  #tellCosts(turn) {
    const told = [turn.Mode, turn.OpenAIModel, tokens(turn.Usage), money(turn.Cost)].filter(Boolean).join(' · ')
    const isOver = turn.Status.Id !== 'pending'
    fill(
      this.#foot,
      when(turn.CreationDate),
      told && el('span', {}, told),
      el('a', { href: at('trace', this.#place.session.id, this.id) }, 'Trace'),
      isOver && button('Run again', () => this.#place.again(this.id, this.asked), { class: 'quiet' }),
    )
  }

  /** @param {string} text */
  #add(text) {
    this.#text += text
    this.#state.textContent = ''
    this.#timer ??= setTimeout(() => this.#flush(), this.#pause)
  }

  /** @param {string} [reason] */
  #reset(reason = 'tools') {
    // What was said before a tool round stays, as what it was; all else is taken back.
    const isNew = this.#text.trim() !== '' && this.#text !== this.#aside
    if (reason === 'tools' && isNew) this.#cards.append(el('div', { class: 'aside' }, markdown((this.#aside = this.#text))))
    this.#text = ''
    this.#flush()
  }

  #flush() {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#show(this.#text)
    this.#place.changed()
  }

  /** @param {string} text */
  #show(text) {
    const began = performance.now()
    fill(this.#answer, markdown(text))
    // A long answer is shown less often, so that showing it is never all that the page does.
    this.#pause = Math.max(LEAST_PAUSE_MS, 5 * (performance.now() - began))
  }
}

/** What a turn is at, in words, by the API's. */
const PHASES = /** @type {Record<string, string>} */ ({
  working: 'The turn is worked on.',
  retrieving: 'Sources are searched.',
  rebuilding_history: 'The conversation is told again.',
  thinking: 'The model thinks.',
  retrying: 'The model is asked again.',
  waiting_for_tools: 'The model waits for tools.',
})

/** @param {{ Phase?: unknown, ToolName?: unknown }} status */
function statusText({ Phase, ToolName }) {
  return Phase === 'tool' ? `${ToolName ?? 'A tool'} runs.` : (PHASES[String(Phase)] ?? '')
}

/** @param {unknown} error */
export const isUnknownSession = (error) => error instanceof AptixError && error.code === 'SessionNotFound'
