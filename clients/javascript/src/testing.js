/**
 * Scripts for the mock model of a local cloud: a test double for clients. It says what an instruction tells it to
 * say, calls what it is told to call, and fails as a provider would. It is no model and thinks nothing; a real one
 * takes the directive for text.
 *
 * A script is written where an instruction is: `session.send(script().say('Hello'))`.
 *
 * @module
 */

/** What a script has it do, step after step. */
export class Script {
  /** @type {string[]} */
  #steps = []

  /**
   * Says a text.
   * @param {string} text
   */
  say(text) {
    return this.step(`say ${JSON.stringify(text)}`)
  }

  /**
   * Says numbered words: `word1 word2 …`.
   * @param {number} count
   */
  words(count) {
    return this.step(`words ${count}`)
  }

  /**
   * Says a text many times, without spaces.
   * @param {string} text
   * @param {number} times
   */
  repeat(text, times) {
    return this.step(`repeat ${JSON.stringify(text)} ${times}`)
  }

  /** Says what it is, what it heard, and which tool results it got. */
  echo() {
    return this.step('echo')
  }

  /**
   * Refuses, as models do.
   * @param {string} text
   */
  refuse(text) {
    return this.step(`refuse ${JSON.stringify(text)}`)
  }

  /**
   * Thinks; the summary is told.
   * @param {string} summary
   */
  think(summary) {
    return this.step(`think ${JSON.stringify(summary)}`)
  }

  /**
   * Calls a tool. Calls that follow each other are made at once.
   * @param {string} name
   * @param {unknown} [args]
   */
  call(name, args = {}) {
    return this.step(`call ${name} ${JSON.stringify(args)}`)
  }

  /** Ends this reply; what follows answers the request that brings the results of its calls. */
  afterTools() {
    return this.step('then')
  }

  /**
   * Pauses before each piece of text from here on.
   * @param {number} ms
   */
  pace(ms) {
    return this.step(`pace ${ms}ms`)
  }

  /**
   * Says so many characters at a time from here on, and not words.
   * @param {number} characters
   */
  chunk(characters) {
    return this.step(`chunk ${characters}`)
  }

  /**
   * Pauses here, once.
   * @param {number} ms
   */
  hang(ms) {
    return this.step(`hang ${ms}ms`)
  }

  /**
   * Waits before it answers at all.
   * @param {number} ms
   */
  delay(ms) {
    return this.step(`delay ${ms}ms`)
  }

  /**
   * Answers with an HTTP error: each time, or only so many times, and then with the rest.
   * @param {number} status
   * @param {{ code?: string, times?: number, retryAfter?: number }} [options] `retryAfter` in seconds
   */
  status(status, { code, times, retryAfter } = {}) {
    const told = [
      code === undefined ? '' : ` code ${code}`,
      times === undefined ? '' : ` times ${times}`,
      retryAfter === undefined ? '' : ` retry-after ${retryAfter}`,
    ]
    return this.step(`status ${status}${told.join('')}`)
  }

  /**
   * Closes the connection without an answer.
   * @param {number} [times]
   */
  drop(times) {
    return this.step(times === undefined ? 'drop' : `drop times ${times}`)
  }

  /**
   * Ends the answer early, as if it were whole.
   * @param {number} events
   */
  cut(events) {
    return this.step(`cut after ${events} events`)
  }

  /**
   * Ends with a failure of the provider.
   * @param {string} [code]
   */
  fail(code = 'server_error') {
    return this.step(`fail ${code}`)
  }

  /**
   * Stops before the answer is complete.
   * @param {string} [reason]
   */
  incomplete(reason = 'max_output_tokens') {
    return this.step(`incomplete ${reason}`)
  }

  /**
   * Says how many tokens it used.
   * @param {number} input
   * @param {number} output
   */
  usage(input, output) {
    return this.step(`usage ${input} ${output}`)
  }

  /**
   * Any other step of the language, as `infra/mock-model/src/lib.rs` describes it.
   * @param {string} step
   */
  step(step) {
    this.#steps.push(step)
    return this
  }

  /** The directive. Other words of an instruction may stand around it. */
  toString() {
    return `[[script: ${this.#steps.join('; ')}]]`
  }
}

/** A script without a step: it says what the model says of itself. */
export function script() {
  return new Script()
}

/**
 * What the mock model was asked, newest last: at most 10,000 requests.
 * @typedef {{ count: number, requests: { headers: Record<string, string>, body: any }[] }} Asked
 */

/** The mock model of a running local cloud, at the address that the cloud prints for it. */
export class MockModel {
  #requests

  /** @param {string | URL} url `http://127.0.0.1:…/v1` */
  constructor(url) {
    this.#requests = new URL('/scripted/requests', url)
  }

  /** @returns {Promise<Asked>} */
  async asked() {
    const response = await fetch(this.#requests)
    if (!response.ok) throw new Error(`no mock model is there (status ${response.status})`)
    return response.json()
  }

  /** Forgets what it was asked. */
  async forget() {
    await fetch(this.#requests, { method: 'DELETE' })
  }
}
