/** Guarantees of the SDK, one at a time, against a local cloud. */

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'

import { AptixError } from '../src/index.js'
import { Cloud, MemoryStore, collect, skip } from './cloud.js'

/** @type {Cloud} */
let cloud

/** @param {string} code */
const hasCode = (code) => (/** @type {unknown} */ error) => {
  assert.ok(error instanceof AptixError, String(error))
  assert.equal(error.code, code)
  return true
}

/**
 * Waits for the first event of a type.
 * @param {import('../src/index.js').Turn} turn
 * @param {string} type
 */
async function waitForEvent(turn, type) {
  for await (const event of turn) if (event.type === type) return event
  throw new Error(`The turn ended without the event ${type}`)
}

suite('turn', { skip }, () => {
  // A short lease, since `SessionBusy` asks clients to wait for the lease of the running turn.
  before(async () => (cloud = await Cloud.start('--lease-seconds', '3')))
  after(() => cloud.end())

  test('ids are known before anything is sent', () => {
    const aptix = cloud.client({ fetch: () => Promise.reject(new TypeError('offline')), retry: { maxRetries: 0 } })
    const session = aptix.session()
    const turn = session.send('Hello')
    assert.match(session.id, /^[0-9a-f]{32}$/)
    assert.match(turn.id, /^[0-9a-f]{32}$/)
    assert.equal(turn.sessionId, session.id)
  })

  test('files and images reach the model', async () => {
    const session = cloud.client().session()
    const pixel = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64')
    const answer = await session
      .send('Look.', {
        files: [
          { path: 'src/total.rs', content: 'fn total() {}', language: 'rust' },
          { path: 'data.bin', content: new Uint8Array([0, 255, 1]) },
          new File(['dropped here'], 'notes.txt', { type: 'text/plain' }),
        ],
        images: [new Blob([pixel], { type: 'image/png' })],
      })
      .final()
    assert.match(answer.text, /mock model/)
    assert.equal(answer.response.Kind, 'final')
    assert.ok(answer.usage && answer.usage.TotalTokens > 0)
    const { requests } = await (await fetch(`${cloud.model}/scripted/requests`)).json()
    const request = JSON.stringify(requests.at(-1).body)
    for (const part of ['fn total() {}', 'dropped here', 'notes.txt', 'data.bin', 'input_image', 'iVBORw0KGgo']) {
      assert.ok(request.includes(part), part)
    }
  })

  test('same id with same input is same turn, other input is refused', async () => {
    const session = cloud.client().session()
    const [first, again] = [session.send('Hello', { turnId: 't1' }), session.send('Hello', { turnId: 't1' })]
    assert.deepEqual((await first.final()).response, (await again.final()).response)
    await assert.rejects(session.send('Bye', { turnId: 't1' }).final(), hasCode('TurnIdConflict'))
    assert.equal((await session.read()).TurnCount, 1)
  })

  test('turn waits for running turn', async () => {
    const session = cloud.client({ retry: { initialBackoffMs: 50, maxRetries: 50 } }).session()
    const slow = session.send('[[script: pace 20ms; words 30]]')
    await waitForEvent(slow, 'delta')
    const next = await collect(session.send('[[script: say "Me too."]]'))
    assert.equal(next.text, 'Me too.')
    assert.ok(next.events.some((event) => event.type === 'retry' && event.error.code === 'SessionBusy'))
    assert.equal((await slow.final()).response.Kind, 'final')
  })

  test('busy session without retries is reported as retryable', async () => {
    const session = cloud.client({ retry: { maxRetries: 0 } }).session()
    const slow = session.send('[[script: pace 20ms; words 30]]')
    await waitForEvent(slow, 'delta')
    const refused = session.send('Hello')
    await assert.rejects(refused.final(), (error) => {
      assert.ok(error instanceof AptixError)
      assert.deepEqual([error.code, error.status, error.retry], ['SessionBusy', 409, 'same_request'])
      assert.ok((error.retryAfterMs ?? 0) >= 1000)
      return true
    })
    await slow.stop()
  })

  test('model failure is reported with its code', async () => {
    const session = cloud.client().session()
    const turn = session.send('[[script: status 400 code content_filter]]')
    await assert.rejects(turn.final(), (error) => error instanceof AptixError && error.code.startsWith('Model'))
    await assert.rejects(collect(turn), AptixError)
    await assert.rejects(session.send('').final(), hasCode('InputRequired'))
    await assert.rejects(session.turn('nobody'), hasCode('TurnNotFound'))
  })

  test('turn without tools returns calls and continues with results', async () => {
    const session = cloud.client().session(undefined, { agent: 'workspace' })
    const turn = session.send('[[script: say "First: "; call workspace_read_file {"path":"a"}; then; say "Done."]]')
    const { calls, text } = await turn.final()
    assert.deepEqual([text, calls.map(({ name, args }) => [name, args])], ['First: ', [['workspace_read_file', { path: 'a' }]]])
    const results = calls.map(({ id }) => ({ id, output: 'A' }))
    await assert.rejects(session.submitToolResults(turn.id, [{ id: 'other', output: 1 }]).final(), hasCode('ToolResultsMismatch'))
    assert.equal((await collect(session.submitToolResults(turn.id, results))).text, 'Done.')
    assert.equal((await session.submitToolResults(turn.id, results).final()).text, 'Done.', 'submitting again changes nothing')
  })

  test('calls run once, in order, and their results reach the model', async () => {
    /** @type {string[]} */
    const ran = []
    const turn = cloud.client().session(undefined, { agent: 'workspace' }).send(
      '[[script: call workspace_read_file {"path":"slow"}; call workspace_write_patch {"path":"x","patch":"y"}; call workspace_read_file {"path":"bad"}; call workspace_read_file {"path":"huge"}; then; echo]]',
      {
        tools: {
          workspace_read_file: async ({ path }) => {
            ran.push(path)
            if (path === 'bad') throw new Error('no such file: bad')
            if (path === 'huge') return 'x'.repeat(2 ** 21)
            await new Promise((resolve) => setTimeout(resolve, 20))
            return { path }
          },
          workspace_write_patch: () => void ran.push('patched'),
        },
        approve: ({ name }) => name !== 'workspace_write_patch' || 'Not today.',
      },
    )
    const { events } = await collect(turn)
    assert.deepEqual(ran, ['slow', 'bad', 'huge'])
    const results = events.flatMap((event) => (event.type === 'tool-result' ? [event] : []))
    assert.deepEqual(
      results.map(({ call, output, error, refused }) => [call.args.path, output, error, refused]),
      [
        ['slow', { path: 'slow' }, undefined, false],
        ['x', undefined, 'Not today.', true],
        ['bad', undefined, 'no such file: bad', false],
        ['huge', undefined, "The tool's result is larger than 1048576 characters of JSON.", false],
      ],
    )
    const { text } = await turn.final()
    for (const part of ['slow', 'Not today.', 'no such file: bad']) assert.ok(text.includes(part), `${part} in ${text}`)
  })

  test('oversized results are omitted and reported to the model', async () => {
    const calls = Array.from({ length: 5 }, (_, n) => `call workspace_read_file {"path":"${n}"}`)
    const tools = { workspace_read_file: (/** @type {{ path: string }} */ { path }) => path === '2' ? '"'.repeat(400_000) : 'x'.repeat(1e6) }
    const session = cloud.client().session(undefined, { agent: 'workspace' })
    const turn = session.send(`[[script: ${calls.join('; ')}; then; say "Done."]]`, { tools })
    assert.equal((await turn.final()).text, 'Done.')
    const { requests } = await (await fetch(`${cloud.model}/scripted/requests`)).json()
    const outputs = requests.at(-1).body.input.filter((/** @type {any} */ { type }) => type === 'function_call_output')
    const isOmitted = outputs.map((/** @type {any} */ { output }) => output.includes('This result was omitted'))
    assert.deepEqual(isOmitted, [false, false, true, false, false])
  })

  test('timed-out tool call does not block the turn', async () => {
    const turn = cloud.client().session(undefined, { agent: 'workspace' }).send('[[script: call workspace_read_file {"path":"a"}; then; echo]]', {
      tools: { workspace_read_file: () => new Promise(() => {}) },
      toolTimeoutMs: 20,
    })
    const { events } = await collect(turn)
    assert.ok(events.some((event) => event.type === 'tool-result' && /timeout/i.test(event.error ?? '')))
  })
})

suite('stop and abort', { skip }, () => {
  before(async () => (cloud = await Cloud.start()))
  after(() => cloud.end())

  test('stop ends turn and keeps partial text', async () => {
    const session = cloud.client().session()
    const turn = session.send('[[script: pace 20ms; words 500]]')
    await waitForEvent(turn, 'delta')
    const stopped = turn.stop()
    const next = collect(session.send('[[script: say "Next."]]'))
    assert.equal((await stopped)?.Status.Id, 'failed')
    const { events } = await collect(turn)
    const last = events.at(-1)
    assert.ok(last?.type === 'stopped' && last.text.startsWith('word1 '))
    await assert.rejects(turn.final(), hasCode('TurnCancelled'))
    const { text, types } = await next
    assert.deepEqual([text, types.includes('retry')], ['Next.', false], 'the next turn only waits for the stop')
  })

  test('stop during tool call ends both', async () => {
    const turn = cloud.client().session(undefined, { agent: 'workspace' }).send('[[script: call workspace_read_file {"path":"a"}; then; say "no"]]', {
      tools: {
        workspace_read_file: (_, { signal }) =>
          new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      },
    })
    await waitForEvent(turn, 'tool-call')
    await turn.stop()
    assert.deepEqual((await collect(turn)).types, ['stopped'])
    await assert.rejects(turn.final(), hasCode('TurnCancelled'))
  })

  test('stop before start leaves no turn', async () => {
    const session = cloud.client().session()
    const slow = session.send('[[script: pace 20ms; words 500]]')
    await waitForEvent(slow, 'delta')
    const waiting = session.send('Hello')
    await waitForEvent(waiting, 'retry')
    assert.equal(await waiting.stop(), undefined)
    await assert.rejects(waiting.final(), hasCode('TurnCancelled'))
    await slow.stop()
    assert.equal((await session.read()).TurnCount, 1)
  })

  test('stop right after send ends turn', async () => {
    const session = cloud.client().session()
    const turn = session.send('[[script: pace 20ms; words 500]]')
    await turn.stop()
    await assert.rejects(turn.final(), hasCode('TurnCancelled'))
    for await (const { Status } of session.turns()) assert.equal(Status.Id, 'failed')
  })

  test('stop after end changes nothing', async () => {
    const turn = cloud.client().session().send('[[script: say "Done."]]')
    assert.equal((await turn.final()).text, 'Done.')
    assert.equal((await turn.stop())?.Status.Id, 'completed')
  })

  test('aborted signal stops reading, and turn can be resumed by id', async () => {
    const session = cloud.client().session()
    const controller = new AbortController()
    const turn = session.send('[[script: pace 10ms; words 60]]', { signal: controller.signal })
    await waitForEvent(turn, 'delta')
    controller.abort()
    await assert.rejects(turn.final(), { name: 'AbortError' })
    await assert.rejects(collect(turn), { name: 'AbortError' })
    const { text } = await collect(session.resume({ turnId: turn.id }))
    assert.equal(text, Array.from({ length: 60 }, (_, n) => `word${n + 1}`).join(' '))
    assert.throws(() => session.resume(), TypeError)
  })

  test('resumed turn continues and runs no call twice', async () => {
    const resumeStore = new MemoryStore()
    const id = 'reloaded'
    /** @type {string[]} */
    const ran = []
    const tools = (/** @type {boolean} */ hangs) => ({
      workspace_read_file: async (/** @type {{ path: string }} */ { path }) => {
        if (hangs && path === 'b') return new Promise(() => {})
        ran.push(path)
        return path
      },
    })
    const controller = new AbortController()
    const before = cloud.client({ resumeStore }).session(id, { agent: 'workspace' })
    const turn = before.send('[[script: call workspace_read_file {"path":"a"}; call workspace_read_file {"path":"b"}; then; echo]]', {
      tools: tools(true),
      signal: controller.signal,
    })
    await waitForEvent(turn, 'tool-result')
    await waitForEvent(turn, 'tool-call')
    controller.abort()
    await assert.rejects(turn.final())

    const session = cloud.client({ resumeStore }).session(id)
    assert.equal(session.openTurnId, turn.id)
    const { text } = await session.resume({ tools: tools(false) }).final()
    assert.deepEqual(ran, ['a', 'b'])
    assert.match(text, /Tool results received: "a", "b"/)
    assert.deepEqual([session.openTurnId, resumeStore.size], [undefined, 0])
  })
})

suite('stored sessions', { skip }, () => {
  before(async () => (cloud = await Cloud.start()))
  after(() => cloud.end())

  test('sessions are listed by page and read', async () => {
    const aptix = cloud.client({ token: cloud.token('bob') })
    const ids = ['l1', 'l2', 'l3', 'l4', 'l5']
    for (const id of ids) await aptix.session(id).send(`[[script: say "Hello from ${id}."]]`).final()
    /** @type {string[]} */
    const listed = []
    for await (const { Id } of aptix.sessions.list({ userId: 'bob', pageSize: 2 })) listed.push(Id)
    assert.deepEqual(listed.toSorted(), ids)
    assert.equal((await aptix.sessions.get('l1')).TurnCount, 1)
    const session = aptix.session('l1')
    const turn = await session.turn('last')
    assert.equal((await session.summary(turn.Id)).AgentAnswerSummary, 'Hello from l1.')
    assert.equal(await (await session.payload(turn.Id, 'answer')).text(), 'Hello from l1.')
    const instruction = await (await session.payload(turn.Id, 'instruction')).json()
    assert.equal(instruction.TurnId, turn.Id)
    assert.equal(await (await aptix.open(turn.FullAgentAnswerUrl ?? '')).text(), 'Hello from l1.')
    for await (const update of session.modeHistory()) assert.fail(update.NewMode)
    await assert.rejects(aptix.sessions.get('nobody'), hasCode('SessionNotFound'))
  })

  test('session is renamed, searched, deleted and restored', async () => {
    const aptix = cloud.client({ token: cloud.token('carol') })
    const session = aptix.session()
    await session.send('[[script: say "One."]]').final()
    await session.send('[[script: say "Two."]]').final()
    assert.equal((await session.update({ name: 'The lighthouse' })).Name, 'The lighthouse')
    assert.equal((await session.update({ category: 'coast' })).Category, 'coast')
    const inCategory = async (/** @type {string} */ category) => {
      /** @type {string[]} */
      const ids = []
      for await (const { Id } of aptix.sessions.list({ category, userId: 'carol' })) ids.push(Id)
      return ids
    }
    assert.deepEqual([await inCategory('coast'), await inCategory('inland')], [[session.id], []])
    const found = async () => {
      /** @type {string[]} */
      const ids = []
      for await (const { Session, Matches } of aptix.sessions.search('LIGHT', { userId: 'carol' })) ids.push(Session.Id, Matches[0]?.MatchedIn ?? '')
      return ids
    }
    assert.deepEqual(await found(), [session.id, 'name'])
    /** @type {number[]} */
    const numbers = []
    for await (const { SequenceNumber } of session.turns({ order: 'desc' })) numbers.push(SequenceNumber)
    assert.deepEqual(numbers, [2, 1])
    assert.equal((await session.read({ pageSize: 1 })).Turns.length, 1)
    await session.delete()
    assert.deepEqual(await found(), [])
    await session.restore()
    assert.deepEqual(await found(), [session.id, 'name'])
  })

  test('steps are truncated unless full values are requested', async () => {
    const session = cloud.client().session(undefined, { agent: 'workspace' })
    const text = 'ünï '.repeat(6_000)
    const tools = { workspace_read_file: () => ({ text }) }
    const turn = session.send('[[script: call workspace_read_file {"path":"a"}; then; say "Read."]]', { tools })
    await turn.final()
    const [truncated] = await all(session.steps(turn.id))
    const [full, answer] = await all(session.steps(turn.id, { full: true }))
    assert.ok(truncated?.Calls?.[0]?.FullResultJsonUrl && (truncated.Calls[0].ResultJson ?? '').length < text.length)
    assert.deepEqual(JSON.parse(full?.Calls?.[0]?.ResultJson ?? ''), { text })
    assert.equal(full?.Calls?.[0]?.FullResultJsonUrl, undefined)
    assert.equal(answer?.Text, 'Read.')
  })

  test('answer files can be downloaded', async () => {
    const aptix = cloud.client()
    const file = { name: 'notes.md', media_type: 'text/markdown', contents: '# Notes\n', encoding: 'utf8', description: null }
    const call = `call publish_file ${JSON.stringify(file)}`
    const answer = await aptix.session().send(`[[script: ${call}; then; say "There."]]`).final()
    assert.deepEqual(answer.files.map(({ Name }) => Name), ['notes.md'])
    assert.equal(await (await aptix.open(answer.files[0]?.Url ?? '')).text(), '# Notes\n')
  })
})

suite('rerun and fork', { skip }, () => {
  before(async () => (cloud = await Cloud.start()))
  after(() => cloud.end())

  test('turn is rerun with same or other instruction', async () => {
    const session = cloud.client().session()
    const turn = session.send('[[script: say "One."]]')
    await turn.final()
    assert.equal((await session.rerun(turn.id).final()).text, 'One.')
    const again = session.rerun(turn.id, { text: '[[script: say "Two."]]' })
    assert.equal((await collect(again)).text, 'Two.')
    assert.equal((await session.turn(again.id)).RerunOfTurnId, turn.id)
    await assert.rejects(session.rerun('nobody').final(), hasCode('TurnNotFound'))
  })

  test('session is forked from completed turn', async () => {
    const session = cloud.client().session()
    const turn = session.send('[[script: say "One."]]')
    await turn.final()
    const fork = await session.fork(turn.id, { name: 'Other' })
    assert.match((await fork.send('[[script: echo]]').final()).text, /One turn of this chain came before/)
    assert.deepEqual([(await fork.read()).Name, (await session.read()).TurnCount], ['Other', 1])
    await assert.rejects(session.fork('nobody'), hasCode('TurnNotFound'))
  })
})

suite('token', { skip }, () => {
  before(async () => (cloud = await Cloud.start()))
  after(() => cloud.end())

  test('rejected token is refreshed once for concurrent requests', async () => {
    let tokenCalls = 0
    const aptix = cloud.client({ token: async () => (tokenCalls++ === 0 ? 'stale' : cloud.token('ada')) })
    const answers = await Promise.all([1, 2, 3].map((n) => aptix.session().send(`[[script: say "${n}"]]`).final()))
    assert.deepEqual(answers.map(({ text }) => text), ['1', '2', '3'])
    assert.equal(tokenCalls, 2)
  })

  test('token rejected twice is an error', async () => {
    let tokenCalls = 0
    const aptix = cloud.client({ token: () => `stale ${tokenCalls++}`.replace(' ', '') })
    await assert.rejects(aptix.session().send('Hello').final(), hasCode('Unauthenticated'))
    assert.equal(tokenCalls, 2)
    await assert.rejects(cloud.client({ token: 'stale' }).session().read(), hasCode('Unauthenticated'))
  })

  test('token is sent only to the API', async () => {
    await assert.rejects(cloud.client().open('https://elsewhere.example/x'), TypeError)
    await assert.rejects(cloud.client().open('//elsewhere.example/x'), TypeError)
  })
})

const noKills = skip || (process.platform !== 'linux' && 'requires /proc')

suite('killed function', { skip: noKills }, () => {
  before(async () => (cloud = await Cloud.start('--lease-seconds', '3')))
  after(() => cloud.end())

  test('turns survive with stored answers and calls run once', async () => {
    const words = Array.from({ length: 30 }, (_, n) => `word${n + 1}`).join(' ')
    /** @type {Map<string, number>} */
    const ran = new Map()
    const tools = {
      workspace_read_file: (/** @type {any} */ _, /** @type {any} */ { call }) => {
        ran.set(call.id, (ran.get(call.id) ?? 0) + 1)
        return 1
      },
    }
    const turns = Array.from({ length: 6 }, async (_, n) => {
      const round = n % 2 ? 'pace 10ms; words 10; call workspace_read_file {"path":"a"}; then; ' : ''
      const session = cloud.client().session(undefined, { agent: 'workspace' })
      const turn = session.send(`[[script: ${round}pace 10ms; words 30]]`, { tools })
      const { text, types } = await collect(turn)
      assert.equal(text, words)
      assert.equal(await (await session.payload(turn.id, 'answer')).text(), words)
      return types.filter((type) => type === 'retry').length
    })
    await new Promise((resolve) => setTimeout(resolve, 250))
    let killed = cloud.kill()
    killed += cloud.kill('tool-continuation')
    const retries = await Promise.all(turns)
    assert.ok(killed > 0 && retries.some((retries) => retries > 0), `${killed} killed, retries: ${retries}`)
    assert.deepEqual([...ran.values()].filter((times) => times !== 1), [])
  })

  test('resumed turn survives', async () => {
    const resumeStore = new MemoryStore()
    const controller = new AbortController()
    const turn = cloud.client({ resumeStore }).session('left').send('[[script: pace 20ms; words 100]]', { signal: controller.signal })
    await waitForEvent(turn, 'delta')
    controller.abort()
    await assert.rejects(turn.final(), { name: 'AbortError' })
    assert.ok(cloud.kill() > 0)
    const { text } = await collect(cloud.client({ resumeStore }).session('left').resume())
    assert.ok(text.startsWith('word1 ') && text.endsWith(' word100'))
  })
})

/**
 * @template T
 * @param {AsyncGenerator<T, void, void>} items
 */
async function all(items) {
  /** @type {T[]} */
  const read = []
  for await (const item of items) read.push(item)
  return read
}
