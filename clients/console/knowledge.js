/**
 * The documents of the organization for its agents: upload, status, and deletion. For operators and agent editors.
 *
 * @module
 */

import { escapeInvisible } from '../javascript/src/patch.js'
import { parseAttributes } from './attributes.js'
import { listAll } from './agent-documents.js'
import { announce, button, el, errorMessage, fill, labelledField, openDialog } from './dom.js'
import { formatBytes, formatNumber, timestamp } from './format.js'
import { notAllowed } from './not-allowed.js'

const PATH = 'api/ai/agent/knowledge'
const AGENTS = 'api/ai/agent/agents'
/** The API's limit. */
const MAX_BYTES = 3_000_000
/** Interval at which the list is loaded again while a document is in work. */
const POLL_MS = 1_000
const TRANSIENT = ['pending', 'indexing', 'deleting']
/** Time after which a document that waits needs an explanation. */
const WAIT_MS = 10_000
/** Colors of the other states. */
const TAGS = /** @type {Record<string, string>} */ ({ ready: 'completed', failed: 'failed' })

/**
 * @typedef {{ Id: string, Name: string, Bytes: number, Status: string, StatusReason?: string, Chunks?: number, Attributes: import('./attributes.js').Attribute[], AgentContextIds: string[], LastUpdatedDate: string }} KnowledgeDocument
 */

/**
 * @param {import('./connection.js').Connection} connection
 * @returns {import('./main.js').View}
 */
export function knowledge(connection) {
  const problem = el('div', {})
  const list = el('tbody', {})
  const files = el('input', { type: 'file', multiple: true, id: 'knowledge-files' })
  const attributes = el('textarea', { rows: 2, placeholder: 'Team=legal', 'aria-describedby': 'attributes-hint' })
  const agents = el('select', { multiple: true, size: 4, 'aria-describedby': 'agents-hint' })
  const refused = el('ul', { class: 'error', role: 'alert', hidden: true })
  const dropZone = el('div', { class: 'card' }, el('label', { for: 'knowledge-files' }, el('strong', {}, 'Drop files here, or choose some')), files, refused)
  const upload = el(
    'section',
    { 'aria-label': 'Upload' },
    dropZone,
    el(
      'details',
      {},
      el('summary', {}, 'Attributes and agents of the next uploads'),
      labelledField('Attributes, one KEY=VALUE per line', attributes),
      el('p', { class: 'muted', id: 'attributes-hint' }, 'Conditions of a RagScope may name them. Several lines with one key are several values.'),
      labelledField('Agents that may use the documents', agents),
      el('p', { class: 'muted', id: 'agents-hint' }, 'Choose none for every agent.'),
    ),
  )
  const head = el('tr', {}, ['Name', 'Status', 'Chunks', 'Size', 'Attributes', 'Agents', 'Changed', 'Actions'].map((label) => el('th', { scope: 'col' }, label)))
  const table = el('div', { class: 'scroll-x' }, el('table', { class: 'list', 'aria-label': 'Documents' }, el('thead', {}, head), list))
  const wait = el('p', { class: 'notice', role: 'status', hidden: true }, 'A local cloud that runs from its sources builds the vector database and the reader of PDF and Office files when they are first needed. That takes minutes; the terminal shows the progress.')
  const content = el('div', {}, upload, wait, table)
  const node = el(
    'div',
    { class: 'page' },
    el('h1', {}, 'Knowledge'),
    el('p', { class: 'muted' }, 'Documents that your agents search in each turn: PDF, Word, PowerPoint and Excel files, HTML, Markdown and other texts of up to 3 MB. An answer shows the passages that it had as its sources. A document of the same name is replaced.'),
    problem,
    content,
  )
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer
  let isDisposed = false

  async function refresh() {
    clearTimeout(timer)
    try {
      const documents = /** @type {KnowledgeDocument[]} */ (/** @type {unknown} */ (await listAll(connection, PATH)))
      documents.sort((one, other) => one.Name.localeCompare(other.Name))
      fill(problem)
      fill(list, documents.length ? documents.map(row) : el('tr', {}, el('td', { colspan: 8, class: 'muted' }, 'No documents yet. The first one is ready for your agents within seconds.')))
      wait.hidden = !connection.config.IsLocal || !documents.some(({ Status, LastUpdatedDate }) => Status === 'pending' && Date.now() - Date.parse(LastUpdatedDate) > WAIT_MS)
      const isInWork = documents.some(({ Status }) => TRANSIENT.includes(Status))
      if (isInWork && !isDisposed) timer = setTimeout(() => void refresh(), POLL_MS)
    } catch (error) {
      const isForbidden = /** @type {{ status?: number }} */ (error).status === 403
      content.hidden = isForbidden
      fill(problem, isForbidden ? notAllowed('give documents to agents', 'operators and agent editors') : errorMessage(error))
    }
  }

  /** @param {KnowledgeDocument} document */
  function row({ Id, Name, Bytes, Status, StatusReason, Chunks, Attributes, AgentContextIds, LastUpdatedDate }) {
    const name = escapeInvisible(Name)
    return el(
      'tr',
      { 'data-name': Name },
      el('th', { scope: 'row' }, name),
      el('td', { 'data-label': 'Status' }, el('span', { class: `tag ${TAGS[Status] ?? 'pending'}` }, Status), StatusReason !== undefined && el('div', { class: Status === 'failed' ? 'error' : 'muted' }, StatusReason)),
      el('td', { 'data-label': 'Chunks' }, Chunks === undefined ? '' : formatNumber(Chunks)),
      el('td', { 'data-label': 'Size' }, formatBytes(Bytes)),
      el('td', { 'data-label': 'Attributes' }, Attributes.map(({ Key, Values }) => el('div', {}, `${escapeInvisible(Key)}: ${escapeInvisible(Values.join(', '))}`))),
      el('td', { 'data-label': 'Agents' }, AgentContextIds.length ? escapeInvisible(AgentContextIds.join(', ')) : 'all'),
      el('td', { 'data-label': 'Changed' }, timestamp(LastUpdatedDate)),
      el('td', {}, Status !== 'deleting' && button('Delete', () => confirmDeletion(Id, name), { class: 'danger ghost', 'aria-label': `Delete ${name}` })),
    )
  }

  /**
   * @param {string} id
   * @param {string} name
   */
  function confirmDeletion(id, name) {
    const hint = el('p', {}, 'Turns don’t find it any more. This can’t be undone.')
    openDialog({ title: `Delete ${name}?`, fields: [hint], submit: 'Delete', isDangerous: true }, async () => {
      await connection.send('DELETE', `${PATH}/${encodeURIComponent(id)}`)
      announce(`Deleting ${name}.`)
      await refresh()
    })
  }

  /**
   * Uploads files one after the other. One that is refused doesn't hold the others up.
   * @param {File[]} chosen
   */
  async function add(chosen) {
    /** @type {string[]} */
    const failures = []
    for (const file of chosen) {
      const name = file.webkitRelativePath || file.name
      try {
        if (file.size === 0) throw new Error('It is empty.')
        if (file.size > MAX_BYTES) throw new Error(`It has ${(file.size / 1e6).toFixed(1)} MB, at most ${MAX_BYTES / 1e6} MB are allowed.`)
        const body = { Name: name, ContentBase64: await base64(file), Attributes: parseAttributes(attributes.value), AgentContextIds: [...agents.selectedOptions].map(({ value }) => value) }
        await connection.send('POST', PATH, JSON.stringify(body))
      } catch (error) {
        failures.push(`${escapeInvisible(name)}: ${/** @type {Error} */ (error).message}`)
      }
      await refresh()
    }
    refused.hidden = failures.length === 0
    fill(refused, failures.map((failure) => el('li', {}, failure)))
    announce(`Uploaded ${chosen.length - failures.length} of ${chosen.length}.`)
  }

  files.addEventListener('change', () => {
    const chosen = [...(files.files ?? [])]
    files.value = ''
    void add(chosen)
  })
  dropZone.addEventListener('dragover', (event) => event.preventDefault())
  dropZone.addEventListener('drop', (event) => {
    event.preventDefault()
    void add([...(event.dataTransfer?.files ?? [])])
  })
  void refresh()
  listAll(connection, AGENTS).then(
    (found) => fill(agents, found.map(({ Id, Name }) => el('option', { value: Id }, Name || Id))),
    // The list says what is wrong. Every agent may use what is uploaded without a choice.
    () => undefined,
  )
  return {
    title: 'Knowledge',
    node,
    dispose: () => {
      isDisposed = true
      clearTimeout(timer)
    },
  }
}

/**
 * Returns the content of a file in Base64.
 * @param {Blob} file
 * @returns {Promise<string>}
 */
const base64 = (file) =>
  new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.addEventListener('load', () => resolve(String(reader.result).replace(/^[^,]*,?/, '')))
    reader.addEventListener('error', () => reject(new Error('The browser can’t read it.')))
    reader.readAsDataURL(file)
  })
