/**
 * The events of a turn, over as many connections as it takes.
 *
 * @module
 */

import { AptixError } from './errors.js'
import { envelope, read, texts } from './http.js'
import { Events } from './sse.js'
import { sleep, Tries } from './wait.js'

/**
 * An event as the API tells it. `envelope` is there once, at the end.
 * @typedef {{ id: number | undefined, name: string, data: any }} TurnEvent
 *
 * What is asked: the same each time, so that asking again changes nothing.
 * @typedef {{ method: 'GET' | 'POST', path: string, body?: string }} Asked
 *
 * @typedef {object} Watch
 * @property {AbortSignal} signal Ends the reading.
 * @property {number} [lastEventId] The last event that is known already.
 * @property {() => void} asking A request is sent.
 * @property {(error: AptixError, pauseMs: number) => void} waiting One failed; it is sent again after a pause.
 */

/**
 * Reads until the `result`. A connection that is lost, or that ends before its turn, is followed by the same request
 * again, with the id of the last event that was got. A turn goes on whether or not anybody reads it, and is asked
 * of the model once; the request also takes it over when the function died that worked on it.
 *
 * @param {import('./http.js').Http} http
 * @param {Asked} asked
 * @param {Watch} watch
 * @returns {AsyncGenerator<TurnEvent, void, void>}
 */
export async function* follow(http, asked, watch) {
  const tries = new Tries(http.patience)
  let last = watch.lastEventId
  for (;;) {
    try {
      watch.asking()
      for await (const event of connection(http, asked, last, watch.signal)) {
        // What a connection repeats is no news.
        if (event.id !== undefined && last !== undefined && event.id <= last) continue
        if (event.id !== undefined) last = event.id
        const refused = event.name === 'result' && !event.data.Successful && event.id === undefined
        // A refusal is no event of the turn. Some pass.
        if (refused) throw AptixError.of(event.data)
        // A status is told anew on each connection, so it is no progress.
        if (event.id !== undefined) tries.progress()
        yield event
        if (event.name === 'result') return
      }
      throw AptixError.interrupted()
    } catch (error) {
      watch.signal.throwIfAborted()
      const pause = tries.after(error)
      watch.waiting(/** @type {AptixError} */ (error), pause)
      await sleep(pause, watch.signal)
    }
  }
}

/**
 * The events of one connection.
 * @param {import('./http.js').Http} http
 * @param {Asked} asked
 * @param {number | undefined} last
 * @param {AbortSignal} signal
 * @returns {AsyncGenerator<TurnEvent, void, void>}
 */
async function* connection(http, { method, path, body }, last, signal) {
  /** @type {Record<string, string>} */
  const headers = { accept: 'text/event-stream, application/json' }
  if (last !== undefined) headers['last-event-id'] = String(last)
  const response = await http.open(method, path, { headers, body, signal })
  // Nothing yet after the last event.
  if (response.status === 204) throw AptixError.interrupted()
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    // A turn that was begun without a stream is answered whole, an error late with the status of success.
    yield { id: undefined, name: 'result', data: await envelope(response, http.patience, signal) }
    return
  }
  const events = new Events()
  for await (const text of texts(response, http.patience, signal)) {
    for (const { id, event, data } of events.push(text)) {
      const number = id === undefined || id === '' ? undefined : Number(id)
      yield { id: number, name: event, data: event === 'result' ? (read(data) ?? broken()) : parsed(data) }
    }
  }
  throw AptixError.interrupted(undefined, events.retryMs)
}

/** @param {string} data */
function parsed(data) {
  try {
    return JSON.parse(data)
  } catch {
    return broken()
  }
}

/** @returns {never} */
function broken() {
  throw AptixError.interrupted(new SyntaxError("an event's data is not what the API writes"))
}
