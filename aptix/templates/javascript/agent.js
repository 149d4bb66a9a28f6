/** Chats with the agent in the terminal: `node agent.js [QUESTION]`. */

import { createInterface } from 'node:readline/promises'
import { stderr, stdin, stdout } from 'node:process'

import { Aptix } from 'aptix'

import { tools } from './tools.js'

const { APTIX_URL = 'http://127.0.0.1:9000', APTIX_TOKEN = '' } = process.env
const session = new Aptix({ baseUrl: APTIX_URL, token: APTIX_TOKEN }).session(undefined, { agent: '{{name}}', tools })

/** Prints the answer while it arrives. */
async function answer(question) {
  for await (const event of session.send(question)) {
    if (event.type === 'delta') stdout.write(event.text)
    if (event.type === 'reset' && event.reason !== 'tools') stdout.write('\n(starting over)\n')
    if (event.type === 'tool-call') stdout.write(`\n· ${event.call.name} ${event.call.argsJson}\n`)
  }
  stdout.write('\n')
}

if (process.argv.length > 2) await answer(process.argv.slice(2).join(' '))
else {
  const terminal = createInterface({ input: stdin, output: stdout, prompt: '> ' })
  terminal.prompt()
  for await (const line of terminal) {
    if (line.trim()) await answer(line.trim()).catch((error) => stderr.write(`error: ${error.message}\n`))
    terminal.prompt()
  }
}
