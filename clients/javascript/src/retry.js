/**
 * Retries with exponential backoff.
 *
 * @module
 */

import { AptixError } from './errors.js'

/**
 * Limits of retries and timeouts.
 * @typedef {object} RetryOptions
 * @property {number} maxRetries Consecutive retries without progress.
 * @property {number} maxElapsedMs Total time since the last progress.
 * @property {number} initialBackoffMs First delay. It doubles up to 8 s; the API can ask for a longer one.
 * @property {number} idleTimeoutMs Longest silence on a connection. Streams of the API are never silent for more than 15 s.
 */

/** @type {RetryOptions} */
export const DEFAULT_RETRY = { maxRetries: 10, maxElapsedMs: 15 * 60_000, initialBackoffMs: 250, idleTimeoutMs: 60_000 }

const MAX_BACKOFF_MS = 8_000
/** Longest time to keep retrying an API that has never answered: its URL is probably wrong. */
const MAX_UNREACHABLE_MS = 5_000

/**
 * Resolves after a delay. Rejects with the signal's reason as soon as the signal is aborted.
 * @param {number} ms
 * @param {AbortSignal} [signal]
 * @returns {Promise<void>}
 */
export function sleep(ms, signal) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', abort, { once: true })
  })
}

/** Counts failures since the last progress and computes the delay before the next retry. */
export class Backoff {
  #options
  #wasReached
  #failures = 0
  #since = performance.now()

  /**
   * @param {RetryOptions} options
   * @param {() => boolean} wasReached returns true once the API has answered
   */
  constructor(options, wasReached) {
    this.#options = options
    this.#wasReached = wasReached
  }

  /** Resets the failure count and the elapsed time after progress. */
  reset() {
    this.#failures = 0
    this.#since = performance.now()
  }

  /**
   * Returns the delay before the next retry. Throws the error if it can't be retried or a limit is reached.
   * @param {unknown} error
   * @returns {number} milliseconds
   */
  nextDelay(error) {
    if (!(error instanceof AptixError) || error.retry !== 'same_request') throw error
    if (this.#failures >= this.#options.maxRetries) throw error
    const longest = Math.min(this.#options.initialBackoffMs * 2 ** this.#failures, MAX_BACKOFF_MS)
    // Half of the delay is random, so that clients that failed together don't retry together.
    const delay = Math.max(error.retryAfterMs ?? 0, longest * (0.5 + Math.random() / 2))
    const maxElapsedMs = this.#wasReached() ? this.#options.maxElapsedMs : Math.min(this.#options.maxElapsedMs, MAX_UNREACHABLE_MS)
    if (performance.now() - this.#since + delay > maxElapsedMs) throw error
    this.#failures += 1
    return delay
  }
}
