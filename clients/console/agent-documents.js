/**
 * The documents of an organization in the API, and the two of an agent: its agent context and its conversation context, with one id.
 *
 * @module
 */

export const AGENTS = 'api/ai/agent/agents'
export const CONVERSATIONS = 'api/ai/agent/conversation-contexts'
export const CONNECTIONS = 'api/ai/agent/connections'
/** Agent whose tools work on the files of a conversation. */
export const FILE_AGENT = 'workspace'

/** Pages that are read of a list, at most. */
const MAX_PAGES = 10
/** Documents of a list that are read with their contents, at most. */
const MAX_READ = 100

/** @typedef {import('./context-page.js').Context} Context */

/**
 * @param {import('./connection.js').Connection} connection
 * @param {string} path
 */
export async function listAll(connection, path) {
  /** @type {Context[]} */
  const contexts = []
  let token = ''
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const query = token && `?${new URLSearchParams({ continuationToken: token })}`
    const { Items, ContinuationToken } = await connection.read(path + query)
    contexts.push(...Items)
    token = ContinuationToken ?? ''
    if (!token) break
  }
  return contexts
}

/**
 * Reads the documents of a list with their contents, built-in ones aside.
 * @param {import('./connection.js').Connection} connection
 * @param {string} path
 * @returns {Promise<(Context & { Content: import('./context-page.js').Content })[]>}
 */
export async function readAll(connection, path) {
  const own = (await listAll(connection, path)).filter(({ IsBuiltIn }) => !IsBuiltIn).slice(0, MAX_READ)
  return Promise.all(own.map(({ Id }) => connection.read(`${path}/${encodeURIComponent(Id)}`)))
}

/**
 * Writes both documents in the state that the form has shown. A change that somebody else made meanwhile isn't overwritten.
 * @param {import('./connection.js').Connection} connection
 * @param {string} id
 * @param {{ agent: unknown, conversation: unknown }} documents
 * @param {{ agent?: Context | undefined, conversation?: Context | undefined }} before documents that exist already
 */
export async function putDocuments(connection, id, documents, before) {
  // A conversation context of another id belongs to other agents too.
  const own = before.conversation?.Id === id ? before.conversation : undefined
  await put(connection, `${CONVERSATIONS}/${encodeURIComponent(id)}`, documents.conversation, own)
  await put(connection, `${AGENTS}/${encodeURIComponent(id)}`, documents.agent, before.agent)
}

/**
 * Deletes an agent, and its conversation context unless another agent names it.
 * @param {import('./connection.js').Connection} connection
 * @param {string} id
 * @param {{ agent?: Context | undefined, conversation?: Context | undefined }} before documents as they were shown
 */
export async function deleteDocuments(connection, id, { agent, conversation }) {
  const remove = (/** @type {string} */ path, /** @type {Context | undefined} */ document) =>
    connection.send('DELETE', `${path}/${encodeURIComponent(id)}`, undefined, document?.ETag ? { 'if-match': document.ETag } : {})
  await remove(AGENTS, agent)
  if (conversation?.Id !== id) return
  const others = await readAll(connection, AGENTS)
  if (!others.some(({ Content }) => Content.DefaultConversationContextId === id)) await remove(CONVERSATIONS, conversation)
}

/**
 * @param {import('./connection.js').Connection} connection
 * @param {string} path
 * @param {unknown} content
 * @param {Context | undefined} before
 */
async function put(connection, path, content, before) {
  /** @type {Record<string, string>} */
  const condition = before?.ETag && !before.IsBuiltIn ? { 'if-match': before.ETag } : { 'if-none-match': '*' }
  await connection.send('PUT', path, JSON.stringify(content), condition)
}
