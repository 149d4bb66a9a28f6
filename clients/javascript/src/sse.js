/**
 * Server-sent events out of bytes, as the WHATWG standard reads them.
 *
 * @module
 */

/**
 * @typedef {{ id: string | undefined, event: string, data: string }} ServerEvent
 */

/** The longest line and event that are read: the largest answer of the API is far below. */
const MOST_CHARS = 32 << 20

/** Reads pieces of a stream; the events that are whole by then come out. */
export class Events {
  #rest = ''
  #afterCr = false
  /** @type {string | undefined} */
  #id
  #event = ''
  /** @type {string[]} */
  #data = []
  #length = 0
  /** How long to wait before coming back, in milliseconds, where the stream says so. */
  retryMs = /** @type {number | undefined} */ (undefined)

  /**
   * @param {string} text
   * @returns {ServerEvent[]}
   */
  push(text) {
    /** @type {ServerEvent[]} */
    const events = []
    if (this.#afterCr && text.startsWith('\n')) text = text.slice(1)
    if (text !== '') this.#afterCr = text.endsWith('\r')
    const lines = (this.#rest + text).split(/\r\n|\r|\n/)
    this.#rest = lines.pop() ?? ''
    this.#bounded(this.#rest.length)
    for (const line of lines) {
      const event = this.#line(line)
      if (event) events.push(event)
    }
    return events
  }

  /**
   * @param {string} line
   * @returns {ServerEvent | undefined}
   */
  #line(line) {
    if (line === '') return this.#whole()
    const colon = line.indexOf(':')
    if (colon === 0) return undefined
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'data') {
      this.#length += value.length
      this.#bounded(this.#length)
      this.#data.push(value)
    } else if (field === 'event') this.#event = value
    else if (field === 'id' && !value.includes('\0')) this.#id = value
    else if (field === 'retry' && /^\d+$/.test(value)) this.retryMs = Number(value)
    return undefined
  }

  #whole() {
    const event = { id: this.#id, event: this.#event || 'message', data: this.#data.join('\n') }
    const isOne = this.#data.length > 0
    // Unlike a browser's, an id holds for its own event: one without is no event of the turn.
    this.#id = undefined
    this.#event = ''
    this.#data = []
    this.#length = 0
    return isOne ? event : undefined
  }

  /** @param {number} length */
  #bounded(length) {
    if (length > MOST_CHARS) throw new RangeError('an event of the stream is larger than any answer')
  }
}
