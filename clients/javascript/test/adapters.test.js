/** Adapters for the AI SDK and assistant-ui with the real packages, and scripts for the mock model. */

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'

import { LocalThreadRuntimeCore } from '@assistant-ui/core/internal'
import { AbstractChat, lastAssistantMessageIsCompleteWithToolCalls } from 'ai'

import { AptixChatTransport } from '../src/ai-sdk.js'
import { aptixChatModel } from '../src/assistant-ui.js'
import { MockModel, script } from '../src/testing.js'
import { Cloud, skip } from './cloud.js'

/** @type {Cloud} */
let cloud

suite('AI SDK adapter', { skip }, () => {
  before(async () => (cloud = await Cloud.start()))
  after(() => cloud.end())

  /**
   * A chat without a UI.
   * @extends {AbstractChat<import('ai').UIMessage>}
   */
  class Chat extends AbstractChat {
    /** @param {import('ai').ChatInit<import('ai').UIMessage>} init */
    constructor(init) {
      /** @type {import('ai').ChatState<import('ai').UIMessage>} */
      const state = {
        status: 'ready',
        error: undefined,
        messages: [],
        pushMessage: (message) => void state.messages.push(message),
        popMessage: () => void state.messages.pop(),
        replaceMessage: (index, message) => void (state.messages[index] = message),
        snapshot: structuredClone,
      }
      super({ ...init, state })
    }

    get transcript() {
      return this.messages.map(({ role, parts }) => [
        role,
        ...parts.flatMap((part) => {
          if (part.type === 'text') return [part.text]
          if (part.type.startsWith('tool-')) return [part.type, /** @type {any} */ (part).output]
          return part.type === 'source-document' ? [part.title] : []
        }),
      ])
    }
  }

  test('chat shows final answer without reset text and regenerates turns', async () => {
    const chat = new Chat({ id: 'chat1', transport: new AptixChatTransport(cloud.client()) })
    await chat.sendMessage({ text: String(script().say('Let me look. ').call('agent_list_modes').afterTools().say('Done.')) })
    assert.equal(chat.status, 'ready', String(chat.error))
    assert.deepEqual(chat.transcript[1], ['assistant', 'Done.'])
    const [, answer] = chat.messages
    const session = cloud.client().session('chat1')
    assert.equal((await session.turn('last')).Id, answer?.id)
    assert.equal(/** @type {any} */ (answer?.metadata).mode, 'General')
    await chat.sendMessage({ text: String(script().words(3)) })
    assert.equal(chat.messages.length, 4)
    await chat.regenerate()
    assert.deepEqual(chat.transcript.at(-1), ['assistant', 'word1 word2 word3'])
    assert.deepEqual([chat.messages.length, (await session.read()).TurnCount], [4, 3])
    await chat.regenerate({ messageId: chat.messages[1]?.id ?? '' })
    assert.deepEqual(chat.transcript.at(-1), ['assistant', 'Done.'])
    const again = await session.turn('last')
    assert.deepEqual([chat.messages.length, again.Id, again.RerunOfTurnId], [2, chat.messages[1]?.id, answer?.id])
    await chat.regenerate({ messageId: chat.messages[0]?.id ?? '' })
    assert.equal((await session.turn('last')).RerunOfTurnId, undefined)
  })

  test('chat sends its files', async () => {
    const chat = new Chat({ transport: new AptixChatTransport(cloud.client()) })
    const url = `data:text/plain;base64,${btoa('attached here')}`
    await chat.sendMessage({ text: 'Read.', files: [{ type: 'file', mediaType: 'text/plain', filename: 'a.txt', url }] })
    const { requests } = await new MockModel(cloud.model).requests()
    assert.ok(JSON.stringify(requests.at(-1)?.body).includes('attached here'))
  })

  const calls = String(script().call('workspace_read_file', { path: 'a' }).call('workspace_read_file', { path: 'b' }).afterTools().echo())

  test('chat shows calls run by the transport', async () => {
    const tools = { workspace_read_file: (/** @type {{ path: string }} */ { path }) => path.toUpperCase() }
    const chat = new Chat({ transport: new AptixChatTransport(cloud.client(), { tools, agent: 'workspace' }) })
    await chat.sendMessage({ text: calls })
    const [, answer] = chat.transcript
    assert.deepEqual(answer?.slice(0, 5), ['assistant', 'tool-workspace_read_file', 'A', 'tool-workspace_read_file', 'B'])
    assert.match(String(answer?.[5]), /Tool results received: "A", "B"/)
  })

  test('chat runs calls itself if transport has no tools', async () => {
    /** @type {Chat} */
    const chat = new Chat({
      transport: new AptixChatTransport(cloud.client(), { agent: 'workspace' }),
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
      onToolCall: ({ toolCall: { toolCallId, toolName, input } }) => {
        const { path } = /** @type {{ path: string }} */ (input)
        void chat.addToolOutput({ tool: toolName, toolCallId, output: path.toUpperCase() })
      },
    })
    const finished = new Promise((resolve) => {
      const timer = setInterval(() => {
        if (chat.status === 'ready' && chat.messages.at(-1)?.parts.some(({ type }) => type === 'text')) {
          clearInterval(timer)
          resolve(undefined)
        }
      }, 20)
    })
    await chat.sendMessage({ text: calls })
    await finished
    const [, answer] = chat.transcript
    assert.match(String(answer?.at(-1)), /Tool results received: "A", "B"/)
    assert.equal(chat.messages.length, 2)
  })

  test('chat stops turn and reports failures', async () => {
    const aptix = cloud.client()
    const chat = new Chat({ id: 'chat2', transport: new AptixChatTransport(aptix) })
    const sent = chat.sendMessage({ text: String(script().pace(20).words(500)) })
    while (!chat.messages.at(-1)?.parts.some(({ type }) => type === 'text')) await new Promise((wait) => setTimeout(wait, 20))
    await chat.stop()
    await sent
    assert.equal(chat.status, 'ready')
    while ((await aptix.session('chat2').turn('last')).Status.Id === 'pending') await new Promise((wait) => setTimeout(wait, 50))
    assert.equal((await aptix.session('chat2').turn('last')).Status.Id, 'failed')
    await chat.sendMessage({ text: String(script().status(401, { code: 'invalid_api_key' })) })
    assert.equal(chat.status, 'error')
    assert.match(String(chat.error?.message), /model/i)
  })

  test('chat resumes running answer', async () => {
    const transport = new AptixChatTransport(cloud.client())
    const session = cloud.client().session('chat3')
    assert.equal(await transport.reconnectToStream({ chatId: 'chat3' }), null)
    const turn = session.send(script().pace(10).words(60))
    for await (const { type } of turn) if (type === 'delta') break
    const chat = new Chat({ id: 'chat3', transport })
    await chat.resumeStream()
    assert.deepEqual(chat.transcript, [['assistant', (await turn.final()).text]])
    assert.equal(chat.messages[0]?.id, turn.id)
  })
})

suite('assistant-ui adapter', { skip }, () => {
  before(async () => (cloud = await Cloud.start()))
  after(() => cloud.end())

  /** @param {import('../src/assistant-ui.js').AdapterOptions} [options] */
  function thread(options) {
    const chatModel = aptixChatModel(cloud.client(), options)
    return new LocalThreadRuntimeCore({ getModelContext: () => ({}) }, { adapters: { chatModel } })
  }

  /**
   * @param {LocalThreadRuntimeCore} thread
   * @param {string | import('../src/testing.js').Script} text
   */
  async function say(thread, text) {
    await thread.append({
      role: 'user',
      parentId: thread.messages.at(-1)?.id ?? null,
      sourceId: null,
      content: [{ type: 'text', text: String(text) }],
      attachments: [],
      metadata: { custom: {} },
      createdAt: new Date(),
      runConfig: {},
      startRun: true,
    })
    const last = thread.messages.at(-1)
    assert.ok(last?.role === 'assistant')
    return last
  }

  test('thread shows answer with its tool calls', async () => {
    const runtime = thread({ agent: 'workspace', tools: { workspace_read_file: ({ path }) => path.toUpperCase() } })
    const instruction = script().say('Looking. ').call('workspace_read_file', { path: 'a' }).afterTools().echo()
    const answer = await say(runtime, instruction)
    assert.deepEqual(answer.content.map(({ type }) => type), ['tool-call', 'text'])
    const [call, text] = /** @type {any[]} */ (answer.content)
    assert.equal(call.result, 'A')
    assert.match(text.text, /Tool results received: "A"/)
    assert.deepEqual(answer.status, { type: 'complete', reason: 'stop' })
    const next = await say(runtime, script().echo())
    assert.match(/** @type {any} */ (next.content[0]).text, /One turn of this chain came before/)
  })

  test('cancelled run stops turn, and failures are reported', async () => {
    const aptix = cloud.client()
    const session = aptix.session()
    const runtime = thread({ session: () => session })
    const sent = say(runtime, script().pace(20).words(500))
    while (!(/** @type {any} */ (runtime.messages.at(-1)?.content[0])?.text)) await new Promise((wait) => setTimeout(wait, 20))
    runtime.cancelRun()
    assert.deepEqual((await sent).status, { type: 'incomplete', reason: 'cancelled' })
    while ((await session.turn('last')).Status.Id === 'pending') await new Promise((wait) => setTimeout(wait, 50))
    assert.equal((await session.turn('last')).Status.Id, 'failed')
    await say(runtime, script().status(401)).catch(() => {})
    assert.equal(/** @type {any} */ (runtime.messages.at(-1)).status.reason, 'error')
  })
})

suite('script', { skip }, () => {
  before(async () => (cloud = await Cloud.start()))
  after(() => cloud.end())

  test('mock model understands every script step', async () => {
    const model = new MockModel(cloud.model)
    const session = cloud.client().session()
    const all = script()
      .status(429, { code: 'rate_limit_exceeded', times: 1, retryAfter: 0 })
      .delay(1)
      .pace(1)
      .chunk(3)
      .think('Hm.')
      .hang(1)
      .say('a "quoted" ]] text; ')
      .repeat('ab', 2)
      .words(2)
      .usage(100, 20)
      .call('agent_list_modes')
      .afterTools()
      .drop(1)
      .say('Done, ')
      .echo()
    const { text, usage } = await session.send(all).final()
    assert.match(text, /^Done, This is the mock model/)
    assert.ok((usage?.PromptTokens ?? 0) >= 100)
    assert.equal((await model.requests()).count, 4)
    await model.clearRequests()
    assert.equal((await model.requests()).count, 0)
    const code = (/** @type {import('../src/testing.js').Script} */ failing) =>
      session.send(failing).final().then(({ text }) => text, ({ code }) => code)
    assert.match(await code(script().say('x').fail()), /^Model/)
    const { warnings } = await session.send(script().say('x').incomplete()).final()
    assert.equal(warnings.length, 1)
    assert.match(await code(script().say('x').cut(3)), /^Model/)
    assert.equal(await code(script().refuse('I would rather not.')), 'I would rather not.')
    assert.match(await code(script().step('no such step')), /^Model/)
  })
})
