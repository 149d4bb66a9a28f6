/** What needs no cloud: the stream's syntax, the queue, the catalogue, and answers that a local cloud does not give. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { suite, test } from 'node:test'

import { CATALOGUE } from '../src/errors.js'
import { Aptix, AptixError } from '../src/index.js'
import { Queue } from '../src/queue.js'
import { Events } from '../src/sse.js'
import { Memory, shown } from './cloud.js'

suite('an event stream', () => {
  const stream = 'retry: 1000\n:\nid: 1\nevent: delta\ndata: {"a":\ndata: 1}\n\nid:2\r\ndata: x\r\n\r\n\rdata\rid: 3\r\r: c\n\nevent: lost\ndata: y'

  test('is read alike however it is cut', () => {
    const whole = [
      { id: '1', event: 'delta', data: '{"a":\n1}' },
      { id: '2', event: 'message', data: 'x' },
      { id: '3', event: 'message', data: '' },
    ]
    for (let cut = 0; cut <= stream.length; cut++) {
      const events = new Events()
      assert.deepEqual([...events.push(stream.slice(0, cut)), ...events.push(stream.slice(cut))], whole, `${cut}`)
      assert.equal(events.retryMs, 1000)
    }
    const events = new Events()
    assert.deepEqual([...stream].flatMap((character) => events.push(character)), whole)
  })

  test('has a limit', () => {
    const events = new Events()
    assert.throws(() => events.push('x'.repeat((32 << 20) + 1)), RangeError)
  })
})

suite('the queue', () => {
  test('holds no more than a reader needs to catch up', async () => {
    const queue = new Queue()
    for (let n = 0; n < 1000; n++) queue.push({ type: 'delta', text: 'a', index: n })
    queue.push({ type: 'reset' })
    queue.push({ type: 'delta', text: 'b', index: 0 })
    queue.push({ type: 'delta', text: 'c', index: 1 })
    queue.close()
    assert.deepEqual(await queue.next(), { type: 'reset' })
    assert.deepEqual(await queue.next(), { type: 'delta', text: 'bc', index: 0 })
    assert.equal(await queue.next(), undefined)
  })

  test('tells a failure once, after what came before it', async () => {
    const queue = new Queue()
    queue.push({ type: 'reset' })
    queue.fail(new Error('over'))
    assert.deepEqual(await queue.next(), { type: 'reset' })
    await assert.rejects(queue.next(), /over/)
    assert.equal(await queue.next(), undefined)
  })
})

test('what can be done about an error is what the document of the API says', () => {
  const document = readFileSync(new URL('../../../infra/openapi.yaml', import.meta.url), 'utf8')
  /** @type {Record<string, string>} */
  const said = {}
  for (const [, code = '', meaning = ''] of document.matchAll(/- `(\w+)`: ([^\n]+)/g)) said[code] = meaning
  const codes = (/** @type {RegExp} */ pattern) => Object.keys(said).filter((code) => pattern.test(said[code] ?? ''))
  const { sameRequest, newTurn } = CATALOGUE
  assert.deepEqual(Object.keys(sameRequest).toSorted(), codes(/Send the same request again later/).toSorted())
  assert.deepEqual(Object.keys(newTurn).toSorted(), codes(/under a new `TurnId`/).toSorted())
})

/**
 * A client whose answers are these, in turn; what it asked is kept.
 * @param {(Response | Error | 'silence' | (() => Response))[]} answers
 * @param {Partial<import('../src/index.js').Options>} [options]
 */
function scripted(answers, options = {}) {
  /** @type {{ url: string, init: RequestInit }[]} */
  const asked = []
  const fetch = async (/** @type {any} */ url, /** @type {any} */ init) => {
    init.signal?.throwIfAborted()
    asked.push({ url: String(url), init })
    const next = answers.shift() ?? assert.fail('asked once more')
    const answer = typeof next === 'function' ? next() : next
    if (answer instanceof Error) throw answer
    if (answer === 'silence') {
      return new Promise((_, reject) => init.signal.addEventListener('abort', () => reject(init.signal.reason)))
    }
    return answer
  }
  const patience = { backoffMs: 1, silenceMs: 50 }
  return { aptix: new Aptix({ baseUrl: 'https://api.example/live', token: 't', fetch, patience, ...options }), asked }
}

const final = { Kind: 'final', SessionId: 's', TurnId: 't', ModeDisplayName: 'General', PrimaryOutputText: 'Hello' }
const succeeded = JSON.stringify({ Successful: true, Result: final, Errors: [], Warnings: [] })

/** @param {string} body */
const stream = (body) => new Response(body, { headers: { 'content-type': 'text/event-stream' } })

/**
 * @param {number} status
 * @param {Record<string, unknown>} error
 * @param {Record<string, string>} [headers]
 */
const refusal = (status, error, headers) =>
  new Response(
    JSON.stringify({ Successful: false, Result: null, Errors: [{ Message: 'No.', SystemError: false, ...error }], Warnings: [] }),
    { status, headers },
  )

suite('a client', () => {
  test('sends the very same request again, to the stage of its deployment, with the last event that it has', async () => {
    const { aptix, asked } = scripted([
      new TypeError('fetch failed'),
      new Response('<html>Bad gateway</html>', { status: 502 }),
      stream('id: 5\nevent: delta\ndata: {"Index":0,"Text":"He"}\n\nid: 6\nevent: de'),
      stream(`id: 5\nevent: delta\ndata: {"Index":0,"Text":"He"}\n\nid: 7\nevent: delta\ndata: {"Index":2,"Text":"llo"}\n\nid: 8\nevent: result\ndata: ${succeeded}\n\n`),
    ])
    const { text, types } = await shown(aptix.session('s').send('Hi', { turnId: 't' }))
    assert.equal(text, 'Hello')
    assert.deepEqual(types, ['retry', 'retry', 'delta', 'retry', 'delta', 'result'])
    assert.deepEqual([...new Set(asked.map(({ url }) => url))], ['https://api.example/live/api/ai/agent/execute'])
    assert.equal(new Set(asked.map(({ init }) => init.body)).size, 1)
    const last = asked.map(({ init }) => /** @type {any} */ (init.headers)['last-event-id'])
    assert.deepEqual(last, [undefined, undefined, undefined, '5'])
  })

  test('waits as long as it is told to, unless that is too long', async () => {
    const { aptix } = scripted([
      refusal(429, { ErrorCode: 'TooManyRequests' }, { 'retry-after': '0' }),
      refusal(409, { ErrorCode: 'SessionBusy', Retry: 'same_request', RetryAfterSeconds: 0.05 }, { 'retry-after': '30' }),
      stream(`event: result\nid: 1\ndata: ${succeeded}\n\n`),
    ])
    const { events } = await shown(aptix.session().send('Hi'))
    const pauses = events.flatMap((event) => (event.type === 'retry' ? [event.pauseMs] : []))
    assert.ok((pauses[0] ?? 9) <= 1 && pauses[1] === 50, `${pauses}`)

    const impatient = scripted([refusal(409, { ErrorCode: 'SessionBusy' }, { 'retry-after': '3600' })])
    await assert.rejects(impatient.aptix.session().send('Hi').final(), { code: 'SessionBusy', retryAfterMs: 3_600_000 })
  })

  test('does as the API says of an error that it does not know', async () => {
    const { aptix, asked } = scripted([
      refusal(409, { ErrorCode: 'NewOne', Retry: 'same_request', RetryAfterSeconds: 0 }),
      refusal(409, { ErrorCode: 'NewOther', Retry: 'new_turn', Details: 'Member' }, { 'x-request-id': 'r1' }),
    ])
    await assert.rejects(aptix.session().send('Hi').final(), {
      name: 'AptixError',
      code: 'NewOther',
      retry: 'new_turn',
      details: 'Member',
      requestId: 'r1',
    })
    assert.equal(asked.length, 2)
  })

  test('gives up after so many tries without progress', async () => {
    const { aptix, asked } = scripted(
      Array.from({ length: 4 }, () => new TypeError('fetch failed')),
      { patience: { backoffMs: 1, retries: 3 } },
    )
    await assert.rejects(aptix.session().send('Hi').final(), { code: 'Unreachable', status: undefined })
    assert.equal(asked.length, 4)
  })

  test('takes a silence for a lost connection', async () => {
    const { aptix } = scripted([
      () => new Response(new ReadableStream(), { headers: { 'content-type': 'text/event-stream' } }),
      'silence',
      () => new Response(new ReadableStream(), { status: 503 }),
      stream(`event: result\nid: 1\ndata: ${succeeded}\n\n`),
    ])
    assert.deepEqual((await shown(aptix.session().send('Hi'))).types, ['retry', 'retry', 'retry', 'delta', 'result'])
  })

  test('passes over events that it does not know, and tells those of a status', async () => {
    const status = { Phase: 'thinking', Attempt: 1, Round: 1 }
    const { aptix } = scripted([
      stream(`event: status\ndata: ${JSON.stringify(status)}\n\nid: 2\nevent: new\ndata: {}\n\nid: 3\nevent: result\ndata: ${succeeded}\n\n`),
    ])
    const { events, types } = await shown(aptix.session().send('Hi'))
    assert.deepEqual(types, ['status', 'delta', 'result'])
    assert.deepEqual(events[0], { type: 'status', status })
  })

  test('gives up where a turn is told to be worked on and nothing comes of it', async () => {
    const working = () => stream(`event: status\ndata: {"Phase":"working","Attempt":1}\n\n`)
    const { aptix } = scripted(Array.from({ length: 12 }, working))
    await assert.rejects(aptix.session().send('Hi').final(), { code: 'Interrupted' })
  })

  test('reads a refusal that comes when the stream has begun', async () => {
    const busy = JSON.stringify({ Successful: false, Result: null, Errors: [{ ErrorCode: 'StorageUnavailable', Message: 'No.', SystemError: true }] })
    const never = busy.replace('StorageUnavailable', 'DataTooNew')
    const { aptix } = scripted([stream(`event: result\ndata: ${busy}\n\n`), stream(`event: result\ndata: ${never}\n\n`)])
    await assert.rejects(aptix.session().send('Hi').final(), { code: 'DataTooNew', retry: 'never' })
  })

  test('reads an answer that begins with whitespace', async () => {
    const { aptix } = scripted([new Response(`  \n ${succeeded}`, { headers: { 'content-type': 'application/json' } })])
    assert.equal((await shown(aptix.session().send('Hi'))).text, 'Hello')
    const failed = scripted([new Response(' ' + (await refusal(200, { ErrorCode: 'ModelTimedOut' }).text()), { status: 200 })])
    await assert.rejects(failed.aptix.session().send('Hi').final(), { code: 'ModelTimedOut', status: 504 })
  })

  test('goes on without a place to keep turns that has no room', async () => {
    const keep = new Memory()
    keep.setItem = () => {
      throw new Error('QuotaExceededError')
    }
    const { aptix } = scripted([stream(`event: result\nid: 1\ndata: ${succeeded}\n\n`)], { keep })
    assert.equal((await aptix.session().send('Hi').final()).text, 'Hello')
  })

  test('asks for a token again when it could not get one', async () => {
    let asked = 0
    const token = () => (asked++ ? 't' : Promise.reject(new Error('signed out')))
    const { aptix } = scripted([stream(`event: result\nid: 1\ndata: ${succeeded}\n\n`)], { token })
    await assert.rejects(aptix.session().send('Hi').final(), /signed out/)
    assert.equal((await aptix.session().send('Hi').final()).text, 'Hello')
  })

  test('is read by one loop at a time, which may be left', async () => {
    const { aptix } = scripted([
      stream(`id: 1\nevent: status\ndata: {}\n\nid: 2\nevent: result\ndata: ${succeeded}\n\n`),
    ])
    const turn = aptix.session().send('Hi')
    for await (const { type } of turn) {
      assert.equal(type, 'status')
      await assert.rejects(shown(turn), TypeError)
      break
    }
    assert.deepEqual((await shown(turn)).types, ['delta', 'result'])
    assert.ok(!((await turn.final()) instanceof AptixError))
  })
})
