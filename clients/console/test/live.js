/**
 * Serves the console's files from the working tree in front of a built program, so that a change shows after a reload.
 * Run by scripts/console. Options are those of the program; `APTIX_PROGRAM` is its path.
 *
 * It prints what the program prints, with its own URL instead of the API's. So it can take the program's place in the browser
 * tests too.
 *
 * @module
 */

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, get, request } from 'node:http'
import { extname, normalize } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const program = process.env.APTIX_PROGRAM ?? ''
const clients = fileURLToPath(new URL('../../', import.meta.url))
const TYPES = /** @type {Record<string, string>} */ ({ '.html': 'text/html', '.css': 'text/css', '.svg': 'image/svg+xml', '.js': 'text/javascript', '.txt': 'text/plain', '.woff2': 'font/woff2' })
const STATIC = /^\/(console(?!\/api)|javascript\/src)\/[\w./-]+$/

/** The pages with a content security policy. */
const PAGES = ['/', '/console/diagram-frame.html']

/**
 * Returns the headers of a file, with the content security policy that the program sends.
 * @param {string} target
 * @param {string} path
 */
async function fileHeaders(target, path) {
  if (!PAGES.includes(path)) return {}
  const [response] = await once(get(target + path), 'response')
  response.resume()
  return { 'content-security-policy': response.headers['content-security-policy'] }
}

/**
 * Starts the server, and returns its URL.
 * @param {string} target URL of the program
 */
async function serve(target) {
  const server = createServer(async (incoming, outgoing) => {
    const { pathname } = new URL(incoming.url ?? '/', target)
    if (pathname !== '/' && !STATIC.test(pathname)) return forward(target, incoming, outgoing)
    const path = pathname === '/' ? 'console/index.html' : normalize(pathname)
    try {
      const bytes = readFileSync(clients + path)
      const type = `${TYPES[extname(path)] ?? 'application/octet-stream'}; charset=utf-8`
      outgoing.writeHead(200, { 'content-type': type, 'cache-control': 'no-cache', ...(await fileHeaders(target, pathname)) }).end(bytes)
    } catch {
      outgoing.writeHead(404).end()
    }
  })
  server.listen(Number(process.env.CONSOLE_PORT ?? 0), '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return `http://127.0.0.1:${port}`
}

/**
 * Forwards a request with its headers: the program compares its host with the page's origin.
 * @param {string} target
 * @param {import('node:http').IncomingMessage} incoming
 * @param {import('node:http').ServerResponse} outgoing
 */
function forward(target, incoming, outgoing) {
  const { hostname, port } = new URL(target)
  const { method, url: path, headers } = incoming
  const upstream = request({ hostname, port, method, path, headers }, (response) => {
    outgoing.writeHead(response.statusCode ?? 502, response.headers)
    response.pipe(outgoing).on('close', () => upstream.destroy())
    response.on('error', () => outgoing.destroy())
  })
  upstream.on('error', () => outgoing.destroy())
  outgoing.on('close', () => upstream.destroy())
  incoming.pipe(upstream)
}

const options = process.argv.slice(2)
const [command = ''] = options
if (command && !command.startsWith('-') && command !== 'up' && command !== 'console') {
  process.exit(spawnSync(program, options, { stdio: 'inherit' }).status ?? 1)
}
const child = spawn(program, options, { stdio: ['ignore', 'pipe', 'inherit'] })
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => child.kill(signal))
child.on('exit', (status) => process.exit(status ?? 0))
let [from, to] = ['', '']
for await (const line of createInterface({ input: child.stdout })) {
  const [, url] = /^ {2}API +(http:\S+)/.exec(line) ?? /is running at (http:\/\/[^/\s]+)/.exec(line) ?? []
  if (url && !to) [from, to] = [url, await serve(url)]
  console.log(to ? line.replaceAll(from, to) : line)
}
