/**
 * The chat page: one conversation.
 *
 * @module
 */

import { attachmentsOf } from './attachments.js'
import { Composer } from './composer.js'
import { openDialog, button, el, errorMessage, fill, labelledField } from './dom.js'
import { pageUrl } from './format.js'
import { takeHandoff } from './handoff.js'
import { toolsFor } from './tool-card.js'
import { isUnknownSession, TurnView } from './turn-view.js'
import { Workspace } from './workspace.js'

/** Turns loaded at a time. */
const PAGE_SIZE = 20

/**
 * @param {import('./connection.js').Connection} connection
 * @param {string[]} parts
 * @returns {import('./main.js').View}
 */
export function chat({ aptix }, [id, suffix]) {
  // Leaving the page stops reading. The turn continues and can be resumed.
  const abort = new AbortController()
  const session = aptix.session(id, { signal: abort.signal })
  const workspace = new Workspace()
  /** @type {TurnView | undefined} */
  let open
  const turns = el('section', { class: 'turns', 'aria-label': 'Conversation' })
  const earlierRow = el('div', { class: 'row' })
  const problem = el('div', {})
  const title = el('h1', {}, id ? 'Conversation' : 'New conversation')
  const about = el('p', { class: 'muted' })
  const contexts = contextFields(!id || suffix === 'new')
  const composer = new Composer(
    { send, stop: () => open?.stop().catch((error) => fill(problem, errorMessage(error))) },
    contexts.node,
  )
  const newConversation = el(
    'a',
    { href: pageUrl('chat', aptix.session().id, 'new'), class: 'button', hidden: !id || suffix === 'new' },
    'New conversation',
  )
  const head = el('div', { class: 'row head' }, title, el('span', { class: 'spacer' }), newConversation)
  const node = el('div', { class: 'chat' }, head, about, earlierRow, turns, problem, composer.node)
  composer.enableDrop(node)

  // Only scroll along if the reader is at the end.
  let isAtEnd = true
  const updateIsAtEnd = () => (isAtEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 40)
  addEventListener('scroll', updateIsAtEnd, { signal: abort.signal })

  /** @type {import('./turn-view.js').TurnContext} */
  const context = {
    aptix,
    session,
    tools: toolsFor(workspace),
    rerun,
    onUpdate() {
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
    if (node.isConnected) showSession().catch(() => {})
  }

  /** @param {import('./composer.js').Message} message */
  function send({ text, files: sent, images }) {
    fill(problem)
    workspace.add(sent)
    const turn = session.send(text, { files: sent, images, ...contexts.values() })
    const view = new TurnView(context, { id: turn.id, instruction: text, attachments: attachmentsOf(sent, images) })
    // The URL contains the session's id after its first turn, so that a reload shows it.
    history.replaceState(undefined, '', pageUrl('chat', session.id))
    newConversation.hidden = false
    if (!open) title.textContent = 'Conversation'
    follow(view, turn).then(() => composer.focus())
    scrollToEnd()
  }

  /**
   * @param {string} turnId
   * @param {string} text
   */
  function rerun(turnId, text) {
    const fields = [
      labelledField('Instruction', el('textarea', { name: 'text', rows: 4, required: true }, text)),
      labelledField('Model (optional)', el('input', { name: 'model', autocomplete: 'off' })),
      labelledField('Mode (optional)', el('input', { name: 'mode', autocomplete: 'off' })),
    ]
    openDialog({ title: 'Rerun this turn', fields, submit: 'Rerun' }, ({ text: instruction = '', model, mode }) => {
      const changed = instruction === text ? {} : { text: instruction }
      const turn = session.rerun(turnId, { ...changed, model: model || undefined, mode: mode || undefined })
      follow(new TurnView(context, { id: turn.id, instruction }), turn)
    })
  }

  async function showSession() {
    const { Name, Mode, TotalUsage, TotalCosts, AgentContextName, IsDeleted } = await session.read({ pageSize: 1 })
    title.textContent = Name || 'Conversation'
    const costs = (TotalCosts ?? []).map(({ Amount, Currency }) => `${Amount} ${Currency}`)
    const details = [
      `Mode ${Mode}`,
      AgentContextName,
      TotalUsage && `${TotalUsage.TotalTokens} tokens`,
      ...costs,
      IsDeleted && 'deleted',
    ]
    about.textContent = details.filter(Boolean).join(' · ')
  }

  /** @param {import('../javascript/src/wire.js').SessionTurn} turn */
  function createView(turn) {
    return new TurnView(context, { id: turn.Id, instruction: turn.InstructionSummary })
  }

  async function load() {
    const newest = session.turns({ order: 'desc' })
    const loadMore = async () => {
      /** @type {import('../javascript/src/wire.js').SessionTurn[]} */
      const page = []
      while (page.length < PAGE_SIZE) {
        const { value, done } = await newest.next()
        if (done) break
        page.unshift(value)
      }
      const finished = page.filter(({ Status }) => Status.Id !== 'pending').map((turn) => ({ turn, view: createView(turn) }))
      turns.prepend(...finished.map(({ view }) => view.node))
      finished.forEach(({ turn, view }) => view.showFinished(turn))
      fill(earlierRow, page.length === PAGE_SIZE && button('Earlier turns', loadMore))
      return page.find(({ Status }) => Status.Id === 'pending')
    }
    const pending = await loadMore()
    await showSession()
    scrollToEnd()
    contexts.node.hidden = true
    if (pending) {
      const view = createView(pending)
      turns.append(view.node)
      await view.showEarlierRounds()
      await follow(view, session.resume({ turnId: pending.Id }))
    }
  }

  if (id && suffix !== 'new') load().catch((error) => isUnknownSession(error) || fill(problem, errorMessage(error)))
  composer.text = takeHandoff('draft') ?? ''
  queueMicrotask(() => composer.focus())
  return { title: 'Chat', node, dispose: () => abort.abort() }
}

const scrollToEnd = () => scrollTo({ top: document.documentElement.scrollHeight })

/**
 * Creates the fields for the contexts of a new conversation. An existing conversation keeps its contexts.
 * @param {boolean} isNew
 */
function contextFields(isNew) {
  const { agent = '', conversation = '' } = (isNew && takeHandoff('contexts')) || {}
  const inputs = {
    agent: el('input', { value: agent || (isNew ? 'workspace' : ''), placeholder: 'default', autocomplete: 'off', maxlength: 128 }),
    conversation: el('input', { value: conversation, placeholder: 'default', autocomplete: 'off', maxlength: 128 }),
  }
  const fields = el(
    'div',
    { class: 'fields' },
    labelledField('Agent context', inputs.agent),
    labelledField('Conversation context', inputs.conversation),
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
