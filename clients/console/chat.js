/**
 * A conversation.
 *
 * @module
 */

import { Composer } from './composer.js'
import { ask, button, el, failure, fill, labelled } from './dom.js'
import { at } from './format.js'
import { take } from './handed.js'
import { toolsOf } from './tool-card.js'
import { isUnknownSession, TurnView } from './turn-view.js'
import { Workspace } from './workspace.js'

/** As many turns are shown at first, and at a time. */
const TURNS = 20

/**
 * @param {import('./connection.js').Connection} connection
 * @param {string[]} parts
 * @returns {import('./main.js').View}
 */
export function chat({ aptix }, [id, given]) {
  // Whoever goes to another page listens no longer. The turn goes on, and is found again.
  const leaving = new AbortController()
  const session = aptix.session(id, { signal: leaving.signal })
  const workspace = new Workspace()
  /** @type {TurnView | undefined} */
  let open
  const turns = el('section', { class: 'turns', 'aria-label': 'Conversation' })
  const earlier = el('div', { class: 'row' })
  const problem = el('div', {})
  const title = el('h1', {}, id ? 'Conversation' : 'New conversation')
  const about = el('p', { class: 'soft' })
  const contexts = contextFields(!id || given === 'new')
  const composer = new Composer(
    { send, stop: () => open?.stop().catch((error) => fill(problem, failure(error))) },
    contexts.node,
  )
  const fresh = el(
    'a',
    { href: at('chat', aptix.session().id, 'new'), class: 'button', hidden: !id || given === 'new' },
    'New conversation',
  )
  const head = el('div', { class: 'row head' }, title, el('span', { class: 'grow' }), fresh)
  const node = el('div', { class: 'chat' }, head, about, earlier, turns, problem, composer.node)
  composer.takeDropsOn(node)

  // Whoever reads further up is left there.
  let isAtEnd = true
  const look = () => (isAtEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 40)
  addEventListener('scroll', look, { signal: leaving.signal })

  /** @type {import('./turn-view.js').Place} */
  const place = {
    aptix,
    session,
    tools: toolsOf(workspace),
    again,
    changed() {
      if (isAtEnd && node.isConnected) scrollToEnd()
    },
  }

  /**
   * @param {TurnView} view
   * @param {import('../javascript/src/index.js').Turn} turn
   */
  async function follow(view, turn) {
    open = view
    composer.isBusy.value = true
    contexts.node.hidden = true
    turns.append(view.node)
    await view.follow(turn)
    composer.isBusy.value = false
    if (node.isConnected) describe().catch(() => {})
  }

  /** @param {import('./composer.js').Said} said */
  function send({ text, files: sent, images }) {
    fill(problem)
    workspace.add(sent)
    const turn = session.send(text, { files: sent, images, ...contexts.values() })
    const attached = [...sent, ...images].map(({ name }) => name)
    const view = new TurnView(place, { id: turn.id, asked: text, attached })
    // The address names the session from its first turn on, so that a reload shows it.
    history.replaceState(undefined, '', at('chat', session.id))
    fresh.hidden = false
    if (!open) title.textContent = 'Conversation'
    follow(view, turn).then(() => composer.focus())
    scrollToEnd()
  }

  /**
   * @param {string} turnId
   * @param {string} text
   */
  function again(turnId, text) {
    const fields = [
      labelled('Instruction', el('textarea', { name: 'text', rows: 4, required: true }, text)),
      labelled('Model, if another', el('input', { name: 'model', autocomplete: 'off' })),
      labelled('Mode, if another', el('input', { name: 'mode', autocomplete: 'off' })),
    ]
    ask({ title: 'Run this turn again', fields, submit: 'Run' }, ({ text: asked = '', model, mode }) => {
      const changed = asked === text ? {} : { text: asked }
      const turn = session.rerun(turnId, { ...changed, model: model || undefined, mode: mode || undefined })
      follow(new TurnView(place, { id: turn.id, asked }), turn)
    })
  }

  async function describe() {
    const { Name, Mode, TotalUsage, TotalCosts, AgentContextName, IsDeleted } = await session.read({ pageSize: 1 })
    title.textContent = Name || 'Conversation'
    const costs = (TotalCosts ?? []).map(({ Amount, Currency }) => `${Amount} ${Currency}`)
    const told = [
      `Mode ${Mode}`,
      AgentContextName,
      TotalUsage && `${TotalUsage.TotalTokens} tokens`,
      ...costs,
      IsDeleted && 'deleted',
    ]
    about.textContent = told.filter(Boolean).join(' · ')
  }

  /** @param {import('../javascript/src/wire.js').SessionTurn} turn */
  function viewOf(turn) {
    const attached = /** @type {{ RelativePath?: string, FileName?: string }[]} */ (turn.ActiveFileRefs ?? [])
    return new TurnView(place, {
      id: turn.Id,
      asked: turn.InstructionSummary,
      attached: attached.map(({ RelativePath, FileName }) => RelativePath ?? FileName),
    })
  }

  async function load() {
    const newest = session.turns({ order: 'desc' })
    const more = async () => {
      /** @type {import('../javascript/src/wire.js').SessionTurn[]} */
      const page = []
      while (page.length < TURNS) {
        const { value, done } = await newest.next()
        if (done) break
        page.unshift(value)
      }
      const ended = page.filter(({ Status }) => Status.Id !== 'pending').map((turn) => ({ turn, view: viewOf(turn) }))
      turns.prepend(...ended.map(({ view }) => view.node))
      await Promise.all(ended.map(({ turn, view }) => view.ended(turn)))
      fill(earlier, page.length === TURNS && button('Earlier turns', more))
      return page.find(({ Status }) => Status.Id === 'pending')
    }
    const pending = await more()
    await describe()
    scrollToEnd()
    contexts.node.hidden = true
    if (pending) await follow(viewOf(pending), session.resume({ turnId: pending.Id }))
  }

  if (id && given !== 'new') load().catch((error) => isUnknownSession(error) || fill(problem, failure(error)))
  composer.text = take('draft') ?? ''
  queueMicrotask(() => composer.focus())
  return { title: 'Chat', node, end: () => leaving.abort() }
}

const scrollToEnd = () => scrollTo({ top: document.documentElement.scrollHeight })

/**
 * Which contexts a new conversation is bound to; another one is bound already.
 * @param {boolean} isNew
 */
function contextFields(isNew) {
  const { agent = '', conversation = '' } = (isNew && take('contexts')) || {}
  const inputs = {
    agent: el('input', { value: agent, placeholder: 'default', autocomplete: 'off', maxlength: 128 }),
    conversation: el('input', { value: conversation, placeholder: 'default', autocomplete: 'off', maxlength: 128 }),
  }
  const fields = el(
    'div',
    { class: 'fields' },
    labelled('Agent context', inputs.agent),
    labelled('Conversation context', inputs.conversation),
  )
  const node = el(
    'details',
    { class: 'contexts', hidden: !isNew, open: Boolean(agent || conversation) },
    el('summary', {}, 'Contexts'),
    fields,
  )
  return {
    node,
    values: () => ({
      agent: inputs.agent.value.trim() || undefined,
      conversation: inputs.conversation.value.trim() || undefined,
    }),
  }
}
