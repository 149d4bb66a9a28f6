/**
 * Requests to the API: authentication, timeouts and retries.
 *
 * @module
 */

import { AptixError } from './errors.js'
import { Backoff, sleep } from './retry.js'

/**
 * The caller's token, or a function that returns one. The function is called once more if the API rejects the token.
 * @typedef {string | (() => string | Promise<string>)} Token
 *
 * @typedef {{ headers?: Record<string, string>, body?: string, signal?: AbortSignal }} RequestOptions
 */

/** Retries of a download, each with a fresh link. */
const MAX_LINK_RETRIES = 2

export class Http {
  #token
  #fetch
  /** @type {Promise<string> | undefined} */
  #cachedToken

  /**
   * @param {URL} base ends in a slash
   * @param {Token} token
   * @param {typeof globalThis.fetch} fetch
   * @param {import('./retry.js').RetryOptions} retry
   */
  constructor(base, token, fetch, retry) {
    this.base = base
    this.#token = token
    this.#fetch = fetch
    this.retry = retry
    /** True once the API has answered. */
    this.wasReached = false
  }

  /**
   * Sends one request with the caller's token, and a second one with a fresh token if the API rejects the first. Throws
   * on every error status.
   * @param {string} method
   * @param {string} path relative to the API's base
   * @param {RequestOptions} [options]
   * @returns {Promise<Response>}
   */
  async request(method, path, options = {}) {
    const token = this.#getToken()
    let response = await this.#send(method, path, options, await token)
    if (response.status === 401 && typeof this.#token === 'function') {
      // Concurrent requests that were rejected share one fresh token.
      if (this.#cachedToken === token) this.#cachedToken = undefined
      await response.body?.cancel().catch(() => {})
      response = await this.#send(method, path, options, await this.#getToken())
    }
    if (!response.ok) {
      const envelope = parseEnvelope(await readBody(response, this.retry, options.signal))
      throw envelope ? AptixError.fromEnvelope(envelope, response) : AptixError.unreadable(response)
    }
    return response
  }

  /**
   * Sends an idempotent request, with retries, and returns its result.
   * @template T
   * @param {string} method
   * @param {string} path
   * @param {RequestOptions} [options]
   * @returns {Promise<T>}
   */
  async call(method, path, options = {}) {
    const backoff = new Backoff(this.retry, () => this.wasReached)
    for (;;) {
      try {
        const headers = { accept: 'application/json', ...options.headers }
        const response = await this.request(method, path, { ...options, headers })
        const envelope = await readEnvelope(response, this.retry, options.signal)
        return /** @type {T} */ (requireSuccess(envelope, response).Result)
      } catch (error) {
        await sleep(backoff.nextDelay(error), options.signal)
      }
    }
  }

  /**
   * Downloads what a link of the API points to. The API exchanges the link for a signed URL, which is fetched without a
   * token.
   * @param {string} link as it appears in responses: relative to the API's base
   * @param {AbortSignal} [signal]
   * @returns {Promise<Response>}
   */
  async fetchPayload(link, signal) {
    const backoff = new Backoff({ ...this.retry, maxRetries: Math.min(this.retry.maxRetries, MAX_LINK_RETRIES) }, () => this.wasReached)
    for (;;) {
      const { Url } = await /** @type {Promise<{ Url: string }>} */ (this.call('GET', link, { signal }))
      try {
        const response = await this.#fetchWithTimeout(new URL(Url, this.base), { signal })
        // Signed URLs expire within minutes: request a new one if this one is rejected.
        if (response.ok) return response
        await response.body?.cancel().catch(() => {})
        throw new AptixError(`Can't read the payload: HTTP status ${response.status}`, {
          code: 'Unreadable',
          status: response.status,
          retry: response.status === 404 ? 'never' : 'same_request',
        })
      } catch (error) {
        await sleep(backoff.nextDelay(error), signal)
      }
    }
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {RequestOptions} options
   * @param {string} token
   */
  #send(method, path, { headers, body, signal }, token) {
    const url = new URL(path, this.base)
    if (url.origin !== this.base.origin) {
      throw new TypeError(`${url.origin} is not the API's origin: the token is not sent there`)
    }
    /** @type {Record<string, string>} */
    const allHeaders = { ...headers, authorization: `Bearer ${token}` }
    if (body !== undefined) allHeaders['content-type'] = 'application/json'
    return this.#fetchWithTimeout(url, { method, headers: allHeaders, body, signal })
  }

  /**
   * @param {URL} url
   * @param {RequestInit} init
   */
  async #fetchWithTimeout(url, init) {
    const timeout = new AbortController()
    const timer = setTimeout(() => timeout.abort(), this.retry.idleTimeoutMs)
    const signal = init.signal ? AbortSignal.any([init.signal, timeout.signal]) : timeout.signal
    try {
      // Not called as a method of this object: browsers reject that.
      const fetch = this.#fetch
      const response = await fetch(url, { ...init, signal, cache: 'no-store' })
      this.wasReached = true
      return response
    } catch (error) {
      init.signal?.throwIfAborted()
      throw AptixError.unreachable(url.origin === this.base.origin ? this.base : url, error)
    } finally {
      clearTimeout(timer)
    }
  }

  #getToken() {
    const token = this.#token
    if (!this.#cachedToken) {
      const pending = Promise.resolve(typeof token === 'function' ? token() : token)
      // A failed call is not cached.
      pending.catch(() => {
        if (this.#cachedToken === pending) this.#cachedToken = undefined
      })
      this.#cachedToken = pending
    }
    return this.#cachedToken
  }
}

/**
 * Yields the text of a body as it arrives. A silence longer than the idle timeout counts as a lost connection.
 * @param {Response} response
 * @param {import('./retry.js').RetryOptions} retry
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<string, void, void>}
 */
export async function* textChunks({ body }, { idleTimeoutMs }, signal) {
  const reader = body?.getReader()
  const decoder = new TextDecoder()
  try {
    while (reader) {
      const { done, value } = await withTimeout(idleTimeoutMs, reader.read())
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
 * Reads the envelope of a JSON response.
 * @param {Response} response
 * @param {import('./retry.js').RetryOptions} retry
 * @param {AbortSignal} [signal]
 * @returns {Promise<import('./wire.js').Envelope<unknown>>}
 */
export async function readEnvelope(response, retry, signal) {
  const envelope = parseEnvelope(await readBody(response, retry, signal))
  if (!envelope) throw AptixError.unreadable(response)
  return envelope
}

/**
 * @param {Response} response
 * @param {import('./retry.js').RetryOptions} retry
 * @param {AbortSignal} [signal]
 */
async function readBody(response, retry, signal) {
  let text = ''
  for await (const chunk of textChunks(response, retry, signal)) text += chunk
  return text
}

/**
 * Parses an envelope. Returns undefined for any other text.
 * @param {string} text
 * @returns {import('./wire.js').Envelope<unknown> | undefined}
 */
export function parseEnvelope(text) {
  try {
    const value = JSON.parse(text)
    return typeof value?.Successful === 'boolean' ? value : undefined
  } catch {
    return undefined
  }
}

/**
 * Returns the envelope if it reports success; throws its error otherwise.
 * @template T
 * @param {import('./wire.js').Envelope<T>} envelope
 * @param {Response} [response]
 */
export function requireSuccess(envelope, response) {
  if (!envelope.Successful) throw AptixError.fromEnvelope(envelope, response)
  return envelope
}

/**
 * @template T
 * @param {number} ms
 * @param {Promise<T>} promise
 * @returns {Promise<T>}
 */
function withTimeout(ms, promise) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(AptixError.interrupted()), ms)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
