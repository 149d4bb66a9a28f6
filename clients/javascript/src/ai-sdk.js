/**
 * A `ChatTransport` of the AI SDK (`useChat({ transport })`). A chat is a session, and an answer of it is a turn: the
 * message's id is the turn's.
 *
 * @module
 */

import { AptixError } from './errors.js'

/**
 * The parts of the AI SDK's messages that are read here.
 * @typedef {{
 *   type: string, text?: string, url?: string, mediaType?: string, filename?: string,
 *   toolCallId?: string, state?: string, output?: unknown, errorText?: string, providerExecuted?: boolean,
 * }} Part
 *
 * @typedef {{ id: string, role: 'system' | 'user' | 'assistant', parts: Part[] }} Message
 *
 * What is written: chunks of the AI SDK's UI message stream.
 * @typedef {{ type: 'start', messageId: string } | { type: 'start-step' } | { type: 'finish-step' } | { type: 'reset-step' }
 *   | { type: 'text-start' | 'text-end', id: string } | { type: 'text-delta', id: string, delta: string }
 *   | { type: 'tool-input-available', toolCallId: string, toolName: string, input: unknown, providerExecuted?: boolean }
 *   | { type: 'tool-output-available', toolCallId: string, output: unknown, providerExecuted?: boolean }
 *   | { type: 'tool-output-error', toolCallId: string, errorText: string, providerExecuted?: boolean }
 *   | { type: 'source-document', sourceId: string, mediaType: string, title: string, filename?: string }
 *   | { type: 'finish', finishReason: 'stop' | 'tool-calls', messageMetadata: Metadata }
 *   | { type: 'error', errorText: string } | { type: 'abort' }} Chunk
 *
 * What the message of an answer tells beside its parts.
 * @typedef {{ mode: string, warnings: string[], usage?: import('./wire.js').Usage }} Metadata
 *
 * `tools` are run by the transport. Those that are not named there are the chat's: its `onToolCall` and `addToolOutput`
 * run them, where the transport has no `tools` at all.
 * @typedef {Omit<Partial<import('./session.js').Said>, 'files' | 'images' | 'signal'>} TransportOptions
 */

/** Answers a chat of the AI SDK. */
export class AptixChatTransport {
  #aptix
  #options
  /** @type {Map<string, import('./session.js').Session>} */
  #sessions = new Map()
  /**
   * The turn that completed last, of each chat.
   * @type {Map<string, string>}
   */
  #completed = new Map()

  /** A stream that is taken up again begins with its first event. */
  resumeStreamIsReplay = true

  /**
   * @param {import('./index.js').Aptix} aptix
   * @param {TransportOptions} [options]
   */
  constructor(aptix, options = {}) {
    this.#aptix = aptix
    this.#options = options
  }

  /**
   * Says the newest message of a chat, hands in the results of the calls that its newest answer waits for, or has an
   * answer written again. To abort is to stop the turn.
   * @param {{
   *   chatId: string, messages: Message[], abortSignal?: AbortSignal,
   *   trigger?: 'submit-message' | 'regenerate-message', messageId?: string,
   * }} options
   * @returns {Promise<ReadableStream<Chunk>>}
   */
  async sendMessages({ chatId, messages, abortSignal, trigger, messageId }) {
    const session = this.#session(chatId)
    const turn = await this.#turn(session, { messages, trigger, messageId })
    this.#completed.delete(chatId)
    turn.final().then(
      () => this.#completed.set(chatId, turn.id),
      () => {},
    )
    return chunks(turn, abortSignal)
  }

  /**
   * @param {import('./session.js').Session} session
   * @param {{ messages: Message[], trigger?: string, messageId?: string }} asked
   */
  async #turn(session, { messages, trigger, messageId = this.#completed.get(session.id) }) {
    const newest = messages.at(-1)
    // Of an answer that is to be written again the message is gone. One of the user's is still there, and said again.
    const isAnswer = messageId !== undefined && !messages.some(({ id }) => id === messageId)
    if (trigger === 'regenerate-message' && isAnswer) return session.rerun(messageId)
    const results = newest?.role === 'assistant' ? answered(newest.parts) : []
    if (newest && results.length) return session.submit(newest.id, results)
    const said = messages.findLast(({ role }) => role === 'user')
    const text = (said?.parts ?? []).flatMap((part) => (part.type === 'text' ? [part.text ?? ''] : [])).join('\n')
    return session.send(text, await attached(said?.parts ?? []))
  }

  /**
   * Goes on with the chat's newest answer, if it is still under way.
   * @param {{ chatId: string, abortSignal?: AbortSignal }} options
   * @returns {Promise<ReadableStream<Chunk> | null>}
   */
  async reconnectToStream({ chatId, abortSignal }) {
    const session = this.#session(chatId)
    if (session.openTurn !== undefined) return chunks(session.resume(), abortSignal)
    try {
      const { Id, Status } = await session.turn('last')
      return Status.Id === 'pending' ? chunks(session.resume({ turnId: Id }), abortSignal) : null
    } catch (error) {
      if (error instanceof AptixError && error.status === 404) return null
      throw error
    }
  }

  /** @param {string} chatId */
  #session(chatId) {
    const session = this.#sessions.get(chatId) ?? this.#aptix.session(chatId, this.#options)
    this.#sessions.set(chatId, session)
    return session
  }
}

/**
 * The results of the calls of the newest step, in their order; none where one is still missing.
 * @param {Part[]} parts
 */
function answered(parts) {
  const step = parts.slice(parts.findLastIndex(({ type }) => type === 'step-start') + 1)
  const calls = step.filter(({ toolCallId, providerExecuted }) => toolCallId !== undefined && !providerExecuted)
  if (!calls.every(({ state }) => state === 'output-available' || state === 'output-error')) return []
  return calls.map(({ toolCallId = '', state, output, errorText }) =>
    state === 'output-error' ? { id: toolCallId, error: errorText } : { id: toolCallId, output },
  )
}

/**
 * The files of a message: images as such, the rest as files.
 * @param {Part[]} parts
 */
async function attached(parts) {
  const files = parts.filter(({ type, url }) => type === 'file' && url?.startsWith('data:'))
  const blobs = await Promise.all(
    files.map(async ({ url = '', filename }, n) => {
      const blob = await (await fetch(url)).blob()
      return { blob, path: filename ?? `file-${n + 1}` }
    }),
  )
  const isImage = (/** @type {Blob} */ { type }) => /^image\/(png|jpeg|gif|webp)$/.test(type)
  return {
    images: blobs.flatMap(({ blob }) => (isImage(blob) ? [blob] : [])),
    files: blobs.flatMap(({ blob, path }) =>
      isImage(blob) ? [] : [{ path, content: blob, mimeType: blob.type || undefined, origin: /** @type {const} */ ('user') }],
    ),
  }
}

/**
 * A turn's events as the AI SDK reads them.
 * @param {import('./turn.js').Turn} turn
 * @param {AbortSignal} [signal]
 * @returns {ReadableStream<Chunk>}
 */
function chunks(turn, signal) {
  const stop = () => void turn.stop().catch(() => {})
  if (signal?.aborted) stop()
  else signal?.addEventListener('abort', stop, { once: true })
  const written = write(turn)
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await written.next()
      if (!done) return controller.enqueue(value)
      signal?.removeEventListener('abort', stop)
      controller.close()
    },
  })
}

/**
 * @param {import('./turn.js').Turn} turn
 * @returns {AsyncGenerator<Chunk, void, void>}
 */
async function* write(turn) {
  yield { type: 'start', messageId: turn.id }
  yield { type: 'start-step' }
  let texts = 0
  let [isText, hasCalls] = [false, false]
  const providerExecuted = true
  try {
    for await (const event of turn) {
      if (event.type === 'delta') {
        if (hasCalls) yield* [/** @type {Chunk} */ ({ type: 'finish-step' }), /** @type {Chunk} */ ({ type: 'start-step' })]
        hasCalls = false
        if (!isText) yield { type: 'text-start', id: `text-${++texts}` }
        isText = true
        yield { type: 'text-delta', id: `text-${texts}`, delta: event.text }
      } else if (event.type === 'reset') {
        // Calls stand in steps before: what is taken back is text alone.
        if (isText) yield { type: 'reset-step' }
        isText = false
      } else if (event.type === 'tool-call') {
        const { id, name, args } = event.call
        yield { type: 'tool-input-available', toolCallId: id, toolName: name, input: args, providerExecuted }
        hasCalls = true
      } else if (event.type === 'tool-result') {
        const { call, output, error } = event
        yield error === undefined
          ? { type: 'tool-output-available', toolCallId: call.id, output: output ?? null, providerExecuted }
          : { type: 'tool-output-error', toolCallId: call.id, errorText: error, providerExecuted }
      } else if (event.type === 'stopped') {
        yield { type: 'abort' }
      } else if (event.type === 'result') {
        const { calls, files, mode, warnings, usage } = event.answer
        if (isText) yield { type: 'text-end', id: `text-${texts}` }
        for (const { id, name, args } of calls) {
          yield { type: 'tool-input-available', toolCallId: id, toolName: name, input: args }
        }
        for (const { Url, MimeType, Name } of files) {
          yield { type: 'source-document', sourceId: Url, mediaType: MimeType, title: Name, filename: Name }
        }
        yield { type: 'finish-step' }
        yield { type: 'finish', finishReason: calls.length ? 'tool-calls' : 'stop', messageMetadata: { mode, warnings, usage } }
      }
    }
  } catch (error) {
    yield { type: 'error', errorText: error instanceof Error ? error.message : String(error) }
  }
}
