import { AptixError } from './errors.js'
import { follow } from './follow.js'
import { requireSuccess } from './http.js'
import * as paths from './paths.js'
import { Queue } from './queue.js'
import * as tools from './tools.js'
import { sleep } from './retry.js'

/** @typedef {import('./events.js').Event} Event */

/**
 * Options of a turn.
 * @typedef {object} TurnOptions
 * @property {Record<string, tools.Tool>} [tools] Client tools by name. Without them, a turn with client tool
 * calls ends with those calls; continue it with `session.submitToolResults`.
 * @property {tools.Approve} [approve] Approves each call before it runs.
 * @property {number} [toolTimeoutMs] Time limit of a tool call; 15 minutes by default.
 * @property {AbortSignal} [signal] Stops reading. The turn continues; `stop()` ends it.
 *
 * A point to start or resume a turn from: its request, the last event received, and the tool results so far.
 * @typedef {Omit<import('./resume-store.js').OpenTurn, 'turnId'>} ResumePoint
 */

const TOOL_TIMEOUT_MS = 15 * 60_000
/** Retries of a cancel request that arrives before the turn it cancels. */
const MAX_CANCEL_RETRIES = 8
const NOT_FOUND_CODES = ['TurnNotFound', 'SessionNotFound']

/** A running turn: its events and its result. Iterate over it to read the events. */
export class Turn {
  #http
  #resumeEntry
  #options
  #queue = new Queue()
  #readAbort = new AbortController()
  #toolAbort = new AbortController()
  #result
  #isIterating = false
  #text = ''
  #discardedText = ''
  /** True while a request is in flight. */
  #hasRequestInFlight = false
  /** @type {Promise<import('./wire.js').TurnSummary | undefined> | undefined} */
  #stopResult

  /**
   * @param {import('./http.js').Http} http
   * @param {import('./resume-store.js').ResumeEntry} resumeEntry
   * @param {{ sessionId: string, id: string }} ids
   * @param {() => Promise<ResumePoint>} prepare
   * @param {TurnOptions} options
   */
  constructor(http, resumeEntry, { sessionId, id }, prepare, options) {
    this.#http = http
    this.#resumeEntry = resumeEntry
    this.#options = options
    this.sessionId = sessionId
    /** The turn's id, known before anything is sent. Store it to find the turn again. */
    this.id = id
    const { signal } = options
    const abort = () => this.#readAbort.abort(signal?.reason)
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
    this.#result = this.#run(prepare).finally(() => signal?.removeEventListener('abort', abort))
    // A consumer that only reads the events gets a failure from them.
    this.#result.catch(() => {})
  }

  /** The text of the answer so far. */
  get text() {
    return this.#text
  }

  /**
   * Resolves to the result of the turn. Rejects with an `AptixError` if the turn failed or was stopped, and with the signal's
   * reason if the signal was aborted.
   * @returns {Promise<import('./events.js').Answer>}
   */
  final() {
    return this.#result
  }

  /**
   * Cancels the turn at the API and returns its summary, which can show that the turn had ended already. Returns undefined if
   * the turn never started.
   * @returns {Promise<import('./wire.js').TurnSummary | undefined>}
   */
  stop() {
    this.#stopResult ??= this.#cancel()
    return this.#stopResult
  }

  /**
   * Resolves when a `stop()` in progress is over. Never rejects.
   * @returns {Promise<void>}
   */
  get stopSettled() {
    return Promise.resolve(this.#stopResult).then(
      () => {},
      () => {},
    )
  }

  /**
   * Yields each event of the turn once. Events are queued while no loop reads them; the next loop continues there.
   * @returns {AsyncGenerator<Event, void, void>}
   */
  async *[Symbol.asyncIterator]() {
    if (this.#isIterating) throw new TypeError("Only one loop at a time can read a turn's events")
    this.#isIterating = true
    try {
      for (let event; (event = await this.#queue.next()); ) yield event
    } finally {
      this.#isIterating = false
    }
  }

  /**
   * @param {() => Promise<ResumePoint>} prepare
   * @returns {Promise<import('./events.js').Answer>}
   */
  async #run(prepare) {
    try {
      let resumePoint = await prepare()
      for (;;) {
        this.#resumeEntry.save({ turnId: this.id, ...resumePoint })
        const { envelope, lastEventId } = await this.#readStream(resumePoint)
        const response = /** @type {import('./wire.js').Final | import('./wire.js').Continuation} */ (
          requireSuccess(envelope).Result
        )
        if (response.Kind === 'final' || !this.#options.tools) return this.#finish(response)
        const results = await this.#runTools(response.ToolCalls, resumePoint)
        const body = { SessionId: this.sessionId, TurnId: this.id, ToolResults: tools.fitToRequest(results ?? []) }
        resumePoint = results
          ? { request: { method: 'POST', path: paths.TOOL_RESULTS, body: JSON.stringify(body) }, lastEventId }
          : { request: { method: 'GET', path: paths.turn(this.sessionId, this.id, '/stream') }, lastEventId }
      }
    } catch (error) {
      throw this.#fail(error)
    }
  }

  /**
   * Reads the stream of one request until its `result` event.
   * @param {ResumePoint} resumePoint
   */
  async #readStream({ request, lastEventId }) {
    const followOptions = {
      signal: this.#readAbort.signal,
      lastEventId,
      onRequest: () => (this.#hasRequestInFlight = true),
      onRetry: (/** @type {AptixError} */ error, /** @type {number} */ delayMs) => {
        this.#hasRequestInFlight = false
        this.#queue.push({ type: 'retry', error, delayMs })
      },
    }
    for await (const { id, name, data } of follow(this.#http, request, followOptions)) {
      if (name === 'result') return { envelope: data, lastEventId: id ?? lastEventId }
      if (name === 'delta') this.#delta(data.Text, data.Index)
      else if (name === 'reset') this.#reset(data.Reason)
      else if (name === 'status') this.#queue.push({ type: 'status', status: data })
      else if (name === 'reasoning') this.#queue.push({ type: 'reasoning', text: data.Text, index: data.Index, round: data.Round })
      // Ignore other events: the answer never depends on them.
    }
    throw AptixError.interrupted()
  }

  /**
   * Runs the calls sequentially, in order. Returns undefined if the turn is stopped meanwhile.
   * @param {import('./wire.js').ToolCall[]} calls
   * @param {ResumePoint} resumePoint
   */
  async #runTools(calls, resumePoint) {
    const callsJson = JSON.stringify(calls)
    // A restarted program has some of the results already.
    const results = resumePoint.toolProgress?.callsJson === callsJson ? [...resumePoint.toolProgress.results] : []
    const toolbox = {
      tools: this.#options.tools ?? {},
      approve: this.#options.approve,
      toolTimeoutMs: this.#options.toolTimeoutMs ?? TOOL_TIMEOUT_MS,
      signal: AbortSignal.any([this.#readAbort.signal, this.#toolAbort.signal]),
      emit: (/** @type {Event} */ event) => this.#queue.push(event),
    }
    try {
      for (const call of calls.slice(results.length)) {
        results.push(await tools.runCall(tools.parseCall(call), toolbox))
        this.#resumeEntry.save({ turnId: this.id, ...resumePoint, toolProgress: { callsJson, results } })
      }
    } catch (error) {
      if (!this.#stopResult || this.#readAbort.signal.aborted) throw error
      await this.#stopResult
      return undefined
    }
    return results
  }

  async #cancel() {
    this.#toolAbort.abort(AptixError.stopped())
    const path = paths.turn(this.sessionId, this.id, '/cancel')
    for (let attempt = 0; ; attempt++) {
      try {
        return await /** @type {Promise<import('./wire.js').TurnSummary>} */ (this.#http.call('POST', path))
      } catch (error) {
        if (!(error instanceof AptixError) || !NOT_FOUND_CODES.includes(error.code)) throw error
        if (!this.#hasRequestInFlight || attempt === MAX_CANCEL_RETRIES) {
          this.#readAbort.abort(AptixError.stopped())
          return undefined
        }
      }
      // The turn's own request is still in flight.
      await sleep(50 * 2 ** attempt)
    }
  }

  /**
   * @param {string} text
   * @param {number} index
   */
  #delta(text, index) {
    if (index !== this.#text.length) {
      // A gap or an overlap: replace the text.
      const combined = this.#text.slice(0, index) + text
      this.#reset('corrected')
      ;[text, index] = [combined, 0]
    }
    this.#text += text
    this.#queue.push({ type: 'delta', text, index })
  }

  /** @param {import('./events.js').ResetEvent['reason']} [reason] */
  #reset(reason) {
    this.#discardedText = this.#text || this.#discardedText
    this.#text = ''
    this.#queue.push(reason === undefined ? { type: 'reset' } : { type: 'reset', reason })
  }

  /** @param {import('./wire.js').Final | import('./wire.js').Continuation} response */
  #finish(response) {
    const isFinal = response.Kind === 'final'
    if (isFinal && response.PrimaryOutputText !== this.#text) {
      // The turn was not streamed, or its stream has expired: use the text of the result.
      if (this.#text !== '') this.#reset('corrected')
      if (response.PrimaryOutputText !== '') this.#delta(response.PrimaryOutputText, 0)
    }
    /** @type {import('./events.js').Answer} */
    const answer = {
      text: isFinal ? response.PrimaryOutputText : (response.ToolContinuationMessage ?? ''),
      calls: isFinal ? [] : response.ToolCalls.map(tools.parseCall),
      files: (isFinal && response.Files) || [],
      usage: isFinal ? response.Usage : undefined,
      warnings: (isFinal && response.UserWarnings) || [],
      mode: response.ModeDisplayName,
      response,
    }
    this.#resumeEntry.clear(this.id)
    this.#queue.push({ type: 'result', answer })
    this.#queue.close()
    return answer
  }

  /** @param {unknown} error */
  #fail(error) {
    const isStopped = this.#stopResult && error instanceof AptixError && error.code === 'TurnCancelled'
    if (isStopped) this.#queue.push({ type: 'stopped', text: this.#text || this.#discardedText })
    // An error that can be retried leaves the turn open. Any other error is its outcome.
    const isOpen = !(error instanceof AptixError) || error.retry === 'same_request'
    if (!isOpen) this.#resumeEntry.clear(this.id)
    if (isStopped) this.#queue.close()
    else this.#queue.fail(error)
    return error
  }
}
