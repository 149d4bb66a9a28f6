/**
 * Client for the Aptix API. Runs unbundled and without dependencies in browsers, Node and Deno.
 *
 * @module
 */

import { Approvals } from './approvals.js'
import { Http } from './http.js'
import * as paths from './paths.js'
import { paginate, Session } from './session.js'
import { DEFAULT_RETRY } from './retry.js'

export { AptixError } from './errors.js'
export { Session } from './session.js'
export { Turn } from './turn.js'

/**
 * @typedef {import('./events.js').Answer} Answer
 * @typedef {import('./events.js').Call} Call
 * @typedef {import('./events.js').Event} Event
 * @typedef {import('./http.js').Token} Token
 * @typedef {import('./resume-store.js').ResumeStore} ResumeStore
 * @typedef {import('./session.js').SendOptions} SendOptions
 * @typedef {import('./tools.js').Tool} Tool
 * @typedef {import('./tools.js').Approve} Approve
 *
 * @typedef {object} ClientOptions
 * @property {string | URL} baseUrl URL of the API: `http://127.0.0.1:9000`, or a deployment's `ApiUrl`, stage included.
 * @property {Token} token
 * @property {ResumeStore} [resumeStore] Store for open turns, which `session.resume()` needs: `localStorage` or `sessionStorage`.
 * @property {typeof globalThis.fetch} [fetch]
 * @property {Partial<import('./retry.js').RetryOptions>} [retry] Limits of retries and timeouts.
 */

/**
 * Conditions on sessions: owned by or shared with a user, status of the last turn, current mode, category, and a time
 * range of the last activity.
 * @typedef {{
 *   userId?: string, status?: 'pending' | 'completed' | 'failed', mode?: string, category?: string, from?: string, to?: string,
 *   includeDeleted?: boolean, pageSize?: number,
 * }} SessionFilter
 */

/** The sessions of the caller's organization. */
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
   * Lists sessions, newest activity first.
   * @param {SessionFilter} [filter]
   * @returns {AsyncGenerator<import('./wire.js').SessionSummary, void, void>}
   */
  list(filter = {}) {
    return paginate(this.#http, paths.SESSIONS, filterQuery(filter))
  }

  /**
   * Searches names, descriptions and turns for sessions that contain all the words. Returns the matching excerpts.
   * @param {string} words at most eight
   * @param {SessionFilter} [filter]
   * @returns {AsyncGenerator<import('./wire.js').SessionMatch, void, void>}
   */
  search(words, filter = {}) {
    return paginate(this.#http, paths.SEARCH, { q: words, ...filterQuery(filter) })
  }

  /**
   * Returns a session with its first hundred turns.
   * @param {string} id
   */
  get(id) {
    return this.#open(id).read()
  }
}

/** @param {SessionFilter} filter */
function filterQuery({ userId, status, mode, category, from, to, includeDeleted, pageSize }) {
  return { userId, status, mode, category, from, to, includeDeleted: includeDeleted ? 'true' : undefined, pageSize }
}

/** Client of one caller. */
export class Aptix {
  #http
  #resumeStore

  /** @param {ClientOptions} options */
  constructor({ baseUrl, token, resumeStore, fetch = globalThis.fetch, retry = {} }) {
    const base = new URL(baseUrl)
    if (!base.pathname.endsWith('/')) base.pathname += '/'
    this.#http = new Http(base, token, fetch, { ...DEFAULT_RETRY, ...retry })
    this.#resumeStore = resumeStore
    this.sessions = new Sessions(this.#http, (id) => this.session(id))
    this.approvals = new Approvals(this.#http)
  }

  /**
   * Returns the session with this id, or a new session. The defaults apply to all of its turns.
   * @param {string} [id]
   * @param {Partial<SendOptions>} [defaults]
   */
  session(id, defaults = {}) {
    return new Session(this.#http, this.#resumeStore, id, defaults)
  }

  /**
   * Downloads the target of a link in a response, such as a file's `Url` or a turn's `FullAgentAnswerUrl`.
   * @param {string} link
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {Promise<Response>}
   */
  open(link, { signal } = {}) {
    return this.#http.fetchPayload(link, signal)
  }
}
