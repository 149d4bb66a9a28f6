/**
 * Waits, and how many there may be.
 *
 * @module
 */

import { AptixError } from './errors.js'

/**
 * How patient a client is.
 * @typedef {object} Patience
 * @property {number} retries How often in a row something is tried again without any progress.
 * @property {number} patienceMs How long in all, from the last progress on.
 * @property {number} backoffMs The first pause; each is twice the one before, at most 8 s, unless the API asks for more.
 * @property {number} silenceMs How long a connection may be silent. A stream of the API never is for more than 15 s.
 */

/** @type {Patience} */
export const PATIENCE = { retries: 10, patienceMs: 15 * 60_000, backoffMs: 250, silenceMs: 60_000 }

const LONGEST_PAUSE_MS = 8_000

/**
 * Waits; ends at once, with the signal's reason, when that is aborted.
 * @param {number} ms
 * @param {AbortSignal} [signal]
 * @returns {Promise<void>}
 */
export function sleep(ms, signal) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const end = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end)
      resolve()
    }, ms)
    signal?.addEventListener('abort', end, { once: true })
  })
}

/** Counts failures since the last progress, and says how long to wait for the next try, or that there is none. */
export class Tries {
  #patience
  #failures = 0
  #since = performance.now()

  /** @param {Patience} patience */
  constructor(patience) {
    this.#patience = patience
  }

  /** How often in a row it failed. */
  get failures() {
    return this.#failures
  }

  /** Something was got: whatever failed before no longer counts. */
  progress() {
    this.#failures = 0
    this.#since = performance.now()
  }

  /**
   * The pause before the next try; throws the error where there is none.
   * @param {unknown} error
   * @returns {number} milliseconds
   */
  after(error) {
    if (!(error instanceof AptixError) || error.retry !== 'same_request') throw error
    if (this.#failures >= this.#patience.retries) throw error
    const longest = Math.min(this.#patience.backoffMs * 2 ** this.#failures, LONGEST_PAUSE_MS)
    // Half of it is chance, so that clients that failed together don't come back together.
    const pause = Math.max(error.retryAfterMs ?? 0, longest * (0.5 + Math.random() / 2))
    if (performance.now() - this.#since + pause > this.#patience.patienceMs) throw error
    this.#failures += 1
    return pause
  }
}
