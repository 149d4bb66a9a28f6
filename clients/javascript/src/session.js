import { mint } from './id.js'
import { Kept } from './kept.js'
import * as paths from './paths.js'
import { userTurn } from './request.js'
import { results } from './tools.js'
import { Turn } from './turn.js'

/**
 * @typedef {import('./request.js').Input & import('./turn.js').Listening} Said
 *
 * What a turn can be read of, whole. Those of the model are for operators.
 * @typedef {'instruction' | 'answer' | 'llm-request' | 'llm-response'} Payload
 */

/** A conversation. Nothing is sent until something is said or read. */
export class Session {
  #http
  #keep
  #kept
  #defaults
  /** @type {Turn | undefined} */
  #newest

  /**
   * @param {import('./http.js').Http} http
   * @param {import('./kept.js').Keep | undefined} keep
   * @param {string | undefined} id
   * @param {Partial<Said>} defaults
   */
  constructor(http, keep, id, defaults) {
    this.#http = http
    this.#keep = keep
    this.#defaults = defaults
    /** Known before anything is sent: whoever keeps it finds the session again. */
    this.id = id ?? mint()
    this.#kept = new Kept(keep, this.id)
  }

  /**
   * Says something, in a turn of its own. `turnId` is minted unless it is given; the same one with the same input is
   * the same turn, and gets the same answer. A turn before it that is being stopped is waited for.
   * @param {string | import('./testing.js').Script} text
   * @param {Said & { turnId?: string }} [options]
   * @returns {Turn}
   */
  send(text, options = {}) {
    const { turnId = mint(), ...said } = { ...this.#defaults, ...options }
    const before = this.#newest
    return this.#turn(turnId, said, async () => {
      const body = await userTurn(this.id, turnId, String(text), said)
      await before?.stopping
      return { asked: { method: 'POST', path: paths.EXECUTE, body } }
    })
  }

  /**
   * Asks the same as a turn that is over, or something else in its place, in a turn of its own. The model is told neither that
   * turn nor what came after it.
   * @param {string} ofTurnId
   * @param {import('./turn.js').Listening & { text?: string, model?: string, mode?: string, turnId?: string }} [options]
   * @returns {Turn}
   */
  rerun(ofTurnId, options = {}) {
    const { turnId = mint(), text, model, mode, ...listening } = { ...this.#defaults, ...options }
    const before = this.#newest
    const asked = { TurnId: turnId, Instruction: text, Model: model, Mode: mode, Streaming: true }
    return this.#turn(turnId, listening, async () => {
      await before?.stopping
      const path = paths.turn(this.id, ofTurnId, '/rerun')
      return { asked: { method: 'POST', path, body: JSON.stringify(asked) } }
    })
  }

  /**
   * A session of its own that goes on from a completed turn of this one. `id` is minted unless it is given.
   * @param {string} turnId
   * @param {{ id?: string, name?: string }} [options]
   * @returns {Promise<Session>}
   */
  async fork(turnId, { id = mint(), name } = {}) {
    const body = JSON.stringify({ SessionId: id, TurnId: turnId, Name: name })
    await this.#http.result('POST', `${paths.session(this.id)}/fork`, { body })
    return new Session(this.#http, this.#keep, id, this.#defaults)
  }

  /**
   * Goes on with a turn that was begun before: the one that is kept as open, or the one that is named. What is kept is
   * asked again, so its function is replaced if it died, and tools that ran are not run again.
   * @param {import('./turn.js').Listening & { turnId?: string }} [options]
   * @returns {Turn}
   */
  resume(options = {}) {
    const kept = this.#kept.turn
    const { turnId = kept?.turnId, ...listening } = { ...this.#defaults, ...options }
    if (turnId === undefined) throw new TypeError('no turn is kept as open: name one, as turnId')
    const { turnId: _, ...beginning } = kept?.turnId === turnId ? kept : this.#stream(turnId)
    return this.#turn(turnId, listening, async () => beginning)
  }

  /**
   * Goes on with a turn whose calls were run by hand, and listens to the rest of it. One result per call, in the order of
   * the calls.
   * @param {string} turnId
   * @param {{ id: string, output?: unknown, error?: string, tookMs?: number }[]} given
   * @param {import('./turn.js').Listening} [options]
   * @returns {Turn}
   */
  submit(turnId, given, options = {}) {
    const body = JSON.stringify({ SessionId: this.id, TurnId: turnId, ToolResults: results(given) })
    const listening = { ...this.#defaults, ...options }
    return this.#turn(turnId, listening, async () => ({
      asked: { method: 'POST', path: paths.TOOL_RESULTS, body },
    }))
  }

  /** The id of the turn that is kept as open: `resume()` goes on with it. Needs the option `keep`. */
  get openTurn() {
    return this.#kept.turn?.turnId
  }

  /**
   * The session with its first turns, at most a hundred; `turns()` has all.
   * @param {{ pageSize?: number }} [asked]
   * @returns {Promise<import('./wire.js').AgentSession>}
   */
  read({ pageSize } = {}) {
    return this.#http.result('GET', paths.session(this.id) + paths.query({ pageSize }))
  }

  /**
   * Names it, describes it, says who of the org may see it.
   * @param {{ name?: string, description?: string, visibility?: 'org' | 'participants' }} edit what is left out stays
   * @returns {Promise<import('./wire.js').SessionSummary>}
   */
  change({ name, description, visibility }) {
    const body = JSON.stringify({ Name: name, Description: description, Visibility: visibility })
    return this.#http.result('PATCH', paths.session(this.id), { body })
  }

  /**
   * Deletes it; until its `KeptUntilDate` it can be restored.
   * @returns {Promise<import('./wire.js').SessionSummary>}
   */
  delete() {
    return this.#http.result('DELETE', paths.session(this.id))
  }

  /**
   * Takes its deletion back.
   * @returns {Promise<import('./wire.js').SessionSummary>}
   */
  restore() {
    return this.#http.result('POST', `${paths.session(this.id)}/restore`)
  }

  /**
   * All turns, in their order, or from the last one back.
   * @param {{ order?: 'asc' | 'desc' }} [asked]
   * @returns {AsyncGenerator<import('./wire.js').SessionTurn, void, void>}
   */
  async *turns({ order } = {}) {
    /** @type {string | undefined} */
    let continuationToken
    do {
      const path = paths.session(this.id) + paths.query({ order, continuationToken })
      /** @type {import('./wire.js').AgentSession} */
      const page = await this.#http.result('GET', path)
      yield* page.Turns
      continuationToken = page.ContinuationToken
    } while (continuationToken !== undefined)
  }

  /**
   * What a turn did: the model's replies in order, with the calls in them and what came of these. A long value is told by its
   * head, unless it is asked for whole.
   * @param {string} turnId
   * @param {{ whole?: boolean, signal?: AbortSignal }} [asked]
   * @returns {AsyncGenerator<import('./wire.js').TurnStep, void, void>}
   */
  async *steps(turnId, { whole = false, signal } = {}) {
    /** @type {string | undefined} */
    let continuationToken
    do {
      const path = paths.turn(this.id, turnId, '/steps') + paths.query({ continuationToken })
      /** @type {{ Items: import('./wire.js').TurnStep[], ContinuationToken?: string }} */
      const page = await this.#http.result('GET', path)
      for (const step of page.Items) yield whole ? await this.#whole(step, signal) : step
      continuationToken = page.ContinuationToken
    } while (continuationToken !== undefined)
  }

  /**
   * A step with all of its values.
   * @param {import('./wire.js').TurnStep} step
   * @param {AbortSignal | undefined} signal
   * @returns {Promise<import('./wire.js').TurnStep>}
   */
  async #whole(step, signal) {
    const read = async (/** @type {string | undefined} */ link, /** @type {string | undefined} */ head) =>
      link === undefined ? head : (await this.#http.payload(link, signal)).text()
    const { FullTextUrl, Calls, ...rest } = step
    const all = Calls?.map(async ({ FullArgumentsJsonUrl, FullResultJsonUrl, FullErrorMessageUrl, ...call }) => ({
      ...call,
      ArgumentsJson: (await read(FullArgumentsJsonUrl, call.ArgumentsJson)) ?? '',
      ResultJson: await read(FullResultJsonUrl, call.ResultJson),
      ErrorMessage: await read(FullErrorMessageUrl, call.ErrorMessage),
    }))
    return { ...rest, Text: await read(FullTextUrl, step.Text), Calls: all && (await Promise.all(all)) }
  }

  /**
   * @param {string} turnId `last` is the newest one
   * @returns {Promise<import('./wire.js').SessionTurn>}
   */
  turn(turnId) {
    return this.#http.result('GET', paths.turn(this.id, turnId))
  }

  /**
   * A turn in a few lines, cheap enough to poll.
   * @param {string} turnId
   * @returns {Promise<import('./wire.js').TurnSummary>}
   */
  summary(turnId) {
    return this.#http.result('GET', paths.turn(this.id, turnId, '/summary'))
  }

  /**
   * Ends a turn, whoever began it, and gives what it came to.
   * @param {string} turnId
   * @returns {Promise<import('./wire.js').TurnSummary>}
   */
  cancel(turnId) {
    return this.#http.result('POST', paths.turn(this.id, turnId, '/cancel'))
  }

  /**
   * What was asked, what was answered, whole.
   * @param {string} turnId
   * @param {Payload} payload
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {Promise<Response>}
   */
  payload(turnId, payload, { signal } = {}) {
    return this.#http.payload(paths.turn(this.id, turnId, `/payloads/${payload}`), signal)
  }

  /**
   * The changes of the session's mode, newest first.
   * @returns {AsyncGenerator<import('./wire.js').ModeChange, void, void>}
   */
  modeHistory() {
    return pages(this.#http, `${paths.session(this.id)}/mode-history`, {})
  }

  /**
   * @param {string} id
   * @param {import('./turn.js').Listening} listening
   * @param {() => Promise<import('./turn.js').Beginning>} begin
   */
  #turn(id, listening, begin) {
    this.#newest = new Turn(this.#http, this.#kept, { sessionId: this.id, id }, begin, listening)
    return this.#newest
  }

  /**
   * @param {string} turnId
   * @returns {import('./kept.js').KeptTurn}
   */
  #stream(turnId) {
    return { turnId, asked: { method: 'GET', path: paths.turn(this.id, turnId, '/stream') } }
  }
}

/**
 * The items of a list, page after page.
 * @template T
 * @param {import('./http.js').Http} http
 * @param {string} path
 * @param {Record<string, string | number | undefined>} asked
 * @returns {AsyncGenerator<T, void, void>}
 */
export async function* pages(http, path, asked) {
  /** @type {string | undefined} */
  let continuationToken
  do {
    /** @type {import('./wire.js').Page<T>} */
    const page = await http.result('GET', path + paths.query({ ...asked, continuationToken }))
    yield* page.Items
    continuationToken = page.HasMore ? page.ContinuationToken : undefined
  } while (continuationToken !== undefined)
}
