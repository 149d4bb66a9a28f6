import { AptixError } from './errors.js'
import { follow } from './follow.js'
import { successful } from './http.js'
import * as paths from './paths.js'
import { Queue } from './queue.js'
import * as tools from './tools.js'
import { sleep } from './wait.js'

/** @typedef {import('./events.js').Event} Event */

/**
 * How a turn is listened to.
 * @typedef {object} Listening
 * @property {Record<string, tools.Tool>} [tools] What runs the calls for this client. Without, a turn that calls for
 * tools ends with those calls, and `session.submit` goes on with it.
 * @property {tools.Approve} [approve] Asked before each call.
 * @property {number} [toolTimeoutMs] The longest that a tool may take; 15 minutes.
 * @property {AbortSignal} [signal] Ends the listening. The turn goes on; `stop()` ends the turn.
 *
 * Where a turn begins to be listened to: what is asked, after which event, and what was run of its calls before.
 * @typedef {Omit<import('./kept.js').KeptTurn, 'turnId'>} Beginning
 */

const TOOL_TIMEOUT_MS = 15 * 60_000
/** A cancel may come before what it cancels: then it is sent again, so often. */
const CANCELS = 8
const UNKNOWN = ['TurnNotFound', 'SessionNotFound']

/** A turn that is under way: its events, its answer, and its end. */
export class Turn {
  #http
  #kept
  #options
  #queue = new Queue()
  #listening = new AbortController()
  #running = new AbortController()
  #done
  #isRead = false
  #text = ''
  #before = ''
  /** Whether a request is on its way. */
  #isAsking = false
  /** @type {Promise<import('./wire.js').TurnSummary | undefined> | undefined} */
  #stopping

  /**
   * @param {import('./http.js').Http} http
   * @param {import('./kept.js').Kept} kept
   * @param {{ sessionId: string, id: string }} ids
   * @param {() => Promise<Beginning>} begin
   * @param {Listening} options
   */
  constructor(http, kept, { sessionId, id }, begin, options) {
    this.#http = http
    this.#kept = kept
    this.#options = options
    this.sessionId = sessionId
    /** Known before anything is sent: whoever keeps it finds the turn again. */
    this.id = id
    const { signal } = options
    const abort = () => this.#listening.abort(signal?.reason)
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
    this.#done = this.#run(begin).finally(() => signal?.removeEventListener('abort', abort))
    // Whoever reads the events alone learns of a failure there.
    this.#done.catch(() => {})
  }

  /** The answer so far. */
  get text() {
    return this.#text
  }

  /**
   * What the turn came to. Rejects with an `AptixError` when it failed or was stopped, and with the signal's reason
   * when nobody listens any more.
   * @returns {Promise<import('./events.js').Answer>}
   */
  final() {
    return this.#done
  }

  /**
   * Ends the turn at the API, whatever it is at, and gives what it came to there: the end may have come first. None
   * when the turn never began.
   * @returns {Promise<import('./wire.js').TurnSummary | undefined>}
   */
  stop() {
    this.#stopping ??= this.#cancel()
    return this.#stopping
  }

  /**
   * Until a `stop` that is under way has come to something; it never rejects.
   * @returns {Promise<void>}
   */
  get stopping() {
    return Promise.resolve(this.#stopping).then(
      () => {},
      () => {},
    )
  }

  /**
   * The turn's events, each once. They go on being gathered when a loop is left, and the next one goes on after them.
   * @returns {AsyncGenerator<Event, void, void>}
   */
  async *[Symbol.asyncIterator]() {
    if (this.#isRead) throw new TypeError("a turn's events are read by one loop at a time")
    this.#isRead = true
    try {
      for (let event; (event = await this.#queue.next()); ) yield event
    } finally {
      this.#isRead = false
    }
  }

  /**
   * @param {() => Promise<Beginning>} begin
   * @returns {Promise<import('./events.js').Answer>}
   */
  async #run(begin) {
    try {
      let beginning = await begin()
      for (;;) {
        this.#kept.save({ turnId: this.id, ...beginning })
        const { envelope, after } = await this.#listen(beginning)
        const response = /** @type {import('./wire.js').Final | import('./wire.js').Continuation} */ (
          successful(envelope).Result
        )
        if (response.Kind === 'final' || !this.#options.tools) return this.#finish(response)
        const results = await this.#runTools(response.ToolCalls, beginning)
        const body = { SessionId: this.sessionId, TurnId: this.id, ToolResults: tools.fitting(results ?? []) }
        beginning = results
          ? { asked: { method: 'POST', path: paths.TOOL_RESULTS, body: JSON.stringify(body) }, after }
          : { asked: { method: 'GET', path: paths.turn(this.sessionId, this.id, '/stream') }, after }
      }
    } catch (error) {
      throw this.#failed(error)
    }
  }

  /**
   * Reads the stream of one request until its `result`.
   * @param {Beginning} beginning
   */
  async #listen({ asked, after }) {
    const watch = {
      signal: this.#listening.signal,
      lastEventId: after,
      asking: () => (this.#isAsking = true),
      waiting: (/** @type {AptixError} */ error, /** @type {number} */ pauseMs) => {
        this.#isAsking = false
        this.#queue.push({ type: 'retry', error, pauseMs })
      },
    }
    for await (const { id, name, data } of follow(this.#http, asked, watch)) {
      if (name === 'result') return { envelope: data, after: id ?? after }
      if (name === 'delta') this.#delta(data.Text, data.Index)
      else if (name === 'reset') this.#reset(data.Reason)
      else if (name === 'status') this.#queue.push({ type: 'status', status: data })
      // Others may be added; they say nothing that an answer depends on.
    }
    throw AptixError.interrupted()
  }

  /**
   * Runs the calls, one after the other, in their order; none of it when the turn is stopped meanwhile.
   * @param {import('./wire.js').ToolCall[]} calls
   * @param {Beginning} beginning
   */
  async #runTools(calls, beginning) {
    const spelled = JSON.stringify(calls)
    // A program that was started again has some of them already.
    const results = beginning.ran?.calls === spelled ? [...beginning.ran.results] : []
    const toolbox = {
      tools: this.#options.tools ?? {},
      approve: this.#options.approve,
      toolTimeoutMs: this.#options.toolTimeoutMs ?? TOOL_TIMEOUT_MS,
      signal: AbortSignal.any([this.#listening.signal, this.#running.signal]),
      tell: (/** @type {Event} */ event) => this.#queue.push(event),
    }
    try {
      for (const call of calls.slice(results.length)) {
        results.push(await tools.run(tools.call(call), toolbox))
        this.#kept.save({ turnId: this.id, ...beginning, ran: { calls: spelled, results } })
      }
    } catch (error) {
      if (!this.#stopping || this.#listening.signal.aborted) throw error
      await this.#stopping
      return undefined
    }
    return results
  }

  async #cancel() {
    this.#running.abort(AptixError.stopped())
    const path = paths.turn(this.sessionId, this.id, '/cancel')
    for (let sent = 0; ; sent++) {
      try {
        return await /** @type {Promise<import('./wire.js').TurnSummary>} */ (this.#http.result('POST', path))
      } catch (error) {
        if (!(error instanceof AptixError) || !UNKNOWN.includes(error.code)) throw error
        if (!this.#isAsking || sent === CANCELS) {
          this.#listening.abort(AptixError.stopped())
          return undefined
        }
      }
      // The turn's own request is still on its way.
      await sleep(50 * 2 ** sent)
    }
  }

  /**
   * @param {string} text
   * @param {number} index
   */
  #delta(text, index) {
    if (index !== this.#text.length) {
      // Texts that don't fit together are not the answer.
      const whole = this.#text.slice(0, index) + text
      this.#reset('mended')
      ;[text, index] = [whole, 0]
    }
    this.#text += text
    this.#queue.push({ type: 'delta', text, index })
  }

  /** @param {import('./events.js').ResetEvent['reason']} [reason] */
  #reset(reason) {
    this.#before = this.#text || this.#before
    this.#text = ''
    this.#queue.push(reason === undefined ? { type: 'reset' } : { type: 'reset', reason })
  }

  /** @param {import('./wire.js').Final | import('./wire.js').Continuation} response */
  #finish(response) {
    const isFinal = response.Kind === 'final'
    if (isFinal && response.PrimaryOutputText !== this.#text) {
      // A turn that was not streamed, or whose stream is no longer kept: the result is what counts.
      if (this.#text !== '') this.#reset('mended')
      if (response.PrimaryOutputText !== '') this.#delta(response.PrimaryOutputText, 0)
    }
    /** @type {import('./events.js').Answer} */
    const answer = {
      text: isFinal ? response.PrimaryOutputText : (response.ToolContinuationMessage ?? ''),
      calls: isFinal ? [] : response.ToolCalls.map(tools.call),
      files: (isFinal && response.Files) || [],
      usage: isFinal ? response.Usage : undefined,
      warnings: (isFinal && response.UserWarnings) || [],
      mode: response.ModeDisplayName,
      response,
    }
    this.#kept.clear(this.id)
    this.#queue.push({ type: 'result', answer })
    this.#queue.close()
    return answer
  }

  /** @param {unknown} error */
  #failed(error) {
    const isStopped = this.#stopping && error instanceof AptixError && error.code === 'TurnCancelled'
    if (isStopped) this.#queue.push({ type: 'stopped', text: this.#text || this.#before })
    // What can't be had now may be had later; all else is how the turn ended.
    const isOpen = !(error instanceof AptixError) || error.retry === 'same_request'
    if (!isOpen) this.#kept.clear(this.id)
    if (isStopped) this.#queue.close()
    else this.#queue.fail(error)
    return error
  }
}
