/**
 * The contexts of an org in a local cloud: listed, edited with the checks of the service, and tried.
 *
 * @module
 */

import { consoleApi } from './connection.js'
import { button, el, failure, fill, labelled, tell } from './dom.js'
import { at } from './format.js'
import { hand } from './handed.js'

/** @typedef {{ Kind: 'agent' | 'conversation', Id: string, Name: string, [member: string]: unknown }} Context */

const BEGUN = {
  agent: { Kind: 'agent', Id: 'engineer', Name: 'Engineer', DefaultConversationContextId: 'default', ClientTools: [] },
  conversation: { Kind: 'conversation', Id: 'backend', Name: 'Backend', System: 'You help.', StoreRawPayloads: true },
}

/**
 * @param {import('./connection.js').Connection} connection
 * @returns {import('./main.js').View}
 */
export function agents(connection) {
  const path = `contexts/${encodeURIComponent(connection.identity.Org)}`
  const listed = el('ul', { class: 'contexts-list', 'aria-label': 'Contexts' })
  const field = el('textarea', { rows: 24, spellcheck: 'false', class: 'source', 'aria-describedby': 'faults' })
  const faults = el('div', { id: 'faults' })
  const save = button('Save', () => put().catch(fail), { class: 'primary' })
  const fresh = (/** @type {'agent' | 'conversation'} */ kind) =>
    button(`New ${kind}`, () => edit(/** @type {Context} */ (BEGUN[kind])))
  const editor = el(
    'section',
    { class: 'card', 'aria-label': 'Context' },
    labelled('Context, as JSON', field),
    faults,
    el('div', { class: 'row' }, save, button('Try', attempt), el('small', {}, 'Functions see a change within a minute.')),
  )
  const node = el(
    'div',
    {},
    el(
      'div',
      { class: 'row head' },
      el('h1', {}, 'Agents'),
      el('span', { class: 'grow' }),
      fresh('agent'),
      fresh('conversation'),
    ),
    el(
      'p',
      { class: 'soft' },
      `The contexts of ${connection.identity.Org}. Agents say who works, conversations how. `,
      el('code', {}, 'default'),
      ' comes with the service.',
    ),
    el('div', { class: 'beside' }, listed, editor),
  )

  /** @param {Context} context */
  function show({ Kind, Id, Name, ...rest }) {
    const context = { Kind, Id, Name, ...rest }
    field.value = JSON.stringify(context, undefined, 2)
    fill(faults)
    mark(context)
  }

  /** @param {Context} context */
  function edit(context) {
    show(context)
    field.focus()
  }

  /** @param {Context | undefined} context the one that is edited */
  function mark(context) {
    for (const one of listed.querySelectorAll('button')) {
      one.setAttribute('aria-pressed', String(one.dataset.key === `${context?.Kind} ${context?.Id}`))
    }
  }

  /** @returns {Context | undefined} */
  function read() {
    try {
      return JSON.parse(field.value)
    } catch (error) {
      fill(faults, failure({ message: `This is no JSON: ${/** @type {Error} */ (error).message}` }))
      return undefined
    }
  }

  async function put() {
    const context = read()
    if (!context) return
    tell(await consoleApi('PUT', path, field.value))
    fill(faults, el('p', { class: 'saved' }, 'Saved.'))
    await list()
    mark(context)
  }

  async function attempt() {
    const context = read()
    if (!context) return
    hand('contexts', context.Kind === 'agent' ? { agent: context.Id } : { conversation: context.Id })
    location.hash = at('chat', connection.aptix.session().id, 'new')
  }

  const fail = (/** @type {unknown} */ error) => {
    const { errors = [] } = /** @type {{ errors?: { Message: string }[] }} */ (error)
    if (errors.length < 2) fill(faults, failure(error))
    else
      fill(
        faults,
        el(
          'ul',
          { class: 'failure', role: 'alert' },
          errors.map(({ Message }) => el('li', {}, Message)),
        ),
      )
  }

  async function list() {
    const contexts = /** @type {Context[]} */ (await consoleApi('GET', path))
    const items = contexts.map((context) => {
      const choose = el('button', {
        type: 'button',
        class: 'choice',
        'data-key': `${context.Kind} ${context.Id}`,
        'aria-pressed': 'false',
        onclick: () => edit(context),
      })
      choose.append(el('strong', {}, context.Name || context.Id), el('small', {}, `${context.Kind} · ${context.Id}`))
      return el('li', {}, choose)
    })
    fill(listed, items.length ? items : el('li', { class: 'soft' }, 'None yet.'))
    return contexts
  }

  list().then(([first]) => show(first ?? /** @type {Context} */ (BEGUN.agent)), fail)
  return { title: 'Agents', node }
}
