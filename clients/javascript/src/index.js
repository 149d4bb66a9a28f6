/**
 * Conversations with agents, over the API of this repository. No dependencies; runs in browsers, Node and Deno as it is.
 *
 * @module
 */

import { Http } from './http.js'
import * as paths from './paths.js'
import { pages, Session } from './session.js'
import { PATIENCE } from './wait.js'

export { AptixError } from './errors.js'
export { Session } from './session.js'
export { Turn } from './turn.js'

/**
 * @typedef {import('./events.js').Answer} Answer
 * @typedef {import('./events.js').Call} Call
 * @typedef {import('./events.js').Event} Event
 * @typedef {import('./http.js').Token} Token
 * @typedef {import('./kept.js').Keep} Keep
 * @typedef {import('./session.js').Said} Said
 * @typedef {import('./tools.js').Tool} Tool
 * @typedef {import('./tools.js').Approve} Approve
 *
 * @typedef {object} Options
 * @property {string | URL} baseUrl Where the API is: `http://127.0.0.1:9000`, or a deployment's `ApiUrl`, stage included.
 * @property {Token} token
 * @property {Keep} [keep] Where open turns are kept for a later `resume`: `localStorage`, `sessionStorage`.
 * @property {typeof globalThis.fetch} [fetch]
 * @property {Partial<import('./wait.js').Patience>} [patience] How often and how long something is tried again.
 */

/**
 * Which sessions: those that a user owns or takes part in, those whose last turn stands so, those that are in a mode now,
 * those that something happened in between two instants.
 * @typedef {{
 *   userId?: string, status?: 'pending' | 'completed' | 'failed', mode?: string, from?: string, to?: string,
 *   includeDeleted?: boolean, pageSize?: number,
 * }} SessionFilter
 */

/** The sessions of the caller's org. */
class Sessions {
  #http
  #open

  /**
   * @param {Http} http
   * @param {(id: string) => Session} open
   */
  constructor(http, open) {
    this.#http = http
    this.#open = open
  }

  /**
   * Newest activity first.
   * @param {SessionFilter} [asked]
   * @returns {AsyncGenerator<import('./wire.js').SessionSummary, void, void>}
   */
  list(asked = {}) {
    return pages(this.#http, paths.SESSIONS, queried(asked))
  }

  /**
   * Those in whose name, description or turns all the words stand, with where.
   * @param {string} words at most eight
   * @param {SessionFilter} [asked]
   * @returns {AsyncGenerator<import('./wire.js').FoundSession, void, void>}
   */
  search(words, asked = {}) {
    return pages(this.#http, paths.SEARCH, { q: words, ...queried(asked) })
  }

  /**
   * A session with its first hundred turns.
   * @param {string} id
   */
  get(id) {
    return this.#open(id).read()
  }
}

/** @param {SessionFilter} asked */
function queried({ userId, status, mode, from, to, includeDeleted, pageSize }) {
  return { userId, status, mode, from, to, includeDeleted: includeDeleted ? 'true' : undefined, pageSize }
}

/** The API, as one caller sees it. */
export class Aptix {
  #http
  #keep

  /** @param {Options} options */
  constructor({ baseUrl, token, keep, fetch = globalThis.fetch, patience = {} }) {
    const base = new URL(baseUrl)
    if (!base.pathname.endsWith('/')) base.pathname += '/'
    this.#http = new Http(base, token, fetch, { ...PATIENCE, ...patience })
    this.#keep = keep
    this.sessions = new Sessions(this.#http, (id) => this.session(id))
  }

  /**
   * A conversation: the one with this id, or a new one. What is said of its turns here holds for each of them.
   * @param {string} [id]
   * @param {Partial<Said>} [defaults]
   */
  session(id, defaults = {}) {
    return new Session(this.#http, this.#keep, id, defaults)
  }

  /**
   * What a link of an answer leads to: a file's `Url`, a turn's `FullAgentAnswerUrl`.
   * @param {string} link
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {Promise<Response>}
   */
  open(link, { signal } = {}) {
    return this.#http.payload(link, signal)
  }
}
