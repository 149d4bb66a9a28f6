/**
 * The servers whose tools the org's agents may call: what each is, its secret, its tools, a trial, and the agents that have them. Operators
 * change connections; agent editors see them and give their tools to agents.
 *
 * @module
 */

import { CONNECTIONS, listAll } from './agent-documents.js'
import { deriveId } from './agent-form.js'
import { connectionForm } from './connection-form.js'
import { contextPage } from './context-page.js'
import { announce, button, el, errorMessage, fill, openDialog } from './dom.js'
import { isOperator, notAllowed } from './not-allowed.js'
import { toolAgents } from './tool-agents.js'
import { toolOffers } from './tool-offers.js'
import { toolTrial } from './tool-trial.js'

/** The longest id of a connection. */
const MAX_ID_CHARS = 32

/** @type {import('./context-page.js').Kind} */
const KIND = {
  path: CONNECTIONS,
  idMember: 'Id',
  nameMember: 'Name',
  template: { Kind: 'connection', Id: 'tickets', Name: 'Ticket system', Protocol: 'http', Url: 'https://tickets.example.com/v1', Tools: [] },
  deletion: 'Agents that name its tools run without them. Its secret stays stored.',
  deprecation: (text) => ({ Deprecated: text }),
}

/** @typedef {import('./context-page.js').Context} Context */

/**
 * @param {import('./connection.js').Connection} connection
 * @param {string[]} parts
 * @returns {import('./main.js').View}
 */
export function connections(connection, [view]) {
  if (view === 'advanced') {
    const link = el('a', { class: 'button', href: '#/connections' }, 'Simple view')
    return contextPage(connection, { title: 'Connections', label: 'Connections', description: 'The documents of the connections, with their versions.', kinds: { connection: KIND }, link })
  }
  const node = el('div', {}, el('h1', {}, 'Connections'))
  const open = async () => {
    await listAll(connection, CONNECTIONS)
    fill(node, ...page(connection, await isOperator(connection)))
  }
  open().catch((error) => fill(node, el('h1', {}, 'Connections'), error.status === 403 ? notAllowed('see connections and give their tools to agents', 'operators and agent editors') : errorMessage(error)))
  return { title: 'Connections', node }
}

/**
 * @param {import('./connection.js').Connection} connection
 * @param {boolean} mayChange
 */
function page(connection, mayChange) {
  const list = el('ul', { class: 'contexts-list', 'aria-label': 'Connections' })
  const title = el('h2', {})
  const note = el('small', {})
  /** @type {Context | undefined} */
  let shown
  /** @type {Set<string>} */
  let taken = new Set()
  let isChanged = false
  const form = connectionForm(() => {
    isChanged = true
    showNote()
    showTools()
  })
  const save = button('Save', () => store().catch(() => {}), { class: 'primary' })
  const remove = button('Delete', confirmDeletion, { class: 'danger ghost' })
  const agents = toolAgents(connection)
  const steps = el(
    'section',
    { class: 'card', 'aria-label': 'Steps' },
    el('h2', {}, 'A tool in three steps'),
    el('ol', {}, el('li', {}, 'Describe the server and one call of it, and save. Of an MCP server, choose from its list.'), el('li', {}, 'Try it here. The call goes to the server as in a turn.'), el('li', {}, 'Give it to an agent. Its next conversations have the tool.')),
  )
  const trial = toolTrial(connection, async () => {
    const id = isChanged || !shown ? await store() : shown.Id
    return { id, tools: tools() }
  })
  const offers = toolOffers(connection, async () => (isChanged || !shown ? store() : shown.Id), async (id) => {
    await open(id)
    fill(form.errors, el('p', { class: 'success' }, 'Saved. Say for each tool what a second call would do.'))
  })
  fill(form.offers, offers.node)
  form.node.addEventListener('submit', (event) => {
    event.preventDefault()
    save.click()
  })

  function tools() {
    return /** @type {import('./tool-fields.js').Tool[]} */ (form.document('').Tools)
  }

  /** Shows the tools of the form for a trial. JSON that is being typed has none. */
  function showTools() {
    try {
      trial.show(tools())
    } catch {
      trial.show([])
    }
  }

  function showNote() {
    const state = shown ? `${shown.Id} · version ${shown.Version ?? 1}` : 'New'
    note.textContent = isChanged ? `${state} · unsaved changes` : state
  }

  /** @param {Context | undefined} context */
  function show(context) {
    const before = shown
    shown = context
    isChanged = false
    form.show(context)
    form.setReadOnly(!mayChange)
    trial.reset()
    if (context?.Id !== before?.Id) offers.reset()
    showTools()
    trial.node.hidden ||= !mayChange
    agents.show(context?.Id)
    steps.hidden = Boolean(context) || !mayChange
    title.textContent = context ? context.Name || context.Id : 'New connection'
    remove.hidden = !context || !mayChange
    showNote()
    for (const choice of list.querySelectorAll('button')) choice.setAttribute('aria-pressed', String(choice.dataset.key === context?.Id))
  }

  const open = async (/** @type {string} */ id) => show(await connection.read(`${CONNECTIONS}/${encodeURIComponent(id)}`))

  /** Saves the document, then its secret, and returns its id. Rejects after it has shown what is wrong. */
  async function store() {
    if (!form.isValid()) throw new Error('A field is missing. See the form.')
    const derived = deriveId(form.name(), taken, MAX_ID_CHARS)
    const id = shown?.Id ?? (/^[a-z]/.test(derived) ? derived : deriveId(`c-${form.name()}`, taken, MAX_ID_CHARS))
    const path = `${CONNECTIONS}/${encodeURIComponent(id)}`
    const secret = form.secret()
    try {
      await connection.send('PUT', path, JSON.stringify(form.document(id)), shown?.ETag ? { 'if-match': shown.ETag } : { 'if-none-match': '*' })
    } catch (error) {
      form.showError(error)
      throw new Error('The connection isn’t saved: see the form.', { cause: error })
    }
    let message = 'Saved.'
    try {
      if (secret) {
        const { Host } = await connection.send('PUT', `${path}/secret`, JSON.stringify({ Value: secret }))
        message = `Saved. The secret is sent to ${Host} only.`
      }
    } catch (error) {
      await Promise.all([refresh(), open(id)])
      form.showError(error)
      throw new Error('The connection is saved, but its secret isn’t: see the form.', { cause: error })
    }
    await Promise.all([refresh(), open(id)])
    fill(form.errors, el('p', { class: 'success' }, message))
    announce(message)
    return id
  }

  function confirmDeletion() {
    const { Id, Name, ETag } = /** @type {Context} */ (shown)
    openDialog({ title: `Delete ${Name || Id}?`, fields: [el('p', {}, `${KIND.deletion} Its versions are kept.`)], submit: 'Delete', isDangerous: true }, async () => {
      await connection.send('DELETE', `${CONNECTIONS}/${encodeURIComponent(Id)}`, undefined, ETag ? { 'if-match': ETag } : {})
      announce(`Deleted ${Id}.`)
      await refresh()
      show(undefined)
    })
  }

  async function refresh() {
    const all = await listAll(connection, CONNECTIONS)
    taken = new Set(all.map(({ Id }) => Id))
    const choices = all.map(({ Id, Name, Deprecated }) => {
      const attributes = { class: 'choice', 'data-key': Id, 'aria-pressed': String(Id === shown?.Id) }
      return el('li', {}, button([el('strong', {}, Name || Id), el('small', {}, `${Id}${Deprecated ? ' · deprecated' : ''}`)], () => open(Id).catch(form.showError), attributes))
    })
    fill(list, choices.length > 0 ? choices : el('li', { class: 'muted' }, mayChange ? 'None yet. The form makes the first one.' : 'None yet. An operator of your org can add one.'))
    return all
  }

  refresh().then((all) => {
    if (all[0] && !shown && !isChanged) open(all[0].Id).catch(form.showError)
  }, form.showError)
  show(undefined)
  const add = button('Add a tool', () => {
    show(undefined)
    form.focus()
  }, { class: 'primary' })
  const head = el('div', { class: 'row head' }, el('h1', {}, 'Connections'), el('span', { class: 'spacer' }), el('a', { class: 'button', href: '#/connections/advanced' }, 'Advanced'), mayChange && add)
  const about = el('p', { class: 'muted' }, 'Servers whose tools your agents may call: your own HTTP APIs, and MCP servers. The service makes the calls, so nothing has to be deployed. Changes take effect within a minute.')
  const role = !mayChange && el('p', { class: 'notice' }, 'Operators of your org add and change connections, set their secrets and try their tools. You can see them, and give their tools to agents.')
  const editorHead = el('div', { class: 'row editor-head' }, title, note, el('span', { class: 'spacer' }), el('div', { class: 'row' }, mayChange && save, remove))
  return [head, about, role, el('div', { class: 'split' }, list, el('div', {}, editorHead, el('div', { class: 'columns' }, form.node, el('div', {}, steps, trial.node, agents.node))))].filter((part) => part !== false)
}
