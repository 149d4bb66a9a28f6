/**
 * Requests to the API: where they go, who sends them, and when they are sent again.
 *
 * @module
 */

import { AptixError } from './errors.js'
import { sleep, Tries } from './wait.js'

/**
 * The caller's token, or a function that gets one. It is asked again, once, when the API refuses the one before.
 * @typedef {string | (() => string | Promise<string>)} Token
 *
 * @typedef {{ headers?: Record<string, string>, body?: string, signal?: AbortSignal }} Sent
 */

/** How often a link that could not be followed is asked for anew. */
const LINKS = 2

export class Http {
  #token
  #fetch
  /** @type {Promise<string> | undefined} */
  #cached

  /**
   * @param {URL} base it ends in a slash
   * @param {Token} token
   * @param {typeof fetch} send
   * @param {import('./wait.js').Patience} patience
   */
  constructor(base, token, send, patience) {
    this.base = base
    this.#token = token
    this.#fetch = send
    this.patience = patience
  }

  /**
   * One request, with the caller's token; a second one with a fresh token where that was refused. Throws for every
   * status that is no success.
   * @param {string} method
   * @param {string} path relative to the API's base
   * @param {Sent} [sent]
   * @returns {Promise<Response>}
   */
  async open(method, path, sent = {}) {
    const token = this.#authorization()
    let response = await this.#once(method, path, sent, await token)
    if (response.status === 401 && typeof this.#token === 'function') {
      // Whoever is refused first asks for a new one; those who are refused beside it use the same.
      if (this.#cached === token) this.#cached = undefined
      await response.body?.cancel().catch(() => {})
      response = await this.#once(method, path, sent, await this.#authorization())
    }
    if (!response.ok) {
      const told = read(await whole(response, this.patience, sent.signal))
      throw told ? AptixError.of(told, response) : AptixError.unreadable(response)
    }
    return response
  }

  /**
   * What a request that may be repeated comes to, sent again for as long as that can help.
   * @template T
   * @param {string} method
   * @param {string} path
   * @param {Sent} [sent]
   * @returns {Promise<T>}
   */
  async result(method, path, sent = {}) {
    const tries = new Tries(this.patience)
    for (;;) {
      try {
        const headers = { accept: 'application/json', ...sent.headers }
        const response = await this.open(method, path, { ...sent, headers })
        return /** @type {T} */ (successful(await envelope(response, this.patience, sent.signal), response).Result)
      } catch (error) {
        await sleep(tries.after(error), sent.signal)
      }
    }
  }

  /**
   * What a link of the API leads to. The link itself is signed and takes no token: it is asked for with one, and
   * followed without.
   * @param {string} link as answers have them: relative to the API's base
   * @param {AbortSignal} [signal]
   * @returns {Promise<Response>}
   */
  async payload(link, signal) {
    const tries = new Tries({ ...this.patience, retries: Math.min(this.patience.retries, LINKS) })
    for (;;) {
      const { Url } = await /** @type {Promise<{ Url: string }>} */ (this.result('GET', link, { signal }))
      try {
        const response = await this.#fetched(new URL(Url, this.base), { signal })
        // A link lives for minutes: one that is refused is asked for again.
        if (response.ok) return response
        await response.body?.cancel().catch(() => {})
        throw new AptixError(`the payload can't be read (status ${response.status})`, {
          code: 'Unreadable',
          status: response.status,
          retry: response.status === 404 ? 'never' : 'same_request',
        })
      } catch (error) {
        await sleep(tries.after(error), signal)
      }
    }
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {Sent} sent
   * @param {string} token
   */
  #once(method, path, { headers, body, signal }, token) {
    const url = new URL(path, this.base)
    if (url.origin !== this.base.origin) {
      throw new TypeError(`${url.origin} is not the API's: the token does not go there`)
    }
    /** @type {Record<string, string>} */
    const all = { ...headers, authorization: `Bearer ${token}` }
    if (body !== undefined) all['content-type'] = 'application/json'
    return this.#fetched(url, { method, headers: all, body, signal })
  }

  /**
   * @param {URL} url
   * @param {RequestInit} init
   */
  async #fetched(url, init) {
    const silence = new AbortController()
    const timer = setTimeout(() => silence.abort(), this.patience.silenceMs)
    const signal = init.signal ? AbortSignal.any([init.signal, silence.signal]) : silence.signal
    try {
      // Called on its own: a browser's `fetch` refuses to be anybody's method.
      const send = this.#fetch
      return await send(url, { ...init, signal, cache: 'no-store' })
    } catch (error) {
      init.signal?.throwIfAborted()
      throw AptixError.unreachable(error)
    } finally {
      clearTimeout(timer)
    }
  }

  #authorization() {
    const token = this.#token
    if (!this.#cached) {
      const asked = Promise.resolve(typeof token === 'function' ? token() : token)
      // One that could not be got is not kept.
      asked.catch(() => {
        if (this.#cached === asked) this.#cached = undefined
      })
      this.#cached = asked
    }
    return this.#cached
  }
}

/**
 * The text of a body, as it comes; a silence that is too long counts as a lost connection.
 * @param {Response} response
 * @param {import('./wait.js').Patience} patience
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<string, void, void>}
 */
export async function* texts({ body }, { silenceMs }, signal) {
  const reader = body?.getReader()
  const decoder = new TextDecoder()
  try {
    while (reader) {
      const { done, value } = await within(silenceMs, reader.read())
      if (done) return
      yield decoder.decode(value, { stream: true })
    }
  } catch (error) {
    signal?.throwIfAborted()
    throw error instanceof AptixError ? error : AptixError.interrupted(error)
  } finally {
    reader?.cancel().catch(() => {})
  }
}

/**
 * The envelope of a JSON answer.
 * @param {Response} response
 * @param {import('./wait.js').Patience} patience
 * @param {AbortSignal} [signal]
 * @returns {Promise<import('./wire.js').Envelope<unknown>>}
 */
export async function envelope(response, patience, signal) {
  const told = read(await whole(response, patience, signal))
  if (!told) throw AptixError.unreadable(response)
  return told
}

/**
 * @param {Response} response
 * @param {import('./wait.js').Patience} patience
 * @param {AbortSignal} [signal]
 */
async function whole(response, patience, signal) {
  let text = ''
  for await (const piece of texts(response, patience, signal)) text += piece
  return text
}

/**
 * An envelope, if the text is one.
 * @param {string} text
 * @returns {import('./wire.js').Envelope<unknown> | undefined}
 */
export function read(text) {
  try {
    const value = JSON.parse(text)
    return typeof value?.Successful === 'boolean' ? value : undefined
  } catch {
    return undefined
  }
}

/**
 * @template T
 * @param {import('./wire.js').Envelope<T>} envelope
 * @param {Response} [response]
 */
export function successful(envelope, response) {
  if (!envelope.Successful) throw AptixError.of(envelope, response)
  return envelope
}

/**
 * @template T
 * @param {number} ms
 * @param {Promise<T>} promise
 * @returns {Promise<T>}
 */
function within(ms, promise) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(AptixError.interrupted()), ms)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
