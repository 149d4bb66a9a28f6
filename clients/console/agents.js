/**
 * The agents of the organization, each in one form. The advanced view has their documents. For operators and agent editors.
 *
 * @module
 */

import { AGENTS, CONNECTIONS, CONVERSATIONS, deleteDocuments, FILE_AGENT, listAll, putDocuments, readAll } from './agent-documents.js'
import { agentForm, deriveId } from './agent-form.js'
import { openAgentWizard } from './agent-wizard.js'
import { consoleApi } from './connection.js'
import { contextPage } from './context-page.js'
import { announce, button, el, errorMessage, fill, openDialog } from './dom.js'
import { pageUrl } from './format.js'
import { setHandoff, takeHandoff } from './handoff.js'
import { notAllowed } from './not-allowed.js'
import { testPanel } from './test-panel.js'

const BUILT_IN = 'default'

const deprecation = (/** @type {string} */ Deprecated) => ({ Deprecated })
const deletion = 'Sessions that use it can’t take further turns.'

/** @type {Record<string, import('./context-page.js').Kind>} */
const KINDS = {
  agent: {
    path: AGENTS,
    idMember: 'Id',
    nameMember: 'Name',
    template: { Kind: 'agent', Id: 'engineer', Name: 'Engineer', DefaultConversationContextId: 'default', ClientTools: [] },
    deletion,
    deprecation,
  },
  conversation: {
    path: CONVERSATIONS,
    idMember: 'Id',
    nameMember: 'Name',
    template: { Kind: 'conversation', Id: 'backend', Name: 'Backend', System: 'You help.' },
    deletion,
    deprecation,
  },
}

/** @typedef {import('./agent-form.js').Agent} Agent */
/** @typedef {import('./context-page.js').Context} Context */

/**
 * @param {import('./connection.js').Connection} connection
 * @param {string[]} parts
 * @returns {import('./main.js').View}
 */
export function agents(connection, [view]) {
  return view === 'advanced' ? advanced(connection) : simple(connection)
}

/** @param {import('./connection.js').Connection} connection */
const advanced = (connection) =>
  contextPage(connection, {
    title: 'Agents',
    label: 'Contexts',
    description: 'The documents behind the agents. Agent contexts define client tools; conversation contexts define prompts, models and limits.',
    kinds: KINDS,
    isTestable: true,
    link: el('a', { class: 'button', href: '#/agents' }, 'Simple view'),
  })

/** @param {import('./connection.js').Connection} connection */
function simple(connection) {
  const node = el('div', {}, el('h1', {}, 'Agents'))
  const showError = (/** @type {unknown} */ error) => {
    const { status } = /** @type {{ status?: number }} */ (error)
    fill(node, el('h1', {}, 'Agents'), status === 403 ? notAllowed('see and change agents', 'operators and agent editors') : errorMessage(error))
  }
  const read = (/** @type {string} */ path, /** @type {string} */ id) => connection.read(`${path}/${encodeURIComponent(id)}`)
  read(AGENTS, FILE_AGENT).then(({ Content }) => fill(node, ...page(connection, Content.ClientTools ?? [], read)), showError)
  return { title: 'Agents', node }
}

/**
 * @param {import('./connection.js').Connection} connection
 * @param {import('./agent-form.js').ClientTool[]} fileTools
 * @param {(path: string, id: string) => Promise<Context>} read
 */
function page(connection, fileTools, read) {
  const list = el('ul', { class: 'contexts-list', 'aria-label': 'Agents' })
  const title = el('h2', {})
  const note = el('small', {})
  /** @type {Agent} */
  let shown = {}
  /** Ids of the documents. @type {Set<string>} */
  let taken = new Set()
  let isChanged = false
  const form = agentForm(fileTools, () => {
    isChanged = true
    showNote()
  })
  const save = button('Save', () => store().catch(() => {}), { class: 'primary' })
  const chat = button('Open in chat', async () => {
    const id = await store().catch(() => undefined)
    if (!id) return
    setHandoff('contexts', { agent: id })
    location.hash = pageUrl('chat', connection.aptix.session().id, 'new')
  })
  const test = testPanel(connection, async () => {
    const id = isChanged || shown.id === undefined ? await store() : shown.id
    return { agent: id }
  })
  const remove = button('Delete', confirmDeletion, { class: 'danger ghost' })
  form.node.addEventListener('submit', (event) => {
    event.preventDefault()
    save.click()
  })

  function showNote() {
    const state = shown.id === undefined ? 'New' : shown.agent?.IsBuiltIn ? 'Built in. Saving makes one of your own.' : `Version ${shown.agent?.Version ?? 1}`
    note.textContent = isChanged ? `${state} · unsaved changes` : state
  }

  /** @param {Agent} agent */
  function show(agent) {
    shown = agent
    isChanged = false
    form.show(agent)
    test.reset()
    title.textContent = agent.agent?.Name || agent.id || 'New agent'
    remove.hidden = agent.id === undefined || Boolean(agent.agent?.IsBuiltIn)
    showNote()
    for (const choice of list.querySelectorAll('button')) choice.setAttribute('aria-pressed', String(choice.dataset.key === agent.id))
  }

  /** @param {string} id */
  async function open(id) {
    const agent = await read(AGENTS, id)
    const conversation = await read(CONVERSATIONS, String(agent.Content?.DefaultConversationContextId ?? BUILT_IN)).catch(() => undefined)
    show({ id, agent, ...(conversation ? { conversation } : {}) })
  }

  /** Saves both documents, and returns their id. Rejects after it has shown what is wrong. */
  async function store() {
    if (!form.isValid()) throw new Error('A field is missing. See the form.')
    const nameField = /** @type {HTMLInputElement} */ (form.node.elements.namedItem('name'))
    const id = shown.id ?? deriveId(nameField.value, taken)
    try {
      await putDocuments(connection, id, form.documents(id), shown)
    } catch (error) {
      form.showError(error)
      throw new Error('The agent isn’t saved: see the form.', { cause: error })
    }
    await refresh()
    await open(id)
    fill(form.errors, el('p', { class: 'success' }, 'Saved.'))
    announce('Saved.')
    return id
  }

  function confirmDeletion() {
    const { id = '', agent } = shown
    const hint = el('p', {}, `${deletion} Its versions are kept.`)
    openDialog({ title: `Delete ${agent?.Name || id}?`, fields: [hint], submit: 'Delete', isDangerous: true }, async () => {
      await deleteDocuments(connection, id, shown)
      announce(`Deleted ${id}.`)
      await refresh()
      show({})
    })
  }

  async function refresh() {
    const [all, conversations] = await Promise.all([listAll(connection, AGENTS), listAll(connection, CONVERSATIONS)])
    taken = new Set([...all, ...conversations].map(({ Id }) => Id))
    const choices = all.map(({ Id, Name, IsBuiltIn, Deprecated }) => {
      const about = `${Id}${IsBuiltIn ? ' · built in' : ''}${Deprecated ? ' · deprecated' : ''}`
      const attributes = { class: 'choice', 'data-key': Id, 'aria-pressed': String(Id === shown.id) }
      return el('li', {}, button([el('strong', {}, Name || Id), el('small', {}, about)], () => open(Id).catch(form.showError), attributes))
    })
    fill(list, choices)
    return all
  }

  /** @type {string[] | undefined} */
  const tools = takeHandoff('tools')
  refresh().then((all) => {
    if (tools) return
    const first = all.find(({ IsBuiltIn }) => !IsBuiltIn)
    if (shown.id !== undefined || isChanged) return
    if (first) open(first.Id).catch(form.showError)
    else show({})
  }, form.showError)
  if (connection.config.IsLocal) {
    const contexts = consoleApi('GET', `contexts/${encodeURIComponent(connection.identity.Org)}`)
    contexts.then((known) => form.suggest(known.flatMap((/** @type {{ ModelName?: string }} */ { ModelName }) => ModelName ?? [])), () => {})
  }
  show({})
  // Whoever may not read connections has none to offer.
  readAll(connection, CONNECTIONS).then(form.offer, () => {})
  if (tools) form.choose(tools)
  const create = button('New agent', () => {
    show({})
    form.focus()
  }, { class: 'primary' })
  const head = el('div', { class: 'row head' }, el('h1', {}, 'Agents'), el('span', { class: 'spacer' }), el('a', { class: 'button', href: '#/agents/advanced' }, 'Advanced'), button('Step by step', () => openAgentWizard(connection)), create)
  const about = el('p', { class: 'muted' }, 'An agent is a prompt with a model, tools and limits. Changes take effect within a minute.')
  const editorHead = el('div', { class: 'row editor-head' }, title, note, el('span', { class: 'spacer' }), el('div', { class: 'row' }, save, chat, remove))
  return [head, about, el('div', { class: 'split' }, list, el('div', {}, editorHead, el('div', { class: 'columns' }, form.node, test.node)))]
}
