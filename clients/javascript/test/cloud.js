/**
 * Starts a local cloud for a test file. `APTIX_PROGRAM` is the path of its program; tests are skipped without it.
 *
 * @module
 */

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

import { Aptix } from '../src/index.js'

const program = process.env.APTIX_PROGRAM ?? ''

/** Reason to skip tests that need a cloud, or false. */
export const skip = program === '' && 'APTIX_PROGRAM is not set. Run scripts/javascript.'

/** Fast retries: tests lose connections on purpose. */
const retry = { initialBackoffMs: 5, maxRetries: 200 }

export class Cloud {
  #process
  #folder

  /**
   * @param {import('node:child_process').ChildProcess} process
   * @param {string} folder
   * @param {Record<string, string>} addresses
   */
  constructor(process, folder, addresses) {
    this.#process = process
    this.#folder = folder
    this.api = addresses.API ?? ''
    /** @type {string | undefined} */
    this.adaToken = undefined
    this.consoleKey = addresses.Console?.split('#key=')[1] ?? ''
    /** URLs of the services, for tests of what web pages can do. */
    this.services = [addresses.DynamoDB, addresses.S3, addresses.SQS, addresses.Model].map((url) => url ?? '')
    this.model = (addresses.Model ?? '').replace(/\/v1$/, '')
  }

  /** @param {string[]} options */
  static async start(...options) {
    const folder = mkdtempSync(join(tmpdir(), 'aptix-javascript-'))
    const args = ['--port', '0', '--data', folder, '--concurrency', '32', ...options]
    // Never use the developer's own model.
    const { OPENAI_BASE_URL: _, OPENAI_API_KEY: __, ...env } = process.env
    const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
    /** @type {Record<string, string>} */
    const addresses = {}
    const lines = createInterface({ input: child.stdout })
    for await (const line of lines) {
      const [, name, address] = /^ {2}(\w+) +(http\S+)/.exec(line) ?? []
      if (name && address) addresses[name] = address
      if (line.startsWith('  Data')) break
    }
    child.stdout.resume()
    return new Cloud(child, folder, addresses)
  }

  /**
   * @param {string} user
   * @param {string[]} options of `aptix token`
   */
  token(user, ...options) {
    return execFileSync(program, ['token', '--org', 'acme', '--user', user, '--data', this.#folder, ...options], {
      encoding: 'utf8',
    }).trim()
  }

  /**
   * Writes contexts with `aptix contexts put`.
   * @param {unknown[]} contexts
   */
  contexts(contexts) {
    const file = join(this.#folder, 'contexts.json')
    writeFileSync(file, JSON.stringify(contexts))
    execFileSync(program, ['contexts', 'put', file, '--org', 'acme', '--data', this.#folder])
  }

  /**
   * Starts `aptix console` for this cloud's API, as for a deployment.
   * @param {string} [token] value of `APTIX_TOKEN`
   */
  async console(token = '') {
    // Without the record of running clouds, since the console of a local cloud is a page of its own.
    const env = { ...process.env, APTIX_TOKEN: token, XDG_STATE_HOME: this.#folder }
    const child = spawn(program, ['console', '--api-url', this.api, '--port', '0'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    for await (const line of createInterface({ input: child.stdout })) {
      const [, url] = /is running at (http\S+)\./.exec(line) ?? []
      if (url) return { url, end: () => child.kill('SIGTERM') }
    }
    throw new Error('the console did not start')
  }

  /** @param {Partial<import('../src/index.js').ClientOptions>} [options] */
  client(options = {}) {
    return new Aptix({ baseUrl: this.api, token: (this.adaToken ??= this.token('ada')), retry, ...options })
  }

  /** Kills every process of a function, like a crash, and returns their number. Linux only. */
  kill(name = 'execute') {
    let killed = 0
    for (const pid of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
      try {
        const parent = /\nPPid:\t(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
        if (Number(parent) !== this.#process.pid || !command.includes(`\0${name}\0`)) continue
        process.kill(Number(pid), 'SIGKILL')
        killed += 1
      } catch {
        // The process has ended.
      }
    }
    return killed
  }

  async end() {
    this.#process.kill('SIGTERM')
    if (this.#process.exitCode === null) await once(this.#process, 'exit')
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** A resume store in memory. */
export class MemoryStore {
  /** @type {Map<string, string>} */
  #items = new Map()

  get size() {
    return this.#items.size
  }

  /** @param {string} key */
  getItem(key) {
    return this.#items.get(key) ?? null
  }

  /**
   * @param {string} key
   * @param {string} value
   */
  setItem(key, value) {
    this.#items.set(key, value)
  }

  /** @param {string} key */
  removeItem(key) {
    this.#items.delete(key)
  }
}

/**
 * Reads a turn like a page does. Returns the final text, the events and their types.
 * @param {import('../src/index.js').Turn} turn
 */
export async function collect(turn) {
  let text = ''
  /** @type {import('../src/index.js').Event[]} */
  const events = []
  for await (const event of turn) {
    events.push(event)
    if (event.type === 'delta') text += event.text
    if (event.type === 'reset') text = ''
  }
  return { text, events, types: events.map(({ type }) => type) }
}
