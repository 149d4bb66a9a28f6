/**
 * A card with the agents that have tools of a connection, and a way to give them to another one.
 *
 * @module
 */

import { AGENTS, CONVERSATIONS, readAll } from './agent-documents.js'
import { announce, button, el, errorMessage, fill, labelledField } from './dom.js'
import { setHandoff } from './handoff.js'

/**
 * A document with the names of its tools.
 * @typedef {import('./context-page.js').Context & { Content: import('./context-page.js').Content }} Document
 */

/** @param {Document} document */
const toolsOf = ({ Content }) => /** @type {string[]} */ (Content.Tools ?? [])

/** @param {import('./connection.js').Connection} connection */
export function toolAgents(connection) {
  const list = el('ul', { class: 'versions' })
  const problem = el('div', {})
  const agents = el('select', { name: 'agent' })
  const give = button('Give it all tools', () => giveTo(agents.value).catch(showError))
  const create = button('New agent with these tools', () => {
    setHandoff('tools', [id])
    location.hash = '#/agents'
  }, { class: 'ghost' })
  const gift = el('div', { class: 'fields' }, labelledField('Agent', agents), give)
  const node = el('section', { class: 'card', 'aria-label': 'Agents' }, el('h2', {}, 'Agents that have it'), list, problem, gift, el('div', { class: 'row' }, create))
  let id = ''
  /** @type {Document[]} */
  let known = []

  const showError = (/** @type {unknown} */ error) => fill(problem, errorMessage(error))
  const isOwn = (/** @type {string} */ tool) => tool === id || tool.startsWith(`${id}.`)

  /**
   * @param {string} path
   * @param {Document} document
   * @param {string[]} names
   */
  async function put(path, { Id, Content, ETag }, names) {
    await connection.send('PUT', `${path}/${encodeURIComponent(Id)}`, JSON.stringify({ ...Content, Tools: names.length > 0 ? names : undefined }), ETag ? { 'if-match': ETag } : {})
    await refresh()
  }

  /** @param {string} agentId */
  async function giveTo(agentId) {
    const document = known.find(({ Id }) => Id === agentId)
    if (!document) return
    await put(AGENTS, document, [...toolsOf(document).filter((tool) => !isOwn(tool)), id])
    announce(`${document.Name || agentId} has the tools.`)
  }

  async function refresh() {
    const current = id
    const [found, conversations] = await Promise.all([readAll(connection, AGENTS), readAll(connection, CONVERSATIONS)])
    if (current !== id) return
    known = found
    const row = (/** @type {string} */ path, /** @type {string} */ kind) => (/** @type {Document} */ document) => {
      const names = toolsOf(document).filter(isOwn)
      const what = names.includes(id) ? 'all tools' : names.map((name) => name.slice(id.length + 1)).join(', ')
      const remove = () => put(path, document, toolsOf(document).filter((tool) => !isOwn(tool))).catch(showError)
      return el('li', { class: 'row' }, el('strong', {}, document.Name || document.Id), el('small', {}, `${kind} · ${what}`), el('span', { class: 'spacer' }), button('Take away', remove, { class: 'ghost', 'aria-label': `Take the tools from ${document.Name || document.Id}` }))
    }
    const having = (/** @type {Document[]} */ documents) => documents.filter((document) => toolsOf(document).some(isOwn))
    const rows = [...having(found).map(row(AGENTS, 'agent')), ...having(conversations).map(row(CONVERSATIONS, 'conversation context'))]
    fill(list, rows.length > 0 ? rows : el('li', { class: 'muted' }, 'None yet. A tool is used once an agent has it.'))
    const others = found.filter((document) => !toolsOf(document).includes(id))
    fill(agents, others.map(({ Id, Name }) => el('option', { value: Id }, Name || Id)))
    gift.hidden = others.length === 0
    fill(problem)
  }

  return {
    node,
    /** @param {string | undefined} connectionId */
    show(connectionId) {
      id = connectionId ?? ''
      node.hidden = !id
      if (id) refresh().catch(showError)
    },
  }
}
