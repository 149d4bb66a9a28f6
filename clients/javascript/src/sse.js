/**
 * Parser for server-sent events, as specified by WHATWG.
 *
 * @module
 */

/**
 * @typedef {{ id: string | undefined, event: string, data: string }} ServerEvent
 */

/** Size limit of a line and of an event, far above the API's largest response. */
const MAX_CHARS = 32 << 20

/** Parses a stream chunk by chunk. */
export class EventParser {
  #buffer = ''
  #afterCr = false
  /** @type {string | undefined} */
  #id
  #event = ''
  /** @type {string[]} */
  #data = []
  #length = 0
  /** Reconnection delay in milliseconds, if the stream sets one. */
  retryMs = /** @type {number | undefined} */ (undefined)

  /**
   * Adds a chunk of text and returns the events that it completes.
   * @param {string} text
   * @returns {ServerEvent[]}
   */
  push(text) {
    /** @type {ServerEvent[]} */
    const events = []
    if (this.#afterCr && text.startsWith('\n')) text = text.slice(1)
    if (text !== '') this.#afterCr = text.endsWith('\r')
    const lines = (this.#buffer + text).split(/\r\n|\r|\n/)
    this.#buffer = lines.pop() ?? ''
    this.#checkLength(this.#buffer.length)
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
    if (line === '') return this.#dispatch()
    const colon = line.indexOf(':')
    if (colon === 0) return undefined
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'data') {
      this.#length += value.length
      this.#checkLength(this.#length)
      this.#data.push(value)
    } else if (field === 'event') this.#event = value
    else if (field === 'id' && !value.includes('\0')) this.#id = value
    else if (field === 'retry' && /^\d+$/.test(value)) this.retryMs = Number(value)
    return undefined
  }

  #dispatch() {
    const event = { id: this.#id, event: this.#event || 'message', data: this.#data.join('\n') }
    const hasData = this.#data.length > 0
    // Unlike in browsers, an id applies to its own event only: an event without one is not part of the turn.
    this.#id = undefined
    this.#event = ''
    this.#data = []
    this.#length = 0
    return hasData ? event : undefined
  }

  /** @param {number} length */
  #checkLength(length) {
    if (length > MAX_CHARS) throw new RangeError(`The event exceeds ${MAX_CHARS} characters`)
  }
}
