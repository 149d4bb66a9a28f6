/**
 * A `ChatModelAdapter` of assistant-ui (`useLocalRuntime(aptixChatModel(aptix))`). A thread is a session, and an answer
 * of it is a turn.
 *
 * @module
 */

/**
 * The parts of assistant-ui's messages that are read here.
 * @typedef {{ readonly type: string, readonly text?: string, readonly image?: string, readonly data?: unknown, readonly mimeType?: string, readonly filename?: string }} Part
 * @typedef {{ readonly role: string, readonly content: readonly Part[], readonly attachments?: readonly { readonly content: readonly Part[] }[] }} Message
 * @typedef {{ readonly messages: readonly Message[], readonly abortSignal: AbortSignal, readonly unstable_threadId?: string | undefined }} Run
 *
 * What is written.
 * @typedef {{ type: 'text', text: string }} TextPart
 * @typedef {{ type: 'tool-call', toolCallId: string, toolName: string, args: any, argsText: string, result?: any, isError?: boolean }} ToolPart
 * @typedef {{ content: (TextPart | ToolPart)[], status?: { type: 'complete', reason: 'stop' }, metadata?: { custom: Record<string, unknown> } }} Update
 *
 * `session` says which session a thread is; without, each thread has one of its own.
 * @typedef {Omit<Partial<import('./session.js').Said>, 'files' | 'images' | 'signal'> & {
 *   session?: (threadId: string | undefined) => import('./session.js').Session,
 * }} AdapterOptions
 */

/**
 * @param {import('./index.js').Aptix} aptix
 * @param {AdapterOptions} [options] `tools` run the calls for this client
 */
export function aptixChatModel(aptix, { session: sessionOf, ...options } = {}) {
  /** @type {Map<string | undefined, import('./session.js').Session>} */
  const sessions = new Map()
  const session = (/** @type {string | undefined} */ threadId) => {
    const known = sessions.get(threadId) ?? sessionOf?.(threadId) ?? aptix.session()
    sessions.set(threadId, known)
    return known
  }
  return {
    /**
     * Says the newest message of a thread. To abort is to stop the turn.
     * @param {Run} run
     * @returns {AsyncGenerator<Update, void>}
     */
    async *run({ messages, abortSignal, unstable_threadId }) {
      const said = messages.findLast(({ role }) => role === 'user')
      const parts = [...(said?.content ?? []), ...(said?.attachments ?? []).flatMap(({ content }) => content)]
      const text = parts.flatMap((part) => (part.type === 'text' ? [part.text ?? ''] : [])).join('\n')
      const attached = await files(parts)
      const turn = session(unstable_threadId).send(text, { tools: {}, ...options, ...attached })
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
      const { id, name, args, json } = event.call
      calls.push({ type: 'tool-call', toolCallId: id, toolName: name, args, argsText: json })
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
 * What is attached to a message as data URLs or base64: images as such, the rest as files.
 * @param {readonly Part[]} parts
 */
async function files(parts) {
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
