/** Bars of the trace page's timeline. */

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { bars, elapsed, storageBars } from '../timeline.js'

const at = (/** @type {number} */ ms) => new Date(Date.UTC(2026, 0, 1) + ms).toISOString()
const turn = /** @type {import('../trace.js').TracedTurn} */ (
  /** @type {unknown} */ ({ CreationDate: at(0), StatusTimeStamp: at(900) })
)
const call = { ToolCallId: 'c', ArgumentsJson: '{}', IsPending: false }

test('server tools are parallel and client tools follow them in timeline', () => {
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
    { label: 'b', kind: 'client', from: 170, ms: 200 },
    { label: 'c', kind: 'client', from: 370, ms: 100 },
    { label: 'Round 2, attempt 2: model', kind: 'model', from: 500, ms: 300 },
  ])
})

test('client tools that do not fit one after another are parallel', () => {
  const calls = [300, 250].map((ms) => ({ ...call, Name: `${ms}`, RanBy: /** @type {const} */ ('client'), ExecutionMs: ms }))
  const result = bars(turn, [
    { Round: 1, Kind: 'tools', AskedDate: at(100), ModelMs: 50, Calls: calls },
    { Round: 2, Kind: 'answer', AskedDate: at(500), ModelMs: 300 },
  ])
  assert.deepEqual(result.filter(({ kind }) => kind === 'client').map(({ from, ms }) => [from, ms]), [[150, 300], [150, 250]])
  assert.equal(elapsed(result, 'client'), 300, 'parallel calls count once')
  assert.equal(elapsed(result, 'model'), 350)
})

test('retrieval has a bar if the turn has sources', () => {
  const step = { Round: 1, Kind: /** @type {const} */ ('answer'), AskedDate: at(120), ModelMs: 50 }
  const chunk = { ChunkId: 'c', Path: 'a.md', StartLine: 1, EndLine: 2, ContentHash: 'h' }
  const [retrieval] = bars({ ...turn, ChunkRefs: [chunk] }, [step])
  assert.deepEqual(retrieval, { label: 'Preparation and retrieval', kind: 'retrieval', from: 0, ms: 120 })
  assert.equal(bars({ ...turn, ChunkRefs: [] }, [step])[0]?.kind, 'model')
})

test("service's own work has bars before and after the others", () => {
  const ended = /** @type {any} */ ({ ...turn, Status: { Id: 'completed' } })
  const all = bars(ended, [{ Round: 1, Kind: 'answer', AskedDate: at(100), ModelMs: 300 }])
  assert.deepEqual(storageBars(ended, all), {
    before: [{ label: 'Accept and prepare', kind: 'storage', from: 0, ms: 100 }],
    after: [{ label: 'Store the answer', kind: 'storage', from: 400, ms: 500 }],
  })
  assert.deepEqual(storageBars({ ...ended, Status: { Id: 'pending' } }, all).after, [])
})
