/**
 * Live figures of a running turn: time, and the length and speed of the answer. Tokens are estimated from the text until the API
 * reports them.
 *
 * @module
 */

import { formatNumber } from './format.js'

/** Characters per token of English text, about. */
const CHARS_PER_TOKEN = 4
const INTERVAL_MS = 250

export class Meter {
  #node
  #startedAt = performance.now()
  #chars = 0
  #textStartedAt = 0
  #textEndedAt = 0
  #timer

  /** @param {HTMLElement} node element that shows the figures */
  constructor(node) {
    this.#node = node
    this.#timer = setInterval(() => this.#show(), INTERVAL_MS)
  }

  /** @param {number} chars */
  add(chars) {
    this.#textEndedAt = performance.now()
    if (this.#chars === 0) this.#textStartedAt = this.#textEndedAt
    this.#chars += chars
  }

  #show() {
    const now = performance.now()
    const tokens = Math.round(this.#chars / CHARS_PER_TOKEN)
    // A wait for a tool is no part of the speed.
    const seconds = (this.#textEndedAt - this.#textStartedAt) / 1000
    const speed = tokens > 0 && seconds > 1 ? ` · ${Math.round(tokens / seconds)} tokens/s` : ''
    const text = tokens > 0 ? ` · about ${formatNumber(tokens)} ${tokens === 1 ? 'token' : 'tokens'}${speed}` : ''
    this.#node.textContent = `${((now - this.#startedAt) / 1000).toFixed(1)} s${text}`
  }

  end() {
    clearInterval(this.#timer)
    this.#node.textContent = ''
  }
}
