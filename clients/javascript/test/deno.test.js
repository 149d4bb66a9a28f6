/** The unbundled SDK in Deno. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, before, suite, test } from 'node:test'

import { Cloud, skip } from './cloud.js'

const isInstalled = spawnSync('deno', ['--version'], { stdio: 'ignore' }).status === 0

/** @type {Cloud} */
let cloud

suite('Deno', { skip: skip || (!isInstalled && 'deno is not installed') }, () => {
  before(async () => (cloud = await Cloud.start()))
  after(() => cloud.end())

  test('turn with tool completes', () => {
    const program = `
      import { Aptix } from ${JSON.stringify(new URL('../src/index.js', import.meta.url))}
      import { script } from ${JSON.stringify(new URL('../src/testing.js', import.meta.url))}
      const session = new Aptix({ baseUrl: '${cloud.api}', token: '${cloud.token('ada')}' }).session(undefined, { agent: 'workspace' })
      const instruction = script().call('workspace_read_file', { path: 'a' }).afterTools().say('Done.')
      const { text } = await session.send(instruction, { tools: { workspace_read_file: ({ path }) => path } }).final()
      console.log(text, (await session.read()).TurnCount)`
    const result = spawnSync('deno', ['run', '--allow-net', '--allow-read', '-'], { input: program, encoding: 'utf8' })
    assert.equal(result.stdout.trim(), 'Done. 1', result.stderr)
  })
})
