/** Tests without a cloud: event parser, queue, error codes, and responses that a local cloud never sends. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { suite, test } from 'node:test'

import { ERROR_CODES } from '../src/errors.js'
import { Aptix, AptixError } from '../src/index.js'
import { Queue } from '../src/queue.js'
import { Backoff, DEFAULT_RETRY } from '../src/retry.js'
import { EventParser } from '../src/sse.js'
import { MemoryStore, collect } from './cloud.js'

suite('event parser', () => {
  const stream = 'retry: 1000\n:\nid: 1\nevent: delta\ndata: {"a":\ndata: 1}\n\nid:2\r\ndata: x\r\n\r\n\rdata\rid: 3\r\r: c\n\nevent: lost\ndata: y'

  test('events are the same for every chunking', () => {
    const expected = [
      { id: '1', event: 'delta', data: '{"a":\n1}' },
      { id: '2', event: 'message', data: 'x' },
      { id: '3', event: 'message', data: '' },
    ]
    for (let cut = 0; cut <= stream.length; cut++) {
      const events = new EventParser()
      assert.deepEqual([...events.push(stream.slice(0, cut)), ...events.push(stream.slice(cut))], expected, `${cut}`)
      assert.equal(events.retryMs, 1000)
    }
    const events = new EventParser()
    assert.deepEqual([...stream].flatMap((character) => events.push(character)), expected)
  })

  test('oversized event is rejected', () => {
    const events = new EventParser()
    assert.throws(() => events.push('x'.repeat((32 << 20) + 1)), RangeError)
  })
})

suite('event queue', () => {
  test('pieces of reasoning are merged until another model call begins', async () => {
    const queue = new Queue()
    const piece = (/** @type {string} */ text, /** @type {number} */ index, /** @type {number} */ round) =>
      queue.push({ type: 'reasoning', text, index, round })
    piece('Let', 0, 1)
    piece(' me', 3, 1)
    piece('Now', 0, 2)
    queue.close()
    assert.deepEqual(await queue.next(), { type: 'reasoning', text: 'Let me', index: 0, round: 1 })
    assert.deepEqual(await queue.next(), { type: 'reasoning', text: 'Now', index: 0, round: 2 })
    assert.equal(await queue.next(), undefined)
  })

  test('deltas are merged and dropped by reset', async () => {
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

  test('error is thrown once, after earlier events', async () => {
    const queue = new Queue()
    queue.push({ type: 'reset' })
    queue.fail(new Error('over'))
    assert.deepEqual(await queue.next(), { type: 'reset' })
    await assert.rejects(queue.next(), /over/)
    assert.equal(await queue.next(), undefined)
  })
})

test('error codes match the OpenAPI document', () => {
  const document = readFileSync(new URL('../../../infra/openapi.yaml', import.meta.url), 'utf8')
  /** @type {Record<string, string>} */
  const meanings = {}
  for (const [, code = '', meaning = ''] of document.matchAll(/- `(\w+)`: ([^\n]+)/g)) meanings[code] = meaning
  const codes = (/** @type {RegExp} */ pattern) => Object.keys(meanings).filter((code) => pattern.test(meanings[code] ?? ''))
  const { sameRequest, newTurn } = ERROR_CODES
  assert.deepEqual(Object.keys(sameRequest).toSorted(), codes(/Send the same request again later/).toSorted())
  assert.deepEqual(Object.keys(newTurn).toSorted(), codes(/under a new `TurnId`/).toSorted())
})

/**
 * Returns a client that gets these responses in order, and the requests that it sends.
 * @param {(Response | Error | 'silence' | (() => Response))[]} responses
 * @param {Partial<import('../src/index.js').ClientOptions>} [options]
 */
function mockClient(responses, options = {}) {
  /** @type {{ url: string, init: RequestInit }[]} */
  const requests = []
  const fetch = async (/** @type {any} */ url, /** @type {any} */ init) => {
    init.signal?.throwIfAborted()
    requests.push({ url: String(url), init })
    const next = responses.shift() ?? assert.fail('unexpected request')
    const response = typeof next === 'function' ? next() : next
    if (response instanceof Error) throw response
    if (response === 'silence') {
      return new Promise((_, reject) => init.signal.addEventListener('abort', () => reject(init.signal.reason)))
    }
    return response
  }
  const retry = { initialBackoffMs: 1, idleTimeoutMs: 50 }
  return { aptix: new Aptix({ baseUrl: 'https://api.example/live', token: 't', fetch, retry, ...options }), requests }
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
const errorResponse = (status, error, headers) =>
  new Response(
    JSON.stringify({ Successful: false, Result: null, Errors: [{ Message: 'No.', SystemError: false, ...error }], Warnings: [] }),
    { status, headers },
  )

suite('client', () => {
  test('rerun sends its own input and not that of the session', async () => {
    const { aptix, requests } = mockClient([new Response(succeeded), new Response(succeeded)])
    const image = { mimeType: 'image/png', bytes: new Uint8Array([1, 2, 3]) }
    const scope = { Key: 'Language', Operator: /** @type {const} */ ('=='), Values: ['rust'] }
    const session = aptix.session('s', { agent: 'workspace', repo: 'default', files: [{ path: 'default.rs', content: '' }] })
    const files = [{ path: 'src/a.rs', content: 'fn a() {}' }]
    const hints = { workspaceId: 'w', repo: 'core', language: 'rust', solutionContext: 'Use tabs.' }
    const options = { turnId: 'u', text: 'Look.', model: 'm', mode: 'general', files, images: [image], ragScope: [scope], ...hints }
    await session.rerun('t', options).final()
    await session.rerun('t', { turnId: 'v', files: [], ragScope: [] }).final()
    const [changed, emptied] = requests.map(({ init }) => JSON.parse(String(init.body)))
    assert.equal(requests[0]?.url, 'https://api.example/live/api/ai/agent/sessions/s/turns/t/rerun')
    assert.deepEqual(changed, {
      TurnId: 'u',
      Instruction: 'Look.',
      InputArtifacts: [{ RelativePath: 'src/a.rs', FileName: 'a.rs', Contents: 'fn a() {}', Origin: 'ide' }],
      ClipboardImages: [{ Id: 'image-1', MimeType: 'image/png', DataBase64: 'AQID' }],
      WorkspaceId: 'w',
      Repo: 'core',
      Language: 'rust',
      RagScope: { Conditions: [scope] },
      SolutionContextText: 'Use tabs.',
      Model: 'm',
      Mode: 'general',
      Streaming: true,
    })
    assert.deepEqual(emptied, {
      TurnId: 'v',
      InputArtifacts: [],
      RagScope: { Conditions: [] },
      Streaming: true,
    })
  })

  test('retries send identical request with Last-Event-ID', async () => {
    const { aptix, requests } = mockClient([
      new TypeError('fetch failed'),
      new Response('<html>Bad gateway</html>', { status: 502 }),
      stream('id: 5\nevent: delta\ndata: {"Index":0,"Text":"He"}\n\nid: 6\nevent: de'),
      stream(`id: 5\nevent: delta\ndata: {"Index":0,"Text":"He"}\n\nid: 7\nevent: delta\ndata: {"Index":2,"Text":"llo"}\n\nid: 8\nevent: result\ndata: ${succeeded}\n\n`),
    ])
    const { text, types } = await collect(aptix.session('s').send('Hi', { turnId: 't' }))
    assert.equal(text, 'Hello')
    assert.deepEqual(types, ['retry', 'retry', 'delta', 'retry', 'delta', 'result'])
    assert.deepEqual([...new Set(requests.map(({ url }) => url))], ['https://api.example/live/api/ai/agent/execute'])
    assert.equal(new Set(requests.map(({ init }) => init.body)).size, 1)
    const last = requests.map(({ init }) => /** @type {any} */ (init.headers)['last-event-id'])
    assert.deepEqual(last, [undefined, undefined, undefined, '5'])
  })

  test('Retry-After is respected up to the time limit', async () => {
    const { aptix } = mockClient([
      errorResponse(429, { ErrorCode: 'TooManyRequests' }, { 'retry-after': '0' }),
      errorResponse(409, { ErrorCode: 'SessionBusy', Retry: 'same_request', RetryAfterSeconds: 0.05 }, { 'retry-after': '30' }),
      stream(`event: result\nid: 1\ndata: ${succeeded}\n\n`),
    ])
    const { events } = await collect(aptix.session().send('Hi'))
    const pauses = events.flatMap((event) => (event.type === 'retry' ? [event.delayMs] : []))
    assert.ok((pauses[0] ?? 9) <= 1 && pauses[1] === 50, `${pauses}`)

    const tooLate = mockClient([errorResponse(409, { ErrorCode: 'SessionBusy' }, { 'retry-after': '3600' })])
    await assert.rejects(tooLate.aptix.session().send('Hi').final(), { code: 'SessionBusy', retryAfterMs: 3_600_000 })
  })

  test('unknown error code follows Retry member', async () => {
    const { aptix, requests } = mockClient([
      errorResponse(409, { ErrorCode: 'NewOne', Retry: 'same_request', RetryAfterSeconds: 0 }),
      errorResponse(409, { ErrorCode: 'NewOther', Retry: 'new_turn', Details: 'Member' }, { 'x-request-id': 'r1' }),
    ])
    await assert.rejects(aptix.session().send('Hi').final(), {
      name: 'AptixError',
      code: 'NewOther',
      retry: 'new_turn',
      details: 'Member',
      requestId: 'r1',
    })
    assert.equal(requests.length, 2)
  })

  test('retries stop at the limit', async () => {
    const { aptix, requests } = mockClient(
      Array.from({ length: 4 }, () => new TypeError('fetch failed')),
      { retry: { initialBackoffMs: 1, maxRetries: 3 } },
    )
    const message = "Can't reach the API at https://api.example/live. Is it running?"
    await assert.rejects(aptix.session().send('Hi').final(), { code: 'Unreachable', status: undefined, message })
    assert.equal(requests.length, 4)
  })

  test('API that has never answered is tried for seconds, and one that has for longer', (context) => {
    let now = 0
    context.mock.method(performance, 'now', () => now)
    const tried = (/** @type {boolean} */ wasReached) => {
      const backoff = new Backoff(DEFAULT_RETRY, () => wasReached)
      const startedAt = now
      try {
        for (;;) now += backoff.nextDelay(AptixError.unreachable('http://127.0.0.1:9', undefined))
      } catch {
        return now - startedAt
      }
    }
    assert.ok(tried(false) <= 5_000)
    assert.ok(tried(true) > 15_000)
  })

  test('silent connection counts as lost', async () => {
    const { aptix } = mockClient([
      () => new Response(new ReadableStream(), { headers: { 'content-type': 'text/event-stream' } }),
      'silence',
      () => new Response(new ReadableStream(), { status: 503 }),
      stream(`event: result\nid: 1\ndata: ${succeeded}\n\n`),
    ])
    assert.deepEqual((await collect(aptix.session().send('Hi'))).types, ['retry', 'retry', 'retry', 'delta', 'result'])
  })

  test('unknown events are ignored and status and reasoning events delivered', async () => {
    const status = { Phase: 'thinking', Attempt: 1, Round: 1 }
    const reasoning = 'event: reasoning\ndata: {"Round":1,"Index":0,"Text":"Hm."}\n\n'
    const { aptix } = mockClient([
      stream(`event: status\ndata: ${JSON.stringify(status)}\n\n${reasoning}id: 2\nevent: new\ndata: {}\n\nid: 3\nevent: result\ndata: ${succeeded}\n\n`),
    ])
    const { events, types } = await collect(aptix.session().send('Hi'))
    assert.deepEqual(types, ['status', 'reasoning', 'delta', 'result'])
    assert.deepEqual(events[0], { type: 'status', status })
    assert.deepEqual(events[1], { type: 'reasoning', text: 'Hm.', index: 0, round: 1 })
  })

  test('status events alone do not reset the retry limit', async () => {
    const working = () => stream(`event: status\ndata: {"Phase":"working","Attempt":1}\n\n`)
    const { aptix } = mockClient(Array.from({ length: 12 }, working))
    await assert.rejects(aptix.session().send('Hi').final(), { code: 'Interrupted' })
  })

  test('error in started stream is retried or reported', async () => {
    const busy = JSON.stringify({ Successful: false, Result: null, Errors: [{ ErrorCode: 'StorageUnavailable', Message: 'No.', SystemError: true }] })
    const never = busy.replace('StorageUnavailable', 'DataTooNew')
    const { aptix } = mockClient([stream(`event: result\ndata: ${busy}\n\n`), stream(`event: result\ndata: ${never}\n\n`)])
    await assert.rejects(aptix.session().send('Hi').final(), { code: 'DataTooNew', retry: 'never' })
  })

  test('response with leading whitespace is parsed', async () => {
    const { aptix } = mockClient([new Response(`  \n ${succeeded}`, { headers: { 'content-type': 'application/json' } })])
    assert.equal((await collect(aptix.session().send('Hi'))).text, 'Hello')
    const failed = mockClient([new Response(' ' + (await errorResponse(200, { ErrorCode: 'ModelTimedOut' }).text()), { status: 200 })])
    await assert.rejects(failed.aptix.session().send('Hi').final(), { code: 'ModelTimedOut', status: 504 })
  })

  test('full resume store does not fail the turn', async () => {
    const resumeStore = new MemoryStore()
    resumeStore.setItem = () => {
      throw new Error('QuotaExceededError')
    }
    const { aptix } = mockClient([stream(`event: result\nid: 1\ndata: ${succeeded}\n\n`)], { resumeStore })
    assert.equal((await aptix.session().send('Hi').final()).text, 'Hello')
  })

  test('failed token function is called again', async () => {
    let tokenCalls = 0
    const token = () => (tokenCalls++ ? 't' : Promise.reject(new Error('signed out')))
    const { aptix } = mockClient([stream(`event: result\nid: 1\ndata: ${succeeded}\n\n`)], { token })
    await assert.rejects(aptix.session().send('Hi').final(), /signed out/)
    assert.equal((await aptix.session().send('Hi').final()).text, 'Hello')
  })

  test('events have one reader at a time, which can stop and continue', async () => {
    const { aptix } = mockClient([
      stream(`id: 1\nevent: status\ndata: {}\n\nid: 2\nevent: result\ndata: ${succeeded}\n\n`),
    ])
    const turn = aptix.session().send('Hi')
    for await (const { type } of turn) {
      assert.equal(type, 'status')
      await assert.rejects(collect(turn), TypeError)
      break
    }
    assert.deepEqual((await collect(turn)).types, ['delta', 'result'])
    assert.ok(!((await turn.final()) instanceof AptixError))
  })
})
