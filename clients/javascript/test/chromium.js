/**
 * A page in headless Chromium, driven over a DevTools protocol pipe, and a server for the repository's files.
 *
 * @module
 */

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const program = process.env.CHROMIUM ?? 'chromium'
const isInstalled = spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0

/** Reason to skip browser tests, or false. */
export const skip = !isInstalled && `${program} is not installed`

const repository = fileURLToPath(new URL('../../../', import.meta.url))
const TYPES = /** @type {Record<string, string>} */ ({ '.html': 'text/html', '.js': 'text/javascript' })

/** Serves the repository's pages and modules. */
export async function serve() {
  const server = createServer(({ url = '/' }, response) => {
    const path = new URL(url, 'http://x').pathname.replace(/\/$/, '/index.html')
    const type = TYPES[extname(path)]
    try {
      if (!type) throw new Error('not a page or module')
      const bytes = readFileSync(join(repository, path))
      response.writeHead(200, { 'content-type': `${type}; charset=utf-8` }).end(bytes)
    } catch {
      response.writeHead(404, { 'content-type': 'text/html' }).end('<!doctype html><title>none</title>')
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return {
    url: `http://127.0.0.1:${port}/`,
    end: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

export class Page {
  #process
  #folder
  #lastId = 0
  /** @type {Map<number, { resolve: (value: any) => void, reject: (error: Error) => void }>} */
  #pending = new Map()
  /** @type {string | undefined} */
  #session
  /** Exceptions and policy violations of the page. */
  errors = /** @type {string[]} */ ([])

  /** @param {string[]} extraOptions command-line options of Chromium */
  constructor(extraOptions) {
    this.#folder = mkdtempSync(join(tmpdir(), 'aptix-chromium-'))
    const options = [...extraOptions, '--headless=new', '--no-sandbox', '--disable-gpu', '--remote-debugging-pipe', '--disable-dev-shm-usage']
    this.#process = spawn(program, [...options, `--user-data-dir=${this.#folder}`], {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
    })
    let rest = ''
    const read = /** @type {import('node:stream').Readable} */ (this.#process.stdio[4])
    read.setEncoding('utf8').on('data', (text) => {
      const messages = (rest + text).split('\0')
      rest = messages.pop() ?? ''
      messages.forEach((message) => this.#receive(JSON.parse(message)))
    })
  }

  /** @param {string[]} options command-line options of Chromium */
  static async open(...options) {
    const page = new Page(options)
    const { targetId } = await page.send('Target.createTarget', { url: 'about:blank' })
    const { sessionId } = await page.send('Target.attachToTarget', { targetId, flatten: true })
    page.#session = sessionId
    await page.send('Page.enable')
    await page.send('Runtime.enable')
    await page.send('Log.enable')
    return page
  }

  /**
   * @param {string} method
   * @param {Record<string, unknown>} [params]
   * @returns {Promise<any>}
   */
  send(method, params = {}) {
    const id = ++this.#lastId
    const write = /** @type {import('node:stream').Writable} */ (this.#process.stdio[3])
    write.write(`${JSON.stringify({ id, method, params, sessionId: this.#session })}\0`)
    return new Promise((resolve, reject) => this.#pending.set(id, { resolve, reject }))
  }

  /** @param {any} message */
  #receive({ id, result, error, method, params }) {
    if (method === 'Runtime.exceptionThrown') {
      const { text, exception } = params.exceptionDetails
      this.errors.push(exception?.description ?? text)
    }
    // Violations of the page's content security policy.
    if (method === 'Log.entryAdded' && params.entry.source === 'security') this.errors.push(params.entry.text)
    const pending = this.#pending.get(id)
    this.#pending.delete(id)
    if (error) pending?.reject(new Error(error.message))
    else pending?.resolve(result)
  }

  /** @param {string} url */
  async visit(url) {
    await this.send('Page.navigate', { url })
    await this.until(`document.readyState === 'complete' && location.href !== 'about:blank'`)
  }

  async reload() {
    await this.run('window.isOld = true')
    await this.send('Page.reload')
    await this.until(`!window.isOld && document.readyState === 'complete'`)
  }

  /**
   * Sets the viewport and color scheme.
   * @param {{ width?: number, height?: number, scheme?: 'light' | 'dark' }} screen
   */
  async show({ width = 1200, height = 850, scheme = 'light' }) {
    await this.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false })
    await this.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] })
  }

  /** Returns a screenshot as base64-encoded PNG. */
  async screenshot() {
    const { data } = await this.send('Page.captureScreenshot', { format: 'png' })
    return /** @type {string} */ (data)
  }

  /**
   * Presses a key. `text` is the text that it types.
   * @param {string} key
   * @param {string} [text]
   */
  async press(key, text) {
    const code = { Enter: 13, Tab: 9, Escape: 27 }[key]
    const pressed = { key, code: key, windowsVirtualKeyCode: code }
    await this.send('Input.dispatchKeyEvent', { type: 'keyDown', ...pressed, text })
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', ...pressed })
  }

  /**
   * Evaluates an expression in the page.
   * @param {string} expression
   */
  async run(expression) {
    const params = { expression, awaitPromise: true, returnByValue: true }
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', params)
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
    return result.value
  }

  /**
   * Waits until an expression is true in the page.
   * @param {string} expression
   */
  async until(expression) {
    const end = performance.now() + 30_000
    while (!(await this.run(expression).catch(() => false))) {
      if (performance.now() > end) throw new Error(`Timed out: ${expression}\n${await this.run('document.body.innerText')}`)
      await new Promise((wait) => setTimeout(wait, 50))
    }
  }

  async end() {
    this.#process.kill()
    if (this.#process.exitCode === null) await once(this.#process, 'exit')
    // Child processes can still write for a moment.
    for (let left = 50; ; left -= 1) {
      try {
        return rmSync(this.#folder, { recursive: true, force: true })
      } catch (error) {
        if (left === 0) throw error
        await new Promise((wait) => setTimeout(wait, 100))
      }
    }
  }
}
