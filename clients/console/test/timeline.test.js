/** Bars of the trace page's timeline. */

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { bars } from '../timeline.js'

const at = (/** @type {number} */ ms) => new Date(Date.UTC(2026, 0, 1) + ms).toISOString()
const turn = /** @type {import('../trace.js').TracedTurn} */ (
  /** @type {unknown} */ ({ CreationDate: at(0), StatusTimeStamp: at(900) })
)
const call = { ToolCallId: 'c', ArgumentsJson: '{}', IsPending: false }

test('server tools are parallel and client tools sequential in timeline', () => {
  const result = bars(turn, [
    {
      Round: 1,
      Kind: 'tools',
      Attempt: 1,
      AskedDate: at(100),
      ModelMs: 50,
      Calls: [
        { ...call, Name: 'a', RanBy: 'server', ExecutionMs: 20 },
        { ...call, Name: 'b', RanBy: 'client', ExecutionMs: 200 },
        { ...call, Name: 'c', RanBy: 'client', ExecutionMs: 100 },
      ],
    },
    { Round: 2, Kind: 'answer', Attempt: 2, AskedDate: at(500), ModelMs: 300 },
    { Round: 3, Kind: 'answer' },
  ])
  assert.deepEqual(result, [
    { label: 'Round 1: model', kind: 'model', from: 100, ms: 50 },
    { label: 'a', kind: 'server', from: 150, ms: 20 },
    { label: 'b', kind: 'client', from: 150, ms: 200 },
    { label: 'c', kind: 'client', from: 350, ms: 100 },
    { label: 'Round 2, attempt 2: model', kind: 'model', from: 500, ms: 300 },
  ])
})
