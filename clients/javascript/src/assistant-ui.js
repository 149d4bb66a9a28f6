/**
 * A `ChatModelAdapter` for assistant-ui (`useLocalRuntime(aptixChatModel(aptix))`). A thread maps to a session and an
 * assistant message to a turn.
 *
 * @module
 */

/**
 * The subset of assistant-ui's message types that this adapter reads.
 * @typedef {{ readonly type: string, readonly text?: string, readonly image?: string, readonly data?: unknown, readonly mimeType?: string, readonly filename?: string }} Part
 * @typedef {{ readonly role: string, readonly content: readonly Part[], readonly attachments?: readonly { readonly content: readonly Part[] }[] }} Message
 * @typedef {{ readonly messages: readonly Message[], readonly abortSignal: AbortSignal, readonly unstable_threadId?: string | undefined }} Run
 *
 * Output types.
 * @typedef {{ type: 'text', text: string }} TextPart
 * @typedef {{ type: 'tool-call', toolCallId: string, toolName: string, args: any, argsText: string, result?: any, isError?: boolean }} ToolPart
 * @typedef {{ content: (TextPart | ToolPart)[], status?: { type: 'complete', reason: 'stop' }, metadata?: { custom: Record<string, unknown> } }} Update
 *
 * `session` returns the session of a thread. By default, each thread gets a new one.
 * @typedef {Omit<Partial<import('./session.js').SendOptions>, 'files' | 'images' | 'signal'> & {
 *   session?: (threadId: string | undefined) => import('./session.js').Session,
 * }} AdapterOptions
 */

/**
 * Creates a chat model that runs on Aptix.
 * @param {import('./index.js').Aptix} aptix
 * @param {AdapterOptions} [options] `tools` run the client tool calls
 */
export function aptixChatModel(aptix, { session: sessionFor, ...options } = {}) {
  /** @type {Map<string | undefined, import('./session.js').Session>} */
  const sessions = new Map()
  const getSession = (/** @type {string | undefined} */ threadId) => {
    const session = sessions.get(threadId) ?? sessionFor?.(threadId) ?? aptix.session()
    sessions.set(threadId, session)
    return session
  }
  return {
    /**
     * Sends the newest user message of a thread. Aborting stops the turn.
     * @param {Run} run
     * @returns {AsyncGenerator<Update, void>}
     */
    async *run({ messages, abortSignal, unstable_threadId }) {
      const userMessage = messages.findLast(({ role }) => role === 'user')
      const parts = [...(userMessage?.content ?? []), ...(userMessage?.attachments ?? []).flatMap(({ content }) => content)]
      const text = parts.flatMap((part) => (part.type === 'text' ? [part.text ?? ''] : [])).join('\n')
      const attachments = await toAttachments(parts)
      const turn = getSession(unstable_threadId).send(text, { tools: {}, ...options, ...attachments })
      const stop = () => void turn.stop().catch(() => {})
      if (abortSignal.aborted) stop()
      else abortSignal.addEventListener('abort', stop, { once: true })
      try {
        yield* updates(turn)
        abortSignal.throwIfAborted()
      } finally {
        abortSignal.removeEventListener('abort', stop)
      }
    },
  }
}

/**
 * @param {import('./turn.js').Turn} turn
 * @returns {AsyncGenerator<Update, void>}
 */
async function* updates(turn) {
  /** @type {ToolPart[]} */
  const calls = []
  let text = ''
  const content = () => [...calls, ...(text === '' ? [] : [{ type: /** @type {const} */ ('text'), text }])]
  for await (const event of turn) {
    if (event.type === 'delta') text += event.text
    else if (event.type === 'reset') text = ''
    else if (event.type === 'tool-call') {
      const { id, name, args, argsJson } = event.call
      calls.push({ type: 'tool-call', toolCallId: id, toolName: name, args, argsText: argsJson })
    } else if (event.type === 'tool-result') {
      const { output = null, error } = event
      const result = error === undefined ? { result: output } : { result: error, isError: true }
      calls.push({ .../** @type {ToolPart} */ (calls.pop()), ...result })
    } else if (event.type === 'result') {
      const { mode, warnings, usage, files } = event.answer
      const custom = { turnId: turn.id, mode, warnings, usage, files }
      yield { content: content(), status: { type: 'complete', reason: 'stop' }, metadata: { custom } }
      continue
    } else continue
    yield { content: content() }
  }
}

/**
 * Returns the attachments given as data URLs or base64, images separate from other files.
 * @param {readonly Part[]} parts
 */
async function toAttachments(parts) {
  const urls = parts.flatMap(({ type, image, data, mimeType, filename }) => {
    if (type === 'image' && image?.startsWith('data:')) return [{ url: image, filename }]
    if (type !== 'file' || typeof data !== 'string') return []
    return [{ url: data.startsWith('data:') ? data : `data:${mimeType};base64,${data}`, filename }]
  })
  const blobs = await Promise.all(urls.map(async ({ url, filename }) => ({ blob: await (await fetch(url)).blob(), filename })))
  const isImage = (/** @type {Blob} */ { type }) => /^image\/(png|jpeg|gif|webp)$/.test(type)
  return {
    images: blobs.flatMap(({ blob }) => (isImage(blob) ? [blob] : [])),
    files: blobs.flatMap(({ blob, filename }, n) =>
      isImage(blob)
        ? []
        : [{ path: filename ?? `file-${n + 1}`, content: blob, mimeType: blob.type || undefined, origin: /** @type {const} */ ('user') }],
    ),
  }
}
