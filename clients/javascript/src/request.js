/**
 * The bodies of requests that start a turn.
 *
 * @module
 */

/**
 * An input file: a browser's `File`, or a path with contents. `path` is relative to the folder that is open in the client.
 * @typedef {File | { path: string, content: string | Uint8Array | Blob, mimeType?: string, language?: string, origin?: 'ide' | 'user' }} InputFile
 *
 * An image: PNG, JPEG, GIF or WebP.
 * @typedef {Blob | { mimeType: string, bytes: Uint8Array }} InputImage
 *
 * A condition that filters the retrieved chunks.
 * @typedef {{ Key: string, Operator: '==' | '!=' | 'contains' | 'does_not_contain', Values: (string | number | boolean)[] }} RagCondition
 *
 * Files, images, scope and hints of an instruction.
 * @typedef {object} TurnInput
 * @property {InputFile[]} [files]
 * @property {InputImage[]} [images]
 * @property {string} [workspaceId]
 * @property {string} [repo]
 * @property {string} [language]
 * @property {RagCondition[]} [ragScope]
 * @property {string} [solutionContext] Replaces the session's solution context.
 *
 * Contexts of a session.
 * @typedef {object} Contexts
 * @property {string} [agent] Id of the agent context, fixed by the session's first turn.
 * @property {string} [conversation] Id of the conversation context, fixed by the session's first turn.
 *
 * Context of an instruction.
 * @typedef {TurnInput & Contexts} Input
 *
 * Changes of a rerun. What is absent is that of the original turn. An empty list removes the original's.
 * @typedef {TurnInput & { text?: string | import('./testing.js').Script, model?: string, mode?: string }} RerunChanges
 */

/** Length limit of an image's id. */
const MAX_IMAGE_ID_CHARS = 128

/**
 * Serializes an `execute` request. Retries send the same text.
 * @param {string} sessionId
 * @param {string} turnId
 * @param {string} text
 * @param {Input} input
 * @returns {Promise<string>}
 */
export async function executeBody(sessionId, turnId, text, input) {
  return JSON.stringify({
    SessionId: sessionId,
    TurnId: turnId,
    Instruction: text === '' ? undefined : text,
    ...(await inputMembers(input)),
    AgentContextId: input.agent,
    ConversationContextId: input.conversation,
    Streaming: true,
  })
}

/**
 * Serializes a `rerun` request. Retries send the same text.
 * @param {string} turnId
 * @param {RerunChanges} changes
 * @returns {Promise<string>}
 */
export async function rerunBody(turnId, { text, model, mode, ...input }) {
  return JSON.stringify({
    TurnId: turnId,
    Instruction: text === undefined ? undefined : String(text),
    ...(await inputMembers(input)),
    Model: model,
    Mode: mode,
    Streaming: true,
  })
}

/** @param {TurnInput} input */
async function inputMembers({ files, images, workspaceId, repo, language, ragScope, solutionContext }) {
  return {
    InputArtifacts: files && (await Promise.all(withDistinctPaths(files).map(artifact))),
    ClipboardImages: images && (await clipboardImages(images)),
    WorkspaceId: workspaceId,
    Repo: repo,
    Language: language,
    RagScope: ragScope && { Conditions: ragScope },
    SolutionContextText: solutionContext,
  }
}

/**
 * Names the path of each file. Chosen files of one name are moved into numbered folders, since each path of a request
 * is unique.
 * @param {InputFile[]} files
 */
function withDistinctPaths(files) {
  /** @type {Set<string>} */
  const taken = new Set()
  return files.map((file, index) => {
    if (!(file instanceof Blob)) {
      taken.add(file.path)
      return file
    }
    const name = file.webkitRelativePath || file.name
    const path = taken.has(name) ? `${index + 1}/${name}` : name
    taken.add(path)
    return { path, content: file, mimeType: file.type || undefined, origin: /** @type {const} */ ('user') }
  })
}

/** @param {Exclude<InputFile, File>} file */
async function artifact({ path, content, mimeType, language, origin = 'ide' }) {
  return {
    RelativePath: path,
    FileName: path.split(/[/\\]/).at(-1),
    ...(typeof content === 'string' ? { Contents: content } : encodeContents(await readBytes(content))),
    MimeType: mimeType,
    Language: language,
    Origin: origin,
  }
}

/**
 * Serializes images. The id of an image is its file name, if it has one that no earlier image has.
 * @param {InputImage[]} images
 */
function clipboardImages(images) {
  const ids = new Set()
  return Promise.all(
    images.map(async (image, index) => {
      // An id has no control characters.
      let id = image instanceof File ? image.name.replace(/\p{Cc}/gu, ' ').slice(0, MAX_IMAGE_ID_CHARS).trim() : ''
      for (let number = index + 1; id === '' || ids.has(id); number++) id = `image-${number}`
      ids.add(id)
      const { mimeType, bytes } = image instanceof Blob ? { mimeType: image.type, bytes: await readBytes(image) } : image
      return { Id: id, MimeType: mimeType, DataBase64: base64(bytes) }
    }),
  )
}

/** @param {Uint8Array | Blob} content */
async function readBytes(content) {
  return content instanceof Blob ? new Uint8Array(await content.arrayBuffer()) : content
}

/**
 * Encodes UTF-8 text as is and anything else as base64.
 * @param {Uint8Array} bytes
 */
function encodeContents(bytes) {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    if (!text.includes('\0')) return { Contents: text }
  } catch {
    // Not UTF-8.
  }
  return { Contents: base64(bytes), Encoding: 'base64' }
}

/** @param {Uint8Array} bytes */
function base64(bytes) {
  let binary = ''
  for (let from = 0; from < bytes.length; from += 0x8000) {
    binary += String.fromCharCode(...bytes.subarray(from, from + 0x8000))
  }
  return btoa(binary)
}
