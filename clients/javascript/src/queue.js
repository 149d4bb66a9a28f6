/**
 * Queue of a turn's events between the stream and its consumer. Its size is bounded: consecutive deltas and pieces of reasoning are merged, and a
 * `reset` drops the deltas before it.
 *
 * @module
 */

/** @typedef {import('./events.js').Event} Event */

export class Queue {
  /** @type {Event[]} */
  #events = []
  #isClosed = false
  /** @type {unknown} */
  #error
  #hasError = false
  /** @type {(() => void) | undefined} */
  #wake

  /** @param {Event} event */
  push(event) {
    const last = this.#events.at(-1)
    if (event.type === 'delta' && last?.type === 'delta') {
      this.#events[this.#events.length - 1] = { ...last, text: last.text + event.text }
    } else if (event.type === 'reasoning' && last?.type === 'reasoning' && event.index > 0) {
      this.#events[this.#events.length - 1] = { ...last, text: last.text + event.text }
    } else if (event.type === 'status' && last?.type === 'status') {
      this.#events[this.#events.length - 1] = event
    } else {
      if (event.type === 'reset') this.#events = this.#events.filter(({ type }) => type !== 'delta' && type !== 'reset')
      this.#events.push(event)
    }
    this.#wake?.()
  }

  close() {
    this.#isClosed = true
    this.#wake?.()
  }

  /** @param {unknown} error */
  fail(error) {
    this.#error = error
    this.#hasError = true
    this.close()
  }

  /**
   * Returns the next event, or undefined at the end. Throws the queue's error once.
   * @returns {Promise<Event | undefined>}
   */
  async next() {
    while (this.#events.length === 0 && !this.#isClosed) {
      await new Promise((resolve) => (this.#wake = () => resolve(undefined)))
    }
    const event = this.#events.shift()
    if (!event && this.#hasError) {
      this.#hasError = false
      throw this.#error
    }
    return event
  }
}
