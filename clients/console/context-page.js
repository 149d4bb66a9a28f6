/**
 * A page of documents of the organization that have versions: list, editor with the service's validation, versions, and a test. The pages of
 * contexts and modes are made from it.
 *
 * @module
 */

import { listAll } from './agent-documents.js'
import { contextEditor } from './context-editor.js'
import { announce, button, el, fill, labelledField, openDialog } from './dom.js'
import { pageUrl } from './format.js'
import { setHandoff } from './handoff.js'
import { notAllowed } from './not-allowed.js'
import { testPanel } from './test-panel.js'
import { versionList } from './versions.js'

/** The most characters of a text about the replacement of a document. */
const MAX_DEPRECATED_CHARS = 400

/**
 * The content of a document. `idMember` and `nameMember` of its kind name its id and its name.
 * @typedef {{ Kind: string, [member: string]: unknown }} Content
 *
 * A document in a list, or with its content.
 * @typedef {{ Id: string, Name: string, IsBuiltIn: boolean, Deprecated?: string, Version?: number, ETag?: string, Content?: Content }} Context
 *
 * A kind of documents: the path of its list, the content of a new one, a sentence about the effect of a deletion, and the members that deprecate
 * one.
 * @typedef {{ path: string, idMember: string, nameMember: string, template: Content, deletion: string,
 *   deprecation: (text: string) => Record<string, unknown> }} Kind
 *
 * @typedef {{ title: string, label: string, description: string, kinds: Record<string, Kind>, isTestable?: boolean, link?: Node, roles?: string }} Options
 *
 * A document in the editor. Without `context` it is new.
 * @typedef {{ kind: string, id: string, context?: Context }} Selection
 */

/**
 * @param {import('./connection.js').Connection} connection
 * @param {Options} options
 * @returns {import('./main.js').View}
 */
export function contextPage(connection, { title: pageTitle, label, description, kinds, isTestable = false, link, roles = 'operators and agent editors' }) {
  const kindNames = Object.keys(kinds)
  const listElement = el('ul', { class: 'contexts-list', 'aria-label': label })
  const note = el('small', {})
  const title = el('h2', {}, label)
  const versions = el('section', { class: 'card', 'aria-label': 'Versions' })
  const save = button('Save', () => saveContext().catch(showError), { class: 'primary' })
  const deprecate = button('Deprecate', openDeprecation)
  const remove = button('Delete', openDeletion, { class: 'danger ghost' })
  const createButton = (/** @type {string} */ kind) => button(`New ${kind}`, () => create(kind))
  const editor = contextEditor(onEdit, kindOf)
  const test = isTestable ? testPanel(connection, saveForTest) : undefined
  const node = el(
    'div',
    {},
    el('div', { class: 'row head' }, el('h1', {}, pageTitle), el('span', { class: 'spacer' }), el('div', { class: 'row' }, link, kindNames.map(createButton))),
    el('p', { class: 'muted' }, `${description} Changes take effect within a minute.`),
    el(
      'div',
      { class: 'split' },
      listElement,
      el(
        'div',
        {},
        el('div', { class: 'row editor-head' }, title, note, el('span', { class: 'spacer' }), el('div', { class: 'row' }, save, isTestable && button('Try', tryContext), deprecate, remove)),
        editor.errors,
        el('div', { class: 'columns' }, editor.form, el('div', {}, test?.node, editor.source, versions)),
      ),
    ),
  )
  /** @type {Selection} */
  let selected = { kind: kindNames[0] ?? '', id: '' }
  /** Counts what was chosen: a document that loads slowly doesn't replace what was chosen after it. */
  let chosen = 0
  /** Counts changes in the editor: what is typed while a document is loaded or saved isn't replaced. */
  let edits = 0

  /** @param {boolean} isChanged true if the editor has unsaved changes */
  function onEdit(isChanged) {
    edits += 1
    showNote(isChanged)
  }

  /** @param {Content} content */
  function kindOf({ Kind }) {
    return Kind in kinds ? Kind : (kindNames[0] ?? '')
  }

  /** @param {string} kind */
  const optionsOf = (kind) => /** @type {Kind} */ (kinds[kind])

  /** @param {Content} content */
  const idOf = (content) => String(content[optionsOf(kindOf(content)).idMember] ?? '')

  /**
   * Returns the path of a document.
   * @param {string} kind
   * @param {string} id
   */
  const contextPath = (kind, id) => `${optionsOf(kind).path}/${encodeURIComponent(id)}`

  /**
   * @param {Selection} selection
   * @param {Content} content
   */
  function show(selection, content) {
    selected = selection
    editor.show(content)
    test?.reset()
    const { kind, id, context } = selection
    title.textContent = String(content[optionsOf(kind).nameMember] || id)
    remove.hidden = !context || context.IsBuiltIn
    deprecate.hidden = !context || Boolean(context.Deprecated)
    showNote(false)
    markSelected()
    showVersions(content)
  }

  /** @param {Content} content the document in the editor as it is stored */
  function showVersions(content) {
    const selection = selected
    const { kind, id, context } = selection
    fill(versions)
    versions.hidden = !context || context.IsBuiltIn
    if (versions.hidden) return
    const list = versionList(connection, contextPath(kind, id), content, () => open(kind, id))
    list.then((shown) => selected === selection && fill(versions, shown), showError)
  }

  /** Marks the document in the editor in the list. */
  function markSelected() {
    const { kind, id, context } = selected
    for (const choice of listElement.querySelectorAll('button')) {
      const isSelected = Boolean(context) && choice.dataset.key === `${kind} ${id}`
      choice.setAttribute('aria-pressed', String(isSelected))
      if (isSelected) scrollTo(choice)
    }
  }

  /**
   * Shows a document in the list, which scrolls on a narrow page.
   * @param {Element} choice
   */
  function scrollTo(choice) {
    const [at, list] = [choice.getBoundingClientRect(), listElement.getBoundingClientRect()]
    if (at.top < list.top || at.bottom > list.bottom) listElement.scrollTop += at.top - list.top
  }

  /** @param {boolean} isChanged true if the editor has unsaved changes */
  function showNote(isChanged) {
    const { context, kind } = selected
    const version = context?.Version ? `Version ${context.Version}` : 'New'
    const state = context?.IsBuiltIn ? `Built in. Saving creates a ${kind === 'mode' ? 'mode' : 'context'} of your own.` : version
    const deprecated = context?.Deprecated ? ` · deprecated: ${context.Deprecated}` : ''
    note.textContent = `${state}${deprecated}${isChanged ? ' · unsaved changes' : ''}`
  }

  /** @param {string} kind */
  function create(kind) {
    const { template } = optionsOf(kind)
    chosen += 1
    show({ kind, id: idOf(template) }, template)
    editor.focus()
  }

  /**
   * Loads a document into the editor.
   * @param {string} kind
   * @param {string} id
   */
  async function open(kind, id) {
    chosen += 1
    const before = { chosen, edits }
    const context = await read(kind, id)
    if (chosen === before.chosen && edits === before.edits) show({ kind, id, context }, context.Content)
  }

  /**
   * @param {string} kind
   * @param {string} id
   * @returns {Promise<Context & { Content: Content }>}
   */
  const read = (kind, id) => connection.read(contextPath(kind, id))

  /** Saves the document in the editor. Returns undefined if it isn't valid JSON. */
  async function saveContext() {
    const content = editor.read()
    if (!content) return undefined
    const [kind, id] = [kindOf(content), idOf(content)]
    const before = { chosen, edits }
    const isSame = selected.context && selected.kind === kind && selected.id === id
    const tag = isSame ? selected.context?.ETag : undefined
    // A change that somebody else made meanwhile isn't overwritten.
    /** @type {Record<string, string>} */
    const condition = tag ? { 'if-match': tag } : { 'if-none-match': '*' }
    await connection.send('PUT', contextPath(kind, id), JSON.stringify(content), condition).catch((error) => {
      if (isSame || error.status !== 412) throw error
      throw new Error(`The id ${id} is taken. Choose another one, or open ${id} in the list.`, { cause: error })
    })
    const [context] = await Promise.all([read(kind, id), list()])
    announce('Saved.')
    if (chosen !== before.chosen) return content
    if (edits === before.edits) {
      show({ kind, id, context }, context.Content)
      editor.showSaved()
    } else {
      // The next save replaces the version that this one made.
      selected = { kind, id, context }
      showNote(true)
      showVersions(context.Content)
    }
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

  function openDeprecation() {
    const { kind, id } = selected
    const field = el('input', { name: 'Replacement', required: true, maxlength: MAX_DEPRECATED_CHARS, autocomplete: 'off' })
    const hint = el('p', {}, 'Sessions that use it go on. New ones get this text as a warning.')
    openDialog({ title: `Deprecate ${id}?`, fields: [hint, labelledField('Use in its place', field)], submit: 'Deprecate' }, async ({ Replacement = '' }) => {
      const content = editor.read()
      if (!content) throw new Error('The JSON in the editor is invalid.')
      editor.edit({ ...content, ...optionsOf(kind).deprecation(Replacement.trim()) })
      await saveContext()
    })
  }

  function openDeletion() {
    const { kind, id, context } = selected
    const submit = async () => {
      const before = chosen
      await connection.send('DELETE', contextPath(kind, id), undefined, context?.ETag ? { 'if-match': context.ETag } : {})
      announce(`Deleted ${id}.`)
      await list()
      if (chosen === before) create(kind)
    }
    const hint = el('p', {}, `${optionsOf(kind).deletion} Its versions are kept.`)
    openDialog({ title: `Delete ${id}?`, fields: [hint], submit: 'Delete', isDangerous: true }, submit)
  }

  function tryContext() {
    const content = editor.read()
    if (!content) return
    setHandoff('contexts', contextsOf(content))
    location.hash = pageUrl('chat', connection.aptix.session().id, 'new')
  }

  /**
   * Returns the contexts of a conversation that uses a context.
   * @param {Content} content
   * @returns {{ agent?: string, conversation?: string }}
   */
  const contextsOf = (content) => (kindOf(content) === 'agent' ? { agent: idOf(content) } : { conversation: idOf(content) })

  const showError = (/** @type {unknown} */ error) => editor.showErrors(error)

  async function list() {
    const lists = await Promise.all(kindNames.map((kind) => listAll(connection, optionsOf(kind).path)))
    const items = kindNames.flatMap((kind, n) => (lists[n] ?? []).map((context) => ({ kind, context })))
    const choices = items.map(({ kind, context: { Id, Name, IsBuiltIn, Deprecated } }) => {
      const about = `${kind} · ${Id}${IsBuiltIn ? ' · built in' : ''}${Deprecated ? ' · deprecated' : ''}`
      const attributes = { class: 'choice', 'data-key': `${kind} ${Id}`, 'aria-pressed': 'false' }
      return el('li', {}, button([el('strong', {}, Name || Id), el('small', {}, about)], () => open(kind, Id).catch(showError), attributes))
    })
    fill(listElement, choices)
    markSelected()
    editor.suggest(items.filter(({ kind }) => kind === 'conversation').map(({ context }) => context.Id))
    return items
  }

  const start = async () => {
    const items = await list()
    if (chosen > 0 || edits > 0) return
    const first = items.find(({ context }) => !context.IsBuiltIn) ?? items[0]
    if (first) await open(first.kind, first.context.Id)
    else create(kindNames[0] ?? '')
  }
  start().catch((error) => {
    if (error.status !== 403) return showError(error)
    fill(node, el('h1', {}, pageTitle), notAllowed(`see and change ${label.toLowerCase()}`, roles))
  })
  return { title: pageTitle, node }
}
