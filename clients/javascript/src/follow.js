/**
 * Reads the events of a turn over as many connections as needed.
 *
 * @module
 */

import { AptixError } from './errors.js'
import { parseEnvelope, readEnvelope, textChunks } from './http.js'
import { Backoff, sleep } from './retry.js'
import { EventParser } from './sse.js'

/**
 * An event of the API. The `result` event carries the envelope and comes once, at the end.
 * @typedef {{ id: number | undefined, name: string, data: any }} TurnEvent
 *
 * A request of a turn. Every retry sends the same bytes, so retries have no side effects.
 * @typedef {{ method: 'GET' | 'POST', path: string, body?: string }} TurnRequest
 *
 * @typedef {object} FollowOptions
 * @property {AbortSignal} signal Stops reading.
 * @property {number} [lastEventId] Last event received over an earlier connection.
 * @property {() => void} onRequest Called before each request.
 * @property {(error: AptixError, delayMs: number) => void} onRetry Called before a failed request is retried.
 */

/**
 * Reads until the `result` event. After a lost connection, or one that ends before its turn, it sends the same request
 * again with the id of the last event received. A turn runs whether or not a client reads it, and its model is called
 * once. The request also takes the turn over if the function that worked on it died.
 *
 * @param {import('./http.js').Http} http
 * @param {TurnRequest} request
 * @param {FollowOptions} options
 * @returns {AsyncGenerator<TurnEvent, void, void>}
 */
export async function* follow(http, request, options) {
  const backoff = new Backoff(http.retry, () => http.wasReached)
  let last = options.lastEventId
  for (;;) {
    try {
      options.onRequest()
      for await (const event of readConnection(http, request, last, options.signal)) {
        // Skip events that the connection repeats.
        if (event.id !== undefined && last !== undefined && event.id <= last) continue
        if (event.id !== undefined) last = event.id
        const isErrorResponse = event.name === 'result' && !event.data.Successful && event.id === undefined
        // An error response is not an event of the turn. Some of them can be retried.
        if (isErrorResponse) throw AptixError.fromEnvelope(event.data)
        // Every connection sends its status again, so events without an id are not progress.
        if (event.id !== undefined) backoff.reset()
        yield event
        if (event.name === 'result') return
      }
      throw AptixError.interrupted()
    } catch (error) {
      options.signal.throwIfAborted()
      const delay = backoff.nextDelay(error)
      options.onRetry(/** @type {AptixError} */ (error), delay)
      await sleep(delay, options.signal)
    }
  }
}

/**
 * Yields the events of one connection.
 * @param {import('./http.js').Http} http
 * @param {TurnRequest} request
 * @param {number | undefined} last
 * @param {AbortSignal} signal
 * @returns {AsyncGenerator<TurnEvent, void, void>}
 */
async function* readConnection(http, { method, path, body }, last, signal) {
  /** @type {Record<string, string>} */
  const headers = { accept: 'text/event-stream, application/json' }
  if (last !== undefined) headers['last-event-id'] = String(last)
  const response = await http.request(method, path, { headers, body, signal })
  // 204: no new events after the last one.
  if (response.status === 204) throw AptixError.interrupted()
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    // A turn that was started without streaming gets a buffered response. A late error has status 200.
    yield { id: undefined, name: 'result', data: await readEnvelope(response, http.retry, signal) }
    return
  }
  const parser = new EventParser()
  for await (const text of textChunks(response, http.retry, signal)) {
    for (const { id, event, data } of parser.push(text)) {
      const number = id === undefined || id === '' ? undefined : Number(id)
      yield { id: number, name: event, data: event === 'result' ? (parseEnvelope(data) ?? failMalformed()) : parseJson(data) }
    }
  }
  throw AptixError.interrupted(undefined, parser.retryMs)
}

/** @param {string} data */
function parseJson(data) {
  try {
    return JSON.parse(data)
  } catch {
    return failMalformed()
  }
}

/** @returns {never} */
function failMalformed() {
  throw AptixError.interrupted(new SyntaxError('Malformed event data'))
}
