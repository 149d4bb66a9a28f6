/**
 * The contexts of an organization in a local cloud: list, editor with the service's validation, and a way to try one.
 *
 * @module
 */

import { consoleApi } from './connection.js'
import { button, el, errorMessage, fill, labelledField, announce } from './dom.js'
import { pageUrl } from './format.js'
import { setHandoff } from './handoff.js'

/** @typedef {{ Kind: 'agent' | 'conversation', Id: string, Name: string, [member: string]: unknown }} Context */

const TEMPLATES = {
  agent: { Kind: 'agent', Id: 'engineer', Name: 'Engineer', DefaultConversationContextId: 'default', ClientTools: [] },
  conversation: { Kind: 'conversation', Id: 'backend', Name: 'Backend', System: 'You help.', StoreRawPayloads: true },
}

/**
 * @param {import('./connection.js').Connection} connection
 * @returns {import('./main.js').View}
 */
export function agents(connection) {
  const path = `contexts/${encodeURIComponent(connection.identity.Org)}`
  const listElement = el('ul', { class: 'contexts-list', 'aria-label': 'Contexts' })
  const field = el('textarea', { rows: 24, spellcheck: 'false', class: 'code-input', 'aria-describedby': 'errors' })
  const errorList = el('div', { id: 'errors' })
  const save = button('Save', () => saveContext().catch(showError), { class: 'primary' })
  const createButton = (/** @type {'agent' | 'conversation'} */ kind) =>
    button(`New ${kind}`, () => edit(/** @type {Context} */ (TEMPLATES[kind])))
  const editor = el(
    'section',
    { class: 'card', 'aria-label': 'Context' },
    labelledField('Context (JSON)', field),
    errorList,
    el('div', { class: 'row' }, save, button('Try', tryContext), el('small', {}, 'Changes take effect within a minute.')),
  )
  const node = el(
    'div',
    {},
    el(
      'div',
      { class: 'row head' },
      el('h1', {}, 'Agents'),
      el('span', { class: 'spacer' }),
      createButton('agent'),
      createButton('conversation'),
    ),
    el(
      'p',
      { class: 'muted' },
      `Contexts of ${connection.identity.Org}. Agent contexts define prompts and client tools; conversation contexts define models and limits. `,
      el('code', {}, 'default'),
      ' is built in.',
    ),
    el('div', { class: 'split' }, listElement, editor),
  )

  /** @param {Context} context */
  function show({ Kind, Id, Name, ...rest }) {
    const context = { Kind, Id, Name, ...rest }
    field.value = JSON.stringify(context, undefined, 2)
    fill(errorList)
    markSelected(context)
  }

  /** @param {Context} context */
  function edit(context) {
    show(context)
    field.focus()
  }

  /** @param {Context | undefined} context the selected one */
  function markSelected(context) {
    for (const choice of listElement.querySelectorAll('button')) {
      choice.setAttribute('aria-pressed', String(choice.dataset.key === `${context?.Kind} ${context?.Id}`))
    }
  }

  /** @returns {Context | undefined} */
  function read() {
    try {
      return JSON.parse(field.value)
    } catch (error) {
      fill(errorList, errorMessage({ message: `Invalid JSON: ${/** @type {Error} */ (error).message}` }))
      return undefined
    }
  }

  async function saveContext() {
    const context = read()
    if (!context) return
    announce(await consoleApi('PUT', path, field.value))
    fill(errorList, el('p', { class: 'success' }, 'Saved.'))
    await list()
    markSelected(context)
  }

  async function tryContext() {
    const context = read()
    if (!context) return
    setHandoff('contexts', context.Kind === 'agent' ? { agent: context.Id } : { conversation: context.Id })
    location.hash = pageUrl('chat', connection.aptix.session().id, 'new')
  }

  const showError = (/** @type {unknown} */ error) => {
    const { errors = [] } = /** @type {{ errors?: { Message: string }[] }} */ (error)
    if (errors.length < 2) fill(errorList, errorMessage(error))
    else
      fill(
        errorList,
        el(
          'ul',
          { class: 'error', role: 'alert' },
          errors.map(({ Message }) => el('li', {}, Message)),
        ),
      )
  }

  async function list() {
    const contexts = /** @type {Context[]} */ (await consoleApi('GET', path))
    const items = contexts.map((context) => {
      const choice = el('button', {
        type: 'button',
        class: 'choice',
        'data-key': `${context.Kind} ${context.Id}`,
        'aria-pressed': 'false',
        onclick: () => edit(context),
      })
      choice.append(el('strong', {}, context.Name || context.Id), el('small', {}, `${context.Kind} · ${context.Id}`))
      return el('li', {}, choice)
    })
    fill(listElement, items.length ? items : el('li', { class: 'muted' }, 'No contexts yet.'))
    return contexts
  }

  list().then(([first]) => show(first ?? /** @type {Context} */ (TEMPLATES.agent)), showError)
  return { title: 'Agents', node }
}
