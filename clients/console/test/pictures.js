/**
 * Makes the pictures of the documentation: screenshots of the console and a recording of `aptix chat`.
 * Run by scripts/console pictures; with the argument `console`, only the screenshots.
 *
 * The pictures show ordinary instructions. A proxy adds the script that the mock model plays for each of them.
 */

import { spawn } from 'node:child_process'
import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { script } from '../../javascript/src/testing.js'
import { Cloud } from '../../javascript/test/cloud.js'
import { takePagePictures } from './page-pictures.js'
import { ConsolePage, isIdle, newestTurn } from './pages.js'

const images = fileURLToPath(new URL('../../../docs/images/', import.meta.url))
const program = process.env.APTIX_PROGRAM ?? ''

const MAIN = "import { greet } from './greet.js'\n\nconsole.log(greet('world'))\n"
const PATCH =
  "--- a/main.js\n+++ b/main.js\n@@ -1,3 +1,3 @@\n-import { greet } from './greet.js'\n+import { hello } from './greet.js'\n \n-console.log(greet('world'))\n+console.log(hello('world'))\n"

/** Replies of the mock model, by instruction. */
const REPLIES = {
  'What does main.js do?': script()
    .say('I will read it first.')
    .call('workspace_read_file', { path: 'main.js' })
    .afterTools()
    .pace(15)
    .say(
      '`main.js` is the entry point. It imports `greet` from **greet.js** and prints a greeting:\n\n```js\n// Prints "Hello, world!"\nconsole.log(greet(\'world\'))\n```\n\n| File | Lines | Tests |\n|---|--:|---|\n| main.js | 3 | none yet |\n| greet.js | 12 | greet.test.js |\n\nI can add a test for it, if you like.',
    ),
  'Which file has the lease?': script().usage(1_840, 46).say('It is in `lease.rs`: a turn holds it while it runs, and a fence rejects writes of an earlier owner.'),
  'Rename greet to hello in main.js.': script()
    .say('Renaming the import and its use.')
    .call('workspace_write_patch', { path: 'main.js', patch: PATCH })
    .afterTools()
    .pace(15)
    .say('Done: `main.js` now imports and calls `hello`. Rename the export in `greet.js` too.'),
}

/** Instructions of other sessions, which the sidebar lists. */
const OTHERS = ['Compare DynamoDB and Postgres for leases', 'Write release notes for 0.3', 'Why is the build slow on CI?', 'Plan the move to ES modules']

/** Forwards requests to the mock model, with the script for their instruction. */
async function scriptedModel(/** @type {string} */ model) {
  const server = createServer(async (request, response) => {
    const parts = []
    for await (const part of request) parts.push(part)
    let body = Buffer.concat(parts).toString()
    for (const [instruction, reply] of Object.entries(REPLIES)) {
      body = body.replaceAll(JSON.stringify(instruction).slice(1, -1), JSON.stringify(`${instruction} ${reply}`).slice(1, -1))
    }
    const { host: _, 'content-length': __, 'transfer-encoding': ___, ...headers } = request.headers
    const upstream = await fetch(model + request.url, {
      method: request.method,
      headers: /** @type {Record<string, string>} */ (headers),
      ...(body && { body }),
    })
    response.writeHead(upstream.status, { 'content-type': upstream.headers.get('content-type') ?? 'application/json' })
    for await (const chunk of upstream.body ?? []) response.write(chunk)
    response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return { url: `http://127.0.0.1:${port}/v1`, end: () => server.close() }
}

/** Screenshot of the chat page in the light theme. */
async function takeScreenshot(/** @type {Cloud} */ cloud) {
  const ui = await ConsolePage.open()
  ui.key = cloud.consoleKey
  const { page } = ui
  await page.show({ width: 1200, height: 900, scheme: 'light' })
  for (const instruction of OTHERS) await cloud.client().session().send(instruction).final()
  await ui.visit(cloud.api)
  await page.run(`(() => {
    const transfer = new DataTransfer()
    transfer.items.add(new File([${JSON.stringify(MAIN)}], 'main.js', { type: 'text/javascript' }))
    const input = document.querySelector('.composer input[type=file]')
    input.files = transfer.files
    input.dispatchEvent(new Event('change', { bubbles: true }))
  })()`)
  await ui.send('What does main.js do?')
  await page.until(`document.querySelectorAll('.tool').length === 1`)
  await ui.press('Run')
  await ui.press('Send result')
  await page.until(`${newestTurn}?.querySelector('.answer')?.textContent.includes('if you like') && ${isIdle} && !!document.querySelector('.sidebar .current')`)
  await save('console.png', ui)
  await ui.end()
}

/** Writes a screenshot. */
async function save(/** @type {string} */ name, /** @type {ConsolePage} */ { page }) {
  const { data } = await page.send('Page.captureScreenshot', { format: 'png' })
  writeFileSync(join(images, name), Buffer.from(data, 'base64'))
}

/** Types at `aptix chat` in a pseudo-terminal and writes an asciicast. */
const RECORDER = `
import json, os, pty, select, sys, time
program, api, token, folder, target = sys.argv[1:]
instruction = "Rename greet to hello in main.js."
pid, terminal = pty.fork()
if pid == 0:
    os.environ.update(APTIX_TOKEN=token, TERM="xterm-256color", COLUMNS="84", LINES="24", HOME=folder + "/home")
    os.execv(program, [program, "chat", "--workspace", folder + "/work", "--api-url", api])
import fcntl, struct, termios
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 84, 0, 0))
start, events, seen = time.monotonic(), [], ""
def read(seconds, until=None):
    global seen
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.05)[0]:
            try: data = os.read(terminal, 65536).decode(errors="replace")
            except OSError: return False
            if not data: return False
            events.append([round(time.monotonic() - start, 3), "o", data]); seen += data
        if until and until in seen:
            seen = ""
            return True
    return until is None
read(20, "> ") or sys.exit("no prompt")
read(0.5)
for letter in instruction:
    os.write(terminal, letter.encode()); read(0.05)
read(0.4); os.write(terminal, b"\\r")
read(30, "hello('world')") or sys.exit("no patch: " + repr(seen))
read(1.5); os.write(terminal, b"y\\r")
read(30, "too.") or sys.exit("no answer: " + repr(seen))
read(3)
os.write(terminal, b"\\x04"); read(2)
with open(target, "w") as cast:
    cast.write(json.dumps({"version": 2, "width": 84, "height": 24}) + "\\n")
    cast.writelines(json.dumps(event) + "\\n" for event in events)
`

/** Runs a command to its end. The proxy goes on meanwhile. */
async function run(/** @type {string} */ command, /** @type {string[]} */ options) {
  const [status] = await once(spawn(command, options, { stdio: 'inherit' }), 'close')
  if (status !== 0) throw new Error(`${command} failed`)
}

async function recordChat(/** @type {Cloud} */ cloud) {
  const folder = mkdtempSync(join(tmpdir(), 'aptix-pictures-'))
  mkdirSync(join(folder, 'work'))
  mkdirSync(join(folder, 'home'))
  writeFileSync(join(folder, 'work', 'main.js'), MAIN)
  const cast = join(folder, 'chat.cast')
  await run('python3', ['-c', RECORDER, program, cloud.api, cloud.token('ada'), folder, cast])
  const options = ['--yes', 'svg-term-cli@2.1.1', '--in', cast, '--out', join(images, 'chat.svg'), '--window', '--no-cursor']
  await run('npx', options)
  rmSync(folder, { recursive: true })
}

const model = await Cloud.start()
const proxy = await scriptedModel(model.model)
const cloud = await Cloud.start('--model-base-url', proxy.url, '--model-name', 'scripted')
try {
  await takeScreenshot(cloud)
  await takePagePictures(cloud, save)
  if (process.argv[2] !== 'console') await recordChat(cloud)
} finally {
  await Promise.all([cloud.end(), model.end()])
  proxy.end()
}
for (const name of ['console.png', 'usage.png', 'agents.png', 'chat.svg']) {
  const { length } = readFileSync(join(images, name))
  if (length > 200_000) throw new Error(`${name} has ${length} bytes: at most 200,000`)
}
