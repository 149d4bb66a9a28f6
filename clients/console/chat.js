/**
 * The chat page: one conversation, with the caller's sessions beside it.
 *
 * @module
 */

import { alwaysAllowed } from './always.js'
import { attachmentsOf } from './attachments.js'
import { Composer } from './composer.js'
import { draft, NEW, saveDraft } from './drafts.js'
import { button, el, errorMessage, fill } from './dom.js'
import { forkNotice, forkTurn, inheritedTurns, openRerun } from './branches.js'
import { formatNumber, pageUrl } from './format.js'
import { takeHandoff } from './handoff.js'
import { icon } from './icons.js'
import { toolsFor } from './page-tools.js'
import { contextPicker } from './picker.js'
import { exportJson, exportMarkdown, privateMark, renameSession, switchVisibility, visibilityAction } from './session-actions.js'
import { knownTitle, Sidebar, sidebarSwitch } from './sidebar.js'
import { displayTitle, splitInstruction } from './title.js'
import { isUnknownSession, TurnView } from './turn-view.js'
import { welcome } from './welcome.js'
import { Workspace } from './workspace.js'

/** Turns loaded at a time. */
const PAGE_SIZE = 20

/** @typedef {import('../javascript/src/wire.js').SessionTurn} SessionTurn */

/**
 * @param {import('./connection.js').Connection} connection
 * @param {string[]} parts
 * @returns {import('./main.js').View}
 */
export function chat(connection, [id, suffix]) {
  const { aptix } = connection
  // Leaving the page stops reading. The turn continues and can be resumed.
  const abort = new AbortController()
  const session = aptix.session(id, { signal: abort.signal })
  const isNew = !id || suffix === 'new'
  const draftId = isNew ? NEW : session.id
  const workspace = new Workspace()
  const always = alwaysAllowed(session.id)
  /** Numbers of the turns that are shown, by id. @type {Map<string, number>} */
  const numbers = new Map()
  /** Models that answered. @type {Set<string>} */
  const models = new Set()
  /** @type {TurnView | undefined} */
  let open
  /** @type {import('../javascript/src/wire.js').AgentSession | undefined} */
  let details
  const turns = el('section', { class: 'turns', 'aria-label': 'Conversation' })
  const earlierRow = el('div', { class: 'row' })
  const problem = el('div', {})
  const branch = el('div', {})
  const title = el('h1', {}, isNew ? 'New conversation' : (knownTitle(session.id) ?? 'Conversation'))
  const about = el('p', { class: 'muted about' })
  const picker = contextPicker(connection, isNew)
  const stop = () => open?.stop().catch((error) => fill(problem, errorMessage(error)))
  const composer = new Composer({ send, stop, saveDraft: (text) => saveDraft(draftId, text) }, picker.node)
  const sidebar = new Sidebar(connection, session.id, () => void showSession().catch(() => {}))
  const column = el('div', { class: 'chat' })
  const node = el('div', { class: 'chat-page' }, sidebar.node, column)
  const { toggle, change: toggleSidebar } = sidebarSwitch(node)
  const allowed = el('div', { class: 'row' })
  const visibility = el('span', { class: 'row visibility' })
  const head = el('div', { class: 'row head' }, toggle, title, visibility, el('span', { class: 'spacer' }), newChatLink())
  const start = welcome(connection, { send: (text) => send({ text, files: [], images: [] }), write })
  start.hidden = !isNew
  column.append(head, about, branch, earlierRow, turns, start, problem, el('div', { class: 'composer-area' }, allowed, composer.node))
  composer.enableDrop(column)

  // Only scroll along if the reader is at the end.
  let isAtEnd = true
  const updateIsAtEnd = () => (isAtEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 40)
  addEventListener('scroll', updateIsAtEnd, { signal: abort.signal })

  /** @type {import('./turn-view.js').TurnContext} */
  const context = {
    connection,
    session,
    tools: toolsFor(workspace),
    always,
    rerun,
    fork: (turnId) => forkTurn(session, turnId, details?.Name ?? ''),
    turnLabel: (turnId) => (numbers.has(turnId) ? `turn ${numbers.get(turnId)}` : 'an earlier turn'),
    onUpdate() {
      showAllowed()
      if (isAtEnd && node.isConnected) scrollToEnd()
    },
  }

  /** Shows the tools that run without asking. */
  function showAllowed() {
    const names = always.names()
    const ask = () => {
      always.reset()
      showAllowed()
    }
    fill(allowed, names.length > 0 && [el('small', {}, `Runs without asking: ${names.join(', ')}`), button('Ask again', ask, { class: 'ghost' })])
  }

  /**
   * @param {string} turnId
   * @param {string} text
   */
  async function rerun(turnId, text) {
    const names = [...models, ...(await picker.models())]
    openRerun(session, turnId, text, names, (turn, instruction) => follow(new TurnView(context, { id: turn.id, instruction, rerunOf: turnId }), turn))
  }

  /** @param {string} text */
  function write(text) {
    composer.text = text
    saveDraft(draftId, text)
    composer.focus()
  }

  /**
   * @param {TurnView} view
   * @param {import('../javascript/src/index.js').Turn} turn
   */
  async function follow(view, turn) {
    open = view
    start.hidden = true
    composer.isBusy.value = true
    picker.node.hidden = true
    turns.append(view.node)
    await view.follow(turn)
    composer.isBusy.value = false
    if (!node.isConnected) return
    showSession().catch(() => {})
    void sidebar.refresh()
  }

  /** @param {import('./composer.js').Message} message */
  function send({ text, files: sent, images }) {
    if (composer.isBusy.value) return
    fill(problem)
    workspace.add(sent)
    const turn = session.send(text, { files: sent, images, ...picker.values() })
    const view = new TurnView(context, { id: turn.id, instruction: text, attachments: attachmentsOf(sent, images) })
    // The URL contains the session's id after its first turn, so that a reload shows it.
    history.replaceState(undefined, '', pageUrl('chat', session.id))
    if (!open) title.textContent = displayTitle(text || 'Conversation')
    follow(view, turn).then(() => composer.focus())
    scrollToEnd()
  }

  async function showSession() {
    details = await session.read({ pageSize: 1 })
    const { Name, Mode, TotalUsage, TotalCosts, AgentContextName, ConversationContextName, IsDeleted } = details
    title.textContent = displayTitle(Name)
    title.title = splitInstruction(Name).text
    const costs = (TotalCosts ?? []).map(({ Amount, Currency }) => `${Amount} ${Currency}`)
    const parts = [
      AgentContextName,
      ConversationContextName !== AgentContextName && ConversationContextName,
      `Mode ${Mode}`,
      TotalUsage && `${formatNumber(TotalUsage.TotalTokens)} tokens`,
      ...costs,
      IsDeleted && 'deleted',
    ]
    about.textContent = parts.filter(Boolean).join(' · ')
    showVisibility(details)
    await showOrigin(details)
  }

  /** @param {import('../javascript/src/wire.js').AgentSession} session */
  function showVisibility(session) {
    const changed = () => void Promise.all([showSession(), sidebar.refresh()]).catch(showError)
    const change = button(visibilityAction(session), () => switchVisibility(aptix, session, changed), { class: 'ghost' })
    fill(visibility, privateMark(session), !session.IsDeleted && change)
  }

  /** @param {import('../javascript/src/wire.js').AgentSession} session */
  async function showOrigin({ ForkedFrom }) {
    if (!ForkedFrom || branch.hasChildNodes()) return
    const origin = /** @type {{ SessionId: string, TurnId: string }} */ (ForkedFrom)
    const inherited = el('div', { class: 'inherited' })
    fill(branch, forkNotice(origin), inherited)
    fill(inherited, await inheritedTurns(context, aptix.session(origin.SessionId, { signal: abort.signal }), origin.TurnId))
    context.onUpdate()
  }

  /** @param {SessionTurn} turn */
  function createView(turn) {
    numbers.set(turn.Id, turn.SequenceNumber)
    if (typeof turn.OpenAIModel === 'string') models.add(turn.OpenAIModel)
    const rerunOf = /** @type {string | undefined} */ (turn.RerunOfTurnId)
    return new TurnView(context, { id: turn.Id, instruction: turn.InstructionSummary, rerunOf })
  }

  async function load() {
    const newest = session.turns({ order: 'desc' })
    const loadMore = async () => {
      /** @type {SessionTurn[]} */
      const page = []
      while (page.length < PAGE_SIZE) {
        const { value, done } = await newest.next()
        if (done) break
        page.unshift(value)
      }
      const finished = page.filter(({ Status }) => Status.Id !== 'pending').map((turn) => ({ turn, view: createView(turn) }))
      turns.prepend(el('div', { class: 'turns-page' }, finished.map(({ view }) => view.node)))
      finished.forEach(({ turn, view }) => view.showFinished(turn))
      fill(earlierRow, page.length === PAGE_SIZE && button('Earlier turns', loadMore))
      return page.find(({ Status }) => Status.Id === 'pending')
    }
    const pending = await loadMore()
    await showSession()
    scrollToEnd()
    picker.node.hidden = true
    showAllowed()
    if (pending) {
      const view = createView(pending)
      turns.append(view.node)
      await view.showEarlierRounds()
      await follow(view, session.resume({ turnId: pending.Id }))
    }
  }

  const showLoadError = (/** @type {unknown} */ error) => {
    if (isUnknownSession(error)) start.hidden = false
    else fill(problem, errorMessage(error))
  }
  if (!isNew) load().catch(showLoadError)
  composer.text = takeHandoff('draft') ?? draft(draftId)
  queueMicrotask(() => composer.focus())
  const name = () => ({ Id: session.id, Name: details?.Name ?? '' })
  async function rename() {
    await showSession()
    const { Description, Category } = /** @type {{ Description?: string, Category?: string }} */ (details)
    renameSession(aptix, { ...name(), Description, Category }, () => void Promise.all([showSession(), sidebar.refresh()]).catch(showError))
  }
  const showError = (/** @type {unknown} */ error) => fill(problem, errorMessage(error))
  /** @type {import('./palette.js').Command[]} */
  const commands = [
    { label: 'Write a message', icon: 'edit', keys: '/', action: () => composer.focus() },
    { label: 'Attach files and images', icon: 'attach', action: () => composer.attach() },
    { label: 'Choose agent and model', icon: 'spark', action: () => (isNew && !open ? picker.open() : (location.hash = pageUrl('chat', aptix.session().id, 'new'))) },
    { label: 'Stop the answer', icon: 'close', keys: 'Ctrl+.', action: stop },
    { label: 'Show or hide sessions', icon: 'panel', keys: 'Ctrl+B', action: toggleSidebar },
    { label: 'Rename this session', icon: 'edit', action: () => rename().catch(showError) },
    { label: 'Change who sees this session', icon: 'lock', action: () => details && switchVisibility(aptix, details, () => void Promise.all([showSession(), sidebar.refresh()]).catch(showError)) },
    { label: 'Export this session as Markdown', icon: 'download', action: () => exportMarkdown(aptix, name()).catch(showError) },
    { label: 'Export this session as JSON', icon: 'download', action: () => exportJson(connection, name()).catch(showError) },
  ]
  const list = () => sidebar.sessions.map(({ Id, Name }) => ({ label: displayTitle(Name), icon: /** @type {const} */ ('file'), action: () => (location.hash = pageUrl('chat', Id)) }))
  return { title: 'Chat', node, commands: () => [...commands, ...list()], dispose: () => abort.abort() }

  function newChatLink() {
    const href = pageUrl('chat', aptix.session().id, 'new')
    return el('a', { href, class: 'button new-chat', 'aria-label': 'New chat', title: 'New chat', hidden: isNew }, icon('plus'))
  }
}

const scrollToEnd = () => scrollTo({ top: document.documentElement.scrollHeight })
