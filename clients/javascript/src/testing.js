/**
 * Scripts for the mock model of a local cloud. The mock model is a test double: an instruction scripts its text, tool calls
 * and failures. A real model treats a script as plain text.
 *
 * Send a script as an instruction: `session.send(script().say('Hello'))`.
 *
 * @module
 */

/** A script: a list of steps for the mock model. */
export class Script {
  /** @type {string[]} */
  #steps = []

  /**
   * Outputs text.
   * @param {string} text
   */
  say(text) {
    return this.step(`say ${JSON.stringify(text)}`)
  }

  /**
   * Outputs numbered words: `word1 word2 …`.
   * @param {number} count
   */
  words(count) {
    return this.step(`words ${count}`)
  }

  /**
   * Outputs text repeatedly, without spaces.
   * @param {string} text
   * @param {number} times
   */
  repeat(text, times) {
    return this.step(`repeat ${JSON.stringify(text)} ${times}`)
  }

  /** Outputs a description of the mock model, its input and the tool results it received. */
  echo() {
    return this.step('echo')
  }

  /**
   * Outputs a refusal.
   * @param {string} text
   */
  refuse(text) {
    return this.step(`refuse ${JSON.stringify(text)}`)
  }

  /**
   * Outputs a reasoning summary.
   * @param {string} summary
   */
  think(summary) {
    return this.step(`think ${JSON.stringify(summary)}`)
  }

  /**
   * Calls a tool. Consecutive calls are parallel.
   * @param {string} name
   * @param {unknown} [args]
   */
  call(name, args = {}) {
    return this.step(`call ${name} ${JSON.stringify(args)}`)
  }

  /** Ends this reply. The next steps answer the request with its tool results. */
  afterTools() {
    return this.step('then')
  }

  /**
   * Sets the pause before each following piece of text.
   * @param {number} ms
   */
  pace(ms) {
    return this.step(`pace ${ms}ms`)
  }

  /**
   * Splits the following text into pieces of this many characters instead of words.
   * @param {number} characters
   */
  chunk(characters) {
    return this.step(`chunk ${characters}`)
  }

  /**
   * Pauses once.
   * @param {number} ms
   */
  hang(ms) {
    return this.step(`hang ${ms}ms`)
  }

  /**
   * Delays the response.
   * @param {number} ms
   */
  delay(ms) {
    return this.step(`delay ${ms}ms`)
  }

  /**
   * Responds with an HTTP error: always, or `times` times before it continues with the other steps.
   * @param {number} status
   * @param {{ code?: string, times?: number, retryAfter?: number }} [options] `retryAfter` in seconds
   */
  status(status, { code, times, retryAfter } = {}) {
    const options = [
      code === undefined ? '' : ` code ${code}`,
      times === undefined ? '' : ` times ${times}`,
      retryAfter === undefined ? '' : ` retry-after ${retryAfter}`,
    ]
    return this.step(`status ${status}${options.join('')}`)
  }

  /**
   * Closes the connection without a response.
   * @param {number} [times]
   */
  drop(times) {
    return this.step(times === undefined ? 'drop' : `drop times ${times}`)
  }

  /**
   * Ends the response early, without an error.
   * @param {number} events
   */
  cut(events) {
    return this.step(`cut after ${events} events`)
  }

  /**
   * Ends with a provider error.
   * @param {string} [code]
   */
  fail(code = 'server_error') {
    return this.step(`fail ${code}`)
  }

  /**
   * Ends with an incomplete answer.
   * @param {string} [reason]
   */
  incomplete(reason = 'max_output_tokens') {
    return this.step(`incomplete ${reason}`)
  }

  /**
   * Sets the reported token usage.
   * @param {number} input
   * @param {number} output
   */
  usage(input, output) {
    return this.step(`usage ${input} ${output}`)
  }

  /**
   * Adds any step of the script language, which `infra/mock-model/src/lib.rs` documents.
   * @param {string} step
   */
  step(step) {
    this.#steps.push(step)
    return this
  }

  /** Returns the script as a directive. The instruction can contain other text around it. */
  toString() {
    return `[[script: ${this.#steps.join('; ')}]]`
  }
}

/** Creates a script without steps. The mock model then describes itself. */
export function script() {
  return new Script()
}

/**
 * The requests that the mock model received, newest last: at most 10,000.
 * @typedef {{ count: number, requests: { headers: Record<string, string>, body: any }[] }} RecordedRequests
 */

/** The mock model of a running local cloud, at the URL that the cloud prints. */
export class MockModel {
  #requestsUrl

  /** @param {string | URL} url `http://127.0.0.1:…/v1` */
  constructor(url) {
    this.#requestsUrl = new URL('/scripted/requests', url)
  }

  /**
   * Returns the requests received so far.
   * @returns {Promise<RecordedRequests>}
   */
  async requests() {
    const response = await fetch(this.#requestsUrl)
    if (!response.ok) throw new Error(`No mock model at ${this.#requestsUrl.origin}: HTTP status ${response.status}`)
    return response.json()
  }

  /** Clears the recorded requests. */
  async clearRequests() {
    await fetch(this.#requestsUrl, { method: 'DELETE' })
  }
}
