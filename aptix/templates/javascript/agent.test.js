/** Tests of the agent against the mock model of a running local cloud: `npm test`. */

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Aptix } from 'aptix'
import { script } from 'aptix/testing'

import { tools } from './tools.js'

const { APTIX_URL = 'http://127.0.0.1:9000', APTIX_TOKEN } = process.env

test('agent tells the time', { skip: !APTIX_TOKEN && 'APTIX_TOKEN is not set' }, async () => {
  const session = new Aptix({ baseUrl: APTIX_URL, token: APTIX_TOKEN }).session(undefined, { agent: '{{name}}', tools })
  const instruction = script().call('current_time', { time_zone: 'Europe/Rome' }).afterTools().say('It is late.')
  const turn = session.send(instruction)
  assert.equal((await turn.final()).text, 'It is late.')
  for await (const { Calls } of session.steps(turn.id)) if (Calls) assert.match(Calls[0].ResultJson, /^"20/)
})
