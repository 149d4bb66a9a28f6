#!/usr/bin/env node
/**
 * A coding agent for the terminal. It reads the files of a folder and changes them with your approval.
 *
 *     node examples/coding-agent/agent.js [--url URL] [--token TOKEN] [--session ID] [FOLDER]
 *     node examples/coding-agent/agent.js --help
 *
 * Each line is an instruction. Ctrl-C stops the turn; a second Ctrl-C exits. The tools are those of the default agent
 * context: `workspace_read_file`, `workspace_list_files`, `workspace_search_text` and `workspace_write_patch`.
 */

import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'

import { Aptix } from '../../clients/javascript/src/index.js'
import { countInvisible, escapeInvisible } from '../../clients/javascript/src/patch.js'
import { Workspace } from './workspace.js'

const HELP = `A coding agent for the terminal. It reads the files of a folder and changes them with your approval.

Usage: node examples/coding-agent/agent.js [OPTIONS] [FOLDER]

FOLDER is the folder to work in (default: the current one).

Options:
  --url URL      URL of the API (default: APTIX_URL, or http://127.0.0.1:9000)
  --token TOKEN  User token (default: APTIX_TOKEN). For a local cloud: aptix token --org acme --user ada
  --session ID   Session to continue (default: a new one)
  -h, --help     Show this help

Examples:
  node examples/coding-agent/agent.js --token "$(cargo run -q -p aptix -- token --org acme --user ada)" .
  APTIX_URL=https://… APTIX_TOKEN=… node examples/coding-agent/agent.js --session ID src`

/** Parses the command line. Exits with 2 if it is invalid. */
function parseCommandLine() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        url: { type: 'string', default: process.env.APTIX_URL ?? 'http://127.0.0.1:9000' },
        token: { type: 'string', default: process.env.APTIX_TOKEN ?? '' },
        session: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${HELP}`)
    process.exit(2)
  }
}

const { values, positionals } = parseCommandLine()
if (values.help) {
  console.log(HELP)
  process.exit(0)
}
if (!values.token) {
  console.error('Missing token. Set --token or APTIX_TOKEN. For a local cloud, run `aptix token` to get one.')
  process.exit(2)
}

const workspace = await Workspace.open(positionals[0] ?? '.')
const terminal = createInterface({ input: process.stdin, output: process.stdout.isTTY ? process.stdout : undefined })
const lines = terminal[Symbol.asyncIterator]()

/** @param {string} prompt */
async function ask(prompt) {
  process.stdout.write(prompt)
  const { value, done } = await lines.next()
  return done ? undefined : value
}

const tools = {
  workspace_read_file: async (/** @type {{ path: string }} */ { path }) => ({ text: await workspace.read(path) }),
  workspace_list_files: (/** @type {{ path: string }} */ { path }) => workspace.list(path),
  workspace_search_text: (/** @type {{ pattern: string, path: string }} */ { pattern, path }) => workspace.search(pattern, path),
  workspace_write_patch: async (/** @type {{ path: string, patch: string }} */ { path, patch }) => {
    await workspace.write(path, await workspace.previewPatch(path, patch))
    return { applied: true }
  },
}

/**
 * Returns a text of the model as one line that can't command the terminal.
 * @param {unknown} text
 */
const line = (text) => escapeInvisible(String(text ?? '')).replaceAll('\n', '\\n')

/** @param {import('../../clients/javascript/src/index.js').Call} call */
async function approve({ name, args }) {
  if (name !== 'workspace_write_patch') return true
  // Refuse a patch that does not apply before asking the user.
  await workspace.previewPatch(args.path, args.patch)
  process.stdout.write(`\n${escapeInvisible(args.patch.trimEnd())}\n`)
  if (countInvisible(args.patch)) console.log('! The patch contains control or invisible characters, shown as \\u{…}.')
  return (await ask(`Change ${line(args.path)}? [y/n] `))?.trim().toLowerCase() === 'y'
}

// A session keeps the agent of its first turn.
const options = values.session ? {} : { agent: 'workspace' }
const session = new Aptix({ baseUrl: values.url, token: values.token }).session(values.session, options)
console.log(`session ${session.id}`)

/** @type {import('../../clients/javascript/src/index.js').Turn | undefined} */
let turn
for (const source of [terminal, process]) {
  source.on('SIGINT', () => {
    if (!turn) process.exit(130)
    const running = turn
    turn = undefined
    running.stop().catch(({ message }) => console.error(message))
  })
}

for (let input; (input = await ask('> ')) !== undefined; ) {
  if (input.trim() === '') continue
  turn = session.send(input, { tools, approve })
  try {
    for await (const event of turn) {
      if (event.type === 'delta') process.stdout.write(escapeInvisible(event.text))
      else if (event.type === 'reset') process.stdout.write('\n')
      else if (event.type === 'tool-call') console.log(`· ${line(event.call.name)} ${line(event.call.args?.path)}`)
      else if (event.type === 'tool-result' && event.error) console.log(`  ${line(event.error)}`)
      else if (event.type === 'retry') console.log(`(${event.error.message}; retrying in ${Math.ceil(event.delayMs / 1000)} s)`)
      else if (event.type === 'stopped') console.log('\n(stopped)')
      else if (event.type === 'result') for (const warning of event.answer.warnings) console.log(`\n! ${line(warning)}`)
    }
    console.log()
  } catch (error) {
    console.error(`\n${error instanceof Error ? error.message : error}`)
  }
  turn = undefined
}
terminal.close()
