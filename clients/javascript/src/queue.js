/**
 * The events of a turn between who reads the stream and who shows it. It holds no more than a reader needs to catch
 * up: texts that follow each other are one, and what a `reset` takes back is gone.
 *
 * @module
 */

/** @typedef {import('./events.js').Event} Event */

export class Queue {
  /** @type {Event[]} */
  #events = []
  #isOver = false
  /** @type {unknown} */
  #error
  #failed = false
  /** @type {(() => void) | undefined} */
  #wake

  /** @param {Event} event */
  push(event) {
    const last = this.#events.at(-1)
    if (event.type === 'delta' && last?.type === 'delta') {
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
    this.#isOver = true
    this.#wake?.()
  }

  /** @param {unknown} error */
  fail(error) {
    this.#error = error
    this.#failed = true
    this.close()
  }

  /**
   * The next event; none when there are no more.
   * @returns {Promise<Event | undefined>}
   */
  async next() {
    while (this.#events.length === 0 && !this.#isOver) {
      await new Promise((resolve) => (this.#wake = () => resolve(undefined)))
    }
    const event = this.#events.shift()
    if (!event && this.#failed) {
      this.#failed = false
      throw this.#error
    }
    return event
  }
}
