/**
 * The contexts of an organization: list, editor with the service's validation, versions, and a test. For operators and agent editors.
 *
 * @module
 */

import { contextEditor } from './context-editor.js'
import { announce, button, el, errorMessage, fill, openDialog } from './dom.js'
import { pageUrl } from './format.js'
import { setHandoff } from './handoff.js'
import { testPanel } from './test-panel.js'
import { versionList } from './versions.js'

/** @typedef {'agent' | 'conversation'} Kind */
/** @typedef {{ Kind: Kind, Id: string, Name: string, [member: string]: unknown }} Content */
/** @typedef {{ Id: string, Name: string, IsBuiltIn: boolean, Deprecated?: string, Version?: number, ETag?: string, Content?: Content }} Context */
/** A context in the editor. Without `context` it is new. @typedef {{ kind: Kind, id: string, context?: Context }} Selection */

const PATHS = { agent: 'api/ai/agent/agents', conversation: 'api/ai/agent/conversation-contexts' }

/** @type {Record<Kind, Content>} */
const TEMPLATES = {
  agent: { Kind: 'agent', Id: 'engineer', Name: 'Engineer', DefaultConversationContextId: 'default', ClientTools: [] },
  conversation: { Kind: 'conversation', Id: 'backend', Name: 'Backend', System: 'You help.', StoreRawPayloads: true },
}

/**
 * Returns the path of a context.
 * @param {Kind} kind
 * @param {string} id
 */
export const contextPath = (kind, id) => `${PATHS[kind]}/${encodeURIComponent(id)}`

/**
 * @param {import('./connection.js').Connection} connection
 * @returns {import('./main.js').View}
 */
export function agents(connection) {
  const listElement = el('ul', { class: 'contexts-list', 'aria-label': 'Contexts' })
  const note = el('small', {})
  const title = el('h2', {}, 'Context')
  const versions = el('section', { class: 'card', 'aria-label': 'Versions' })
  const save = button('Save', () => saveContext().catch(showError), { class: 'primary' })
  const remove = button('Delete', deleteContext, { class: 'danger ghost' })
  const createButton = (/** @type {Kind} */ kind) => button(`New ${kind}`, () => edit({ kind, id: TEMPLATES[kind].Id }, TEMPLATES[kind]))
  const editor = contextEditor(showNote)
  const test = testPanel(connection, saveForTest)
  const node = el(
    'div',
    {},
    el('div', { class: 'row head' }, el('h1', {}, 'Agents'), el('span', { class: 'spacer' }), createButton('agent'), createButton('conversation')),
    el(
      'p',
      { class: 'muted' },
      'Agent contexts define prompts and client tools; conversation contexts define models and limits. Changes take effect within a minute.',
    ),
    el(
      'div',
      { class: 'split' },
      listElement,
      el(
        'div',
        {},
        el('div', { class: 'row editor-head' }, title, note, el('span', { class: 'spacer' }), save, button('Try', tryContext), remove),
        editor.errors,
        el('div', { class: 'columns' }, editor.form, el('div', {}, test.node, editor.source, versions)),
      ),
    ),
  )
  /** @type {Selection} */
  let selected = { kind: 'agent', id: '' }

  /**
   * @param {Selection} selection
   * @param {Content} content
   */
  function show(selection, content) {
    selected = selection
    editor.show(content)
    test.reset()
    const { context } = selection
    title.textContent = content.Name || content.Id
    remove.hidden = !context || context.IsBuiltIn
    showNote(false)
    for (const choice of listElement.querySelectorAll('button')) {
      choice.setAttribute('aria-pressed', String(Boolean(context) && choice.dataset.key === `${selection.kind} ${selection.id}`))
    }
    fill(versions)
    versions.hidden = !context || context.IsBuiltIn
    if (!versions.hidden) {
      const list = versionList(connection, contextPath(selection.kind, selection.id), content, () => open(selection.kind, selection.id))
      list.then((shown) => selected === selection && fill(versions, shown), showError)
    }
  }

  /** @param {boolean} isChanged true if the editor has unsaved changes */
  function showNote(isChanged) {
    const { context } = selected
    const state = context?.IsBuiltIn ? 'Built in. Saving creates a context of your own.' : context?.Version ? `Version ${context.Version}` : 'New'
    note.textContent = isChanged ? `${state} · unsaved changes` : state
  }

  /**
   * @param {Selection} selection
   * @param {Content} content
   */
  function edit(selection, content) {
    show(selection, content)
    editor.focus()
  }

  /**
   * Loads a context into the editor.
   * @param {Kind} kind
   * @param {string} id
   */
  async function open(kind, id) {
    const context = /** @type {Context & { Content: Content }} */ (await connection.read(contextPath(kind, id)))
    show({ kind, id, context }, context.Content)
  }

  /** Saves the context in the editor. Returns undefined if it isn't valid JSON. */
  async function saveContext() {
    const content = editor.read()
    if (!content) return undefined
    const kind = content.Kind === 'conversation' ? 'conversation' : 'agent'
    const isSame = selected.context && selected.kind === kind && selected.id === content.Id
    const tag = isSame ? selected.context?.ETag : undefined
    // A change that somebody else made meanwhile isn't overwritten.
    /** @type {Record<string, string>} */
    const condition = tag ? { 'if-match': tag } : { 'if-none-match': '*' }
    await connection.send('PUT', contextPath(kind, String(content.Id ?? '')), JSON.stringify(content), condition)
    await list()
    await open(kind, content.Id)
    editor.showSaved()
    announce('Saved.')
    return content
  }

  /** Saves a change, and returns the contexts to test. */
  async function saveForTest() {
    try {
      const content = editor.isChanged() || !selected.context ? await saveContext() : editor.read()
      return content && contextsOf(content)
    } catch (error) {
      showError(error)
      throw new Error('The context isn’t saved: see the errors above.', { cause: error })
    }
  }

  function deleteContext() {
    const { kind, id, context } = selected
    const submit = async () => {
      await connection.send('DELETE', contextPath(kind, id), undefined, context?.ETag ? { 'if-match': context.ETag } : {})
      announce(`Deleted ${id}.`)
      await list()
      edit({ kind, id: TEMPLATES[kind].Id }, TEMPLATES[kind])
    }
    const hint = el('p', {}, 'Sessions that use it can’t take further turns. Its versions are kept.')
    openDialog({ title: `Delete ${id}?`, fields: [hint], submit: 'Delete', isDangerous: true }, submit)
  }

  function tryContext() {
    const content = editor.read()
    if (!content) return
    setHandoff('contexts', contextsOf(content))
    location.hash = pageUrl('chat', connection.aptix.session().id, 'new')
  }

  const showError = (/** @type {unknown} */ error) => editor.showErrors(error)

  async function list() {
    const kinds = /** @type {Kind[]} */ (['agent', 'conversation'])
    const lists = await Promise.all(kinds.map((kind) => readAll(connection, PATHS[kind])))
    const items = kinds.flatMap((kind, n) => (lists[n] ?? []).map((context) => ({ kind, context })))
    const choices = items.map(({ kind, context }) => {
      const choice = button([el('strong', {}, context.Name || context.Id), el('small', {}, `${kind} · ${context.Id}${context.IsBuiltIn ? ' · built in' : ''}${context.Deprecated ? ' · deprecated' : ''}`)], () => open(kind, context.Id).catch(showError), {
        class: 'choice',
        'data-key': `${kind} ${context.Id}`,
        'aria-pressed': 'false',
      })
      return el('li', {}, choice)
    })
    fill(listElement, choices)
    editor.suggest(items.filter(({ kind }) => kind === 'conversation').map(({ context }) => context.Id))
    return items
  }

  const start = async () => {
    const items = await list()
    const first = items.find(({ context }) => !context.IsBuiltIn) ?? items[0]
    if (first) await open(first.kind, first.context.Id)
    else show({ kind: 'agent', id: TEMPLATES.agent.Id }, TEMPLATES.agent)
  }
  start().catch(showError)
  return { title: 'Agents', node }
}

/**
 * Returns the contexts of a conversation that uses a context.
 * @param {Content} content
 * @returns {{ agent?: string, conversation?: string }}
 */
const contextsOf = ({ Kind, Id }) => (Kind === 'agent' ? { agent: Id } : { conversation: Id })

/** Pages that are read of a list, at most. */
const MAX_PAGES = 10

/**
 * @param {import('./connection.js').Connection} connection
 * @param {string} path
 */
async function readAll(connection, path) {
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
