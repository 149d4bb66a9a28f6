/**
 * A `ChatTransport` for the AI SDK (`useChat({ transport })`). A chat maps to a session and an assistant message to a turn.
 * The message's id is the turn's id.
 *
 * @module
 */

import { AptixError } from './errors.js'

/**
 * The subset of the AI SDK's message types that this transport reads.
 * @typedef {{
 *   type: string, text?: string, url?: string, mediaType?: string, filename?: string,
 *   toolCallId?: string, state?: string, output?: unknown, errorText?: string, providerExecuted?: boolean,
 * }} Part
 *
 * @typedef {{ id: string, role: 'system' | 'user' | 'assistant', parts: Part[] }} Message
 *
 * A chunk of the AI SDK's UI message stream.
 * @typedef {{ type: 'start', messageId: string } | { type: 'start-step' } | { type: 'finish-step' } | { type: 'reset-step' }
 *   | { type: 'text-start' | 'text-end', id: string } | { type: 'text-delta', id: string, delta: string }
 *   | { type: 'tool-input-available', toolCallId: string, toolName: string, input: unknown, providerExecuted?: boolean }
 *   | { type: 'tool-output-available', toolCallId: string, output: unknown, providerExecuted?: boolean }
 *   | { type: 'tool-output-error', toolCallId: string, errorText: string, providerExecuted?: boolean }
 *   | { type: 'source-document', sourceId: string, mediaType: string, title: string, filename?: string }
 *   | { type: 'finish', finishReason: 'stop' | 'tool-calls', messageMetadata: Metadata }
 *   | { type: 'error', errorText: string } | { type: 'abort' }} Chunk
 *
 * Metadata of an assistant message.
 * @typedef {{ mode: string, warnings: string[], usage?: import('./wire.js').Usage }} Metadata
 *
 * The transport runs `tools`. Without `tools`, the chat runs the calls with `onToolCall` and `addToolOutput`.
 * @typedef {Omit<Partial<import('./session.js').SendOptions>, 'files' | 'images' | 'signal'>} TransportOptions
 */

/** Connects a chat of the AI SDK to Aptix. */
export class AptixChatTransport {
  #aptix
  #options
  /** @type {Map<string, import('./session.js').Session>} */
  #sessions = new Map()
  /**
   * Last completed turn, by chat id.
   * @type {Map<string, string>}
   */
  #completedTurns = new Map()

  /** True: a resumed stream starts with its first event. */
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
   * Sends the newest user message, submits the results of pending tool calls, or regenerates an answer. Aborting stops the
   * turn.
   * @param {{
   *   chatId: string, messages: Message[], abortSignal?: AbortSignal,
   *   trigger?: 'submit-message' | 'regenerate-message', messageId?: string,
   * }} options
   * @returns {Promise<ReadableStream<Chunk>>}
   */
  async sendMessages({ chatId, messages, abortSignal, trigger, messageId }) {
    const session = this.#session(chatId)
    const turn = await this.#turn(session, { messages, trigger, messageId })
    this.#completedTurns.delete(chatId)
    turn.final().then(
      () => this.#completedTurns.set(chatId, turn.id),
      () => {},
    )
    return chunkStream(turn, abortSignal)
  }

  /**
   * @param {import('./session.js').Session} session
   * @param {{ messages: Message[], trigger?: string, messageId?: string }} request
   */
  async #turn(session, { messages, trigger, messageId = this.#completedTurns.get(session.id) }) {
    const newest = messages.at(-1)
    // An answer to regenerate has been removed from the messages. A user message is still there and is sent again.
    const isAnswer = messageId !== undefined && !messages.some(({ id }) => id === messageId)
    if (trigger === 'regenerate-message' && isAnswer) return session.rerun(messageId)
    const results = newest?.role === 'assistant' ? completedResults(newest.parts) : []
    if (newest && results.length) return session.submitToolResults(newest.id, results)
    const userMessage = messages.findLast(({ role }) => role === 'user')
    const text = (userMessage?.parts ?? []).flatMap((part) => (part.type === 'text' ? [part.text ?? ''] : [])).join('\n')
    return session.send(text, await attachments(userMessage?.parts ?? []))
  }

  /**
   * Resumes the chat's newest answer if it is still running.
   * @param {{ chatId: string, abortSignal?: AbortSignal }} options
   * @returns {Promise<ReadableStream<Chunk> | null>}
   */
  async reconnectToStream({ chatId, abortSignal }) {
    const session = this.#session(chatId)
    if (session.openTurnId !== undefined) return chunkStream(session.resume(), abortSignal)
    try {
      const { Id, Status } = await session.turn('last')
      return Status.Id === 'pending' ? chunkStream(session.resume({ turnId: Id }), abortSignal) : null
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
 * Returns the results of the newest step's calls, in order; empty if one is missing.
 * @param {Part[]} parts
 */
function completedResults(parts) {
  const step = parts.slice(parts.findLastIndex(({ type }) => type === 'step-start') + 1)
  const calls = step.filter(({ toolCallId, providerExecuted }) => toolCallId !== undefined && !providerExecuted)
  if (!calls.every(({ state }) => state === 'output-available' || state === 'output-error')) return []
  return calls.map(({ toolCallId = '', state, output, errorText }) =>
    state === 'output-error' ? { id: toolCallId, error: errorText } : { id: toolCallId, output },
  )
}

/**
 * Returns the attachments of a message, images separate from other files.
 * @param {Part[]} parts
 */
async function attachments(parts) {
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
 * Converts a turn's events to a stream of chunks.
 * @param {import('./turn.js').Turn} turn
 * @param {AbortSignal} [signal]
 * @returns {ReadableStream<Chunk>}
 */
function chunkStream(turn, signal) {
  const stop = () => void turn.stop().catch(() => {})
  if (signal?.aborted) stop()
  else signal?.addEventListener('abort', stop, { once: true })
  const chunks = toChunks(turn)
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await chunks.next()
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
async function* toChunks(turn) {
  yield { type: 'start', messageId: turn.id }
  yield { type: 'start-step' }
  let texts = 0
  let [hasOpenText, hasCalls] = [false, false]
  const providerExecuted = true
  try {
    for await (const event of turn) {
      if (event.type === 'delta') {
        if (hasCalls) yield* [/** @type {Chunk} */ ({ type: 'finish-step' }), /** @type {Chunk} */ ({ type: 'start-step' })]
        hasCalls = false
        if (!hasOpenText) yield { type: 'text-start', id: `text-${++texts}` }
        hasOpenText = true
        yield { type: 'text-delta', id: `text-${texts}`, delta: event.text }
      } else if (event.type === 'reset') {
        // Calls belong to earlier steps: only text is reset.
        if (hasOpenText) yield { type: 'reset-step' }
        hasOpenText = false
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
        if (hasOpenText) yield { type: 'text-end', id: `text-${texts}` }
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
