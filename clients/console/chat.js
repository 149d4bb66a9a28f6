/**
 * The chat page: one conversation, with the caller's sessions beside it.
 *
 * @module
 */

import { alwaysAllowed } from './always.js'
import { attachmentsOf } from './attachments.js'
import { branchesOf } from './branch-tree.js'
import { Composer } from './composer.js'
import { draft, NEW, saveDraft } from './drafts.js'
import { announce, button, el, errorMessage, fill } from './dom.js'
import { compareReruns, forkNotice, forkTurn, inheritedTurns, openRerun } from './branches.js'
import { formatNumber, pageUrl } from './format.js'
import { takeHandoff } from './handoff.js'
import { icon } from './icons.js'
import { isUnknownSession } from './not-found.js'
import { toolsFor } from './page-tools.js'
import { contextPicker } from './picker.js'
import { exportJson, exportMarkdown, privateMark, renameSession, switchVisibility, visibilityAction } from './session-actions.js'
import { knownTitle, Sidebar, sidebarSwitch } from './sidebar.js'
import { displayTitle, splitInstruction } from './title.js'
import { TurnView } from './turn-view.js'
import { welcome } from './welcome.js'
import { recordedFiles } from './workspace-files.js'
import { Workspace } from './workspace.js'

/** Turns loaded at a time. */
const PAGE_SIZE = 20
/** Pages that a link to a turn loads, at most. */
const MAX_PAGES = 25
/** Time after which a new turn is in the list of sessions. */
const LIST_DELAY_MS = 700
/** Distance to the end from which the page offers to go there. */
const JUMP_DISTANCE_PX = 400
/** Time that a message waits for a look at newer turns. */
const CHECK_TIMEOUT_MS = 3_000

/** @typedef {import('../javascript/src/wire.js').SessionTurn} SessionTurn */

/**
 * @param {import('./connection.js').Connection} connection
 * @param {string[]} parts
 * @returns {import('./main.js').View}
 */
export function chat(connection, [id, suffix, turnId = '']) {
  const { aptix } = connection
  // Leaving the page stops reading. The turn continues and can be resumed.
  const abort = new AbortController()
  const session = aptix.session(id, { signal: abort.signal })
  const isNew = !id || suffix === 'new'
  const draftId = isNew ? NEW : session.id
  const workspace = new Workspace()
  if (!isNew) workspace.loadLater(() => recordedFiles(session))
  const always = alwaysAllowed(session.id)
  /** Views of the turns that are shown, by id. @type {Map<string, TurnView>} */
  const views = new Map()
  /** Stored turns that are shown, by id. @type {Map<string, SessionTurn>} */
  const records = new Map()
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
  const jump = button([icon('latest'), 'Jump to latest'], () => scrollToEnd(), { class: 'jump', hidden: true })
  const composerArea = el('div', { class: 'composer-area' }, jump, allowed, composer.node)
  const head = el('div', { class: 'row head' }, toggle, title, visibility, el('span', { class: 'spacer' }), newChatLink())
  const start = welcome(connection, { send: (text) => send({ text, files: [], images: [] }), write })
  start.hidden = !isNew
  column.append(head, about, branch, earlierRow, turns, start, problem, composerArea)
  composer.enableDrop(column)

  // Only scroll along if the reader is at the end.
  let isAtEnd = true
  const updateIsAtEnd = () => {
    isAtEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 40
    jump.hidden = innerHeight + scrollY >= document.documentElement.scrollHeight - JUMP_DISTANCE_PX
  }
  addEventListener('scroll', updateIsAtEnd, { signal: abort.signal })

  /** @type {import('./turn-view.js').TurnContext} */
  const context = {
    connection,
    session,
    tools: toolsFor(workspace),
    always,
    rerun,
    dropped: (turnId) => branchesOf(records.values()).droppedBy(turnId),
    resend,
    fork: (turnId) => forkTurn(session, turnId, details?.Name ?? ''),
    turnLabel: (turnId) => (records.has(turnId) ? `turn ${records.get(turnId)?.SequenceNumber}` : 'an earlier turn'),
    onRecord(turn) {
      records.set(turn.Id, turn)
      showBranches()
    },
    onUpdate() {
      showAllowed()
      if (!node.isConnected) return
      if (isAtEnd) scrollToEnd()
      else updateIsAtEnd()
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

  /** Marks the turns that the model no longer sees, since the session continues from a rerun. */
  function showBranches() {
    const { outside, start: rerunTurn } = branchesOf(records.values())
    const numbers = new Set(outside.map(({ SequenceNumber }) => SequenceNumber))
    const text = `The model no longer sees this turn: the conversation continues from turn ${rerunTurn?.SequenceNumber}.`
    for (const [id, view] of views) view.showOutside(numbers.has(records.get(id)?.SequenceNumber ?? 0) ? text : undefined)
  }

  /**
   * @param {string} turnId
   * @param {string} text
   */
  async function rerun(turnId, text) {
    if (await showNewer('The rerun was not started.').catch(() => false)) return
    const answered = [...records.values()].flatMap(({ OpenAIModel }) => (typeof OpenAIModel === 'string' ? [OpenAIModel] : []))
    const options = { text, dropped: branchesOf(records.values()).droppedBy(turnId), models: [...answered, ...(await picker.models())] }
    openRerun(options, (variants) => {
      const [first = {}] = variants
      if (variants.length > 1) return compareReruns(session, turnId, variants)
      const turn = session.rerun(turnId, first)
      void follow(new TurnView(context, { id: turn.id, instruction: first.text ?? text, rerunOf: turnId }), turn)
    })
  }

  /** Moves the focus to the message, unless that would open a keyboard on the screen. */
  function focusComposer() {
    if (!matchMedia('(pointer: coarse)').matches) composer.focus({ preventScroll: true })
  }

  /**
   * Changes the message of a turn in place: the turn runs again with it.
   * @param {string} turnId
   * @param {string} text
   */
  async function resend(turnId, text) {
    if (composer.isBusy.value || (await showNewer('The message was not sent again.').catch(() => false))) return
    const turn = session.rerun(turnId, { text })
    void follow(new TurnView(context, { id: turn.id, instruction: text, rerunOf: turnId }), turn)
  }

  /** @param {string} text */
  function write(text) {
    composer.text = text
    saveDraft(draftId, text)
    composer.focus()
  }

  /**
   * Follows a turn to its end. Returns the error if the API refused the turn.
   * @param {TurnView} view
   * @param {import('../javascript/src/index.js').Turn} turn
   */
  async function follow(view, turn) {
    open = view
    views.set(view.id, view)
    start.hidden = true
    composer.isBusy.value = true
    picker.node.hidden = true
    turns.append(view.node)
    // The list shows the running session as soon as the API has it.
    setTimeout(() => node.isConnected && void sidebar.refresh(), LIST_DELAY_MS)
    const refusal = await view.follow(turn)
    composer.isBusy.value = false
    if (!node.isConnected) return undefined
    showSession().catch(() => {})
    void sidebar.refresh()
    return refusal
  }

  /**
   * Takes back a message that the API refused, so that it can be changed and sent again.
   * @param {import('./composer.js').Message} message
   * @param {TurnView} view
   * @param {unknown} refusal
   */
  function takeBack(message, view, refusal) {
    view.node.remove()
    views.delete(view.id)
    fill(problem, errorMessage(refusal))
    composer.restore(message)
    if (views.size > 0) return
    open = undefined
    start.hidden = picker.node.hidden = !isNew
    title.textContent = 'New conversation'
    history.replaceState(undefined, '', pageUrl('chat', session.id, 'new'))
  }

  /**
   * Shows turns that were added in another tab or by somebody else. Returns true if there were any.
   * @param {string} [consequence] what did not happen because of them
   */
  async function showNewer(consequence) {
    if (composer.isBusy.value || views.size === 0) return false
    const newer = await newerTurns(connection, session, views)
    if (newer.length === 0 || composer.isBusy.value) return false
    const running = newer.find(({ Status }) => Status.Id === 'pending')
    const ended = newer.filter((turn) => turn !== running).map((turn) => ({ turn, view: createView(turn) }))
    const text = newerNote(newer)
    const note = el('p', { class: 'newer-line' }, text)
    turns.append(note, ...ended.map(({ view }) => view.node))
    ended.forEach(({ turn, view }) => view.showFinished(turn))
    workspace.loadLater(() => recordedFiles(session))
    announce(text)
    fill(problem, consequence && el('p', { class: 'notice', role: 'alert' }, `${consequence} ${text} Read ${newer.length === 1 ? 'it' : 'them'} first: the model answers after ${newer.length === 1 ? 'it' : 'them'}.`))
    note.scrollIntoView({ block: 'center' })
    if (running) void follow(createView(running), session.resume({ turnId: running.Id }))
    return true
  }
  const showNewerQuietly = () => {
    if (document.visibilityState !== 'visible') return
    void showNewer().catch(() => {})
    void sidebar.refresh()
  }
  addEventListener('focus', showNewerQuietly, { signal: abort.signal })
  document.addEventListener('visibilitychange', showNewerQuietly, { signal: abort.signal })

  let isChecking = false
  /** @param {import('./composer.js').Message} message */
  async function send(message) {
    if (composer.isBusy.value || isChecking) return composer.restore(message)
    isChecking = true
    // Without an answer the message is sent: its own request reports what is wrong.
    const isBehind = await showNewer('Your message was not sent.').catch(() => false)
    isChecking = false
    if (isBehind) composer.restore(message)
    else startTurn(message)
  }

  /** @param {import('./composer.js').Message} message */
  function startTurn({ text, files: sent, images }) {
    fill(problem)
    workspace.add(sent)
    const turn = session.send(text, { files: sent, images, ...picker.values() })
    const view = new TurnView(context, { id: turn.id, instruction: text, attachments: attachmentsOf(sent, images) })
    // The URL contains the session's id after its first turn, so that a reload shows it.
    history.replaceState(undefined, '', pageUrl('chat', session.id))
    if (!open) title.textContent = displayTitle(text || 'Conversation')
    follow(view, turn).then((refusal) => {
      if (refusal) takeBack({ text, files: sent, images }, view, refusal)
      focusComposer()
    })
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
    const change = button([icon(session.Visibility === 'participants' ? 'org' : 'lock'), el('span', {}, visibilityAction(session))], () => switchVisibility(aptix, session, changed), { class: 'ghost visibility', title: visibilityAction(session) })
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
    records.set(turn.Id, turn)
    const rerunOf = /** @type {string | undefined} */ (turn.RerunOfTurnId)
    const view = new TurnView(context, { id: turn.Id, instruction: turn.InstructionSummary, rerunOf })
    views.set(turn.Id, view)
    return view
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
    for (let pages = 1; turnId && !views.has(turnId) && earlierRow.hasChildNodes() && pages < MAX_PAGES; pages++) await loadMore()
    await showSession()
    const target = views.get(turnId)?.node
    if (target) target.scrollIntoView()
    else scrollToEnd()
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
    if (!isUnknownSession(error)) return fill(problem, errorMessage(error))
    title.textContent = 'Session not found'
    fill(about, `No session with the id ${session.id} is visible to you. Check the link, or ask its owner: it may be private, or have reached the end of its retention.`)
    fill(problem, el('p', { class: 'row' }, el('a', { class: 'button primary', href: pageUrl('chat', aptix.session().id, 'new') }, 'New chat'), el('a', { class: 'button', href: '#/sessions' }, 'All sessions')))
    composerArea.hidden = true
  }
  if (!isNew) load().catch(showLoadError)
  composer.text = takeHandoff('draft') ?? draft(draftId)
  queueMicrotask(focusComposer)
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

/**
 * Returns the turns after those that are shown. Asks once, without retries: a message waits for it.
 * @param {import('./connection.js').Connection} connection
 * @param {import('../javascript/src/index.js').Session} session
 * @param {Map<string, unknown>} shown
 */
async function newerTurns(connection, session, shown) {
  /** @type {SessionTurn[]} */
  const newer = []
  const last = await connection.read(`api/ai/agent/sessions/${encodeURIComponent(session.id)}/turns/last`, AbortSignal.timeout(CHECK_TIMEOUT_MS))
  if (shown.has(last.Id)) return newer
  for await (const turn of session.turns({ order: 'desc' })) {
    if (shown.has(turn.Id)) break
    newer.unshift(turn)
  }
  return newer
}

/** @param {SessionTurn[]} newer */
function newerNote(newer) {
  const users = [...new Set(newer.map(({ CreatedByUser }) => CreatedByUser.Text))]
  const [count, are] = newer.length === 1 ? ['1 turn', 'is'] : [`${newer.length} turns`, 'are']
  return `${count} by ${users.join(', ')} ${are} new here, from another tab or client.`
}

const scrollToEnd = () => scrollTo({ top: document.documentElement.scrollHeight })
