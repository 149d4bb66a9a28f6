/**
 * The chat's sidebar: the caller's sessions by day, with search, pins and a menu for each.
 *
 * @module
 */

import { button, el, errorMessage, fill, iconButton } from './dom.js'
import { pageUrl, timestamp } from './format.js'
import { icon } from './icons.js'
import { openMenu } from './menu.js'
import { searchHit } from './session-match.js'
import { deleteSession, exportJson, exportMarkdown, privateMark, renameSession, switchVisibility, visibilityAction } from './session-actions.js'
import { groupSessions, pins, togglePin } from './session-groups.js'
import { displayTitle } from './title.js'
import { markRead, unreadTest } from './read-marks.js'

/** Sessions loaded at a time. */
const PAGE_SIZE = 40
/** Pinned sessions that are read beside the listed ones, at most. */
const MAX_PINNED = 20
const SEARCH_DELAY_MS = 250
/** Interval at which the list is loaded again while a listed turn runs. */
const RUNNING_INTERVAL_MS = 4_000
/** Interval otherwise: other tabs and clients take turns too. */
const IDLE_INTERVAL_MS = 30_000
const HIDDEN_KEY = 'aptix-console:sidebar-hidden'
/** Width from which the sidebar is beside the chat. */
const WIDE = '(min-width: 60.01rem)'

/** @typedef {import('../javascript/src/wire.js').SessionSummary} Summary */

/** The sessions as last loaded, shown until they are loaded again. @type {Summary[]} */
let known = []

/**
 * Returns the title of a session that the sidebar has loaded.
 * @param {string} id
 */
export function knownTitle(id) {
  const session = known.find(({ Id }) => Id === id)
  return session && displayTitle(session.Name)
}

export class Sidebar {
  #connection
  #list = el('div', { class: 'sidebar-list' })
  #search = el('input', { type: 'search', placeholder: 'Search sessions', 'aria-label': 'Search sessions', maxlength: 256 })
  #limit = PAGE_SIZE
  #isScrolled = false
  #loadNumber = 0
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #poll

  /**
   * @param {import('./connection.js').Connection} connection
   * @param {string} currentId
   * @param {() => void} onChange called after the current session was renamed or deleted
   */
  constructor(connection, currentId, onChange) {
    this.#connection = connection
    this.currentId = currentId
    this.onChange = onChange
    const newChat = el('a', { class: 'button', href: pageUrl('chat', connection.aptix.session().id, 'new') }, icon('plus'), 'New chat')
    this.node = el('aside', { class: 'sidebar', id: 'sidebar', 'aria-label': 'Your sessions' }, newChat, this.#search, this.#list)
    for (const event of ['wheel', 'touchmove', 'keydown']) this.#list.addEventListener(event, () => (this.#isScrolled = true), { passive: true })
    this.#search.addEventListener('input', () => {
      clearTimeout(this.#timer)
      this.#timer = setTimeout(() => void this.refresh(), SEARCH_DELAY_MS)
    })
    if (known.length > 0) this.#show(known, false)
    void this.refresh()
  }

  /** Sessions as last loaded. */
  get sessions() {
    return known
  }

  focusSearch() {
    this.#search.focus()
  }

  /** Loads the sessions again. Never rejects. */
  async refresh() {
    clearTimeout(this.#poll)
    const loadNumber = ++this.#loadNumber
    const words = this.#search.value.trim()
    try {
      const userId = String((await this.#connection.claims()).sub ?? '') || undefined
      const { aptix } = this.#connection
      const found = words
        ? await take(aptix.sessions.search(words, { userId, pageSize: PAGE_SIZE }), PAGE_SIZE)
        : await take(aptix.sessions.list({ userId, pageSize: PAGE_SIZE }), this.#limit)
      if (loadNumber !== this.#loadNumber) return
      if (words) this.#showMatches(/** @type {import('../javascript/src/wire.js').SessionMatch[]} */ (found.items))
      else {
        const listed = /** @type {Summary[]} */ (found.items)
        const pinned = await this.#pinnedBeside(listed)
        if (loadNumber !== this.#loadNumber) return
        this.#show((known = [...listed, ...pinned]), found.hasMore)
        const isRunning = known.some(({ LastTurnStatus }) => LastTurnStatus === 'pending')
        this.#refreshLater(isRunning ? RUNNING_INTERVAL_MS : IDLE_INTERVAL_MS)
      }
    } catch (error) {
      if (loadNumber === this.#loadNumber) fill(this.#list, errorMessage(error))
    }
  }

  /**
   * Loads the list again, unless the page is hidden or the user has opened a menu of it meanwhile.
   * @param {number} ms
   */
  #refreshLater(ms) {
    if (!this.node.isConnected) return
    this.#poll = setTimeout(() => {
      const isBusy = document.hidden || this.#list.querySelector('[aria-expanded="true"]')
      if (isBusy) this.#refreshLater(ms)
      else void this.refresh()
    }, ms)
  }

  /**
   * Reads the pinned sessions that are older than the listed ones. Those that the caller can't read are left out.
   * @param {Summary[]} listed
   */
  async #pinnedBeside(listed) {
    const ids = pins().filter((id) => !listed.some(({ Id }) => Id === id))
    const read = ids.slice(0, MAX_PINNED).map((id) => this.#connection.aptix.session(id).read({ pageSize: 1 }).catch(() => undefined))
    const found = (await Promise.all(read)).filter((session) => session !== undefined && !session.IsDeleted)
    return /** @type {Summary[]} */ (/** @type {unknown} */ (found))
  }

  /**
   * @param {Summary[]} sessions
   * @param {boolean} hasMore
   */
  #show(sessions, hasMore) {
    const groups = groupSessions(sessions, pins(), new Date()).map(({ label, sessions: members }) => [
      el('h2', {}, label),
      el('ul', {}, members.map((session) => this.#item(session))),
    ])
    const loadMore = async () => {
      this.#limit += PAGE_SIZE
      await this.refresh()
    }
    const focused = /** @type {HTMLAnchorElement | null} */ (this.#list.querySelector('a:focus'))?.hash
    fill(this.#list, groups.flat(), hasMore && button('Show more', loadMore, { class: 'ghost' }))
    if (focused) [...this.#list.querySelectorAll('a')].find(({ hash }) => hash === focused)?.focus()
    if (sessions.length === 0) fill(this.#list, el('p', { class: 'muted' }, 'Your conversations will be listed here.'))
    // The current session is in view, unless the user has scrolled the list.
    const current = this.#list.querySelector('.current')
    if (!current || this.#isScrolled) return
    const [item, list] = [current.getBoundingClientRect(), this.#list.getBoundingClientRect()]
    if (item.top < list.top || item.bottom > list.bottom) this.#list.scrollTop += item.top - list.top - list.height / 2
  }

  /** @param {import('../javascript/src/wire.js').SessionMatch[]} found */
  #showMatches(found) {
    const items = found.map((session) => {
      const { href, excerpt } = searchHit(session)
      return el('li', { class: 'found' }, el('a', { href }, displayTitle(session.Session.Name)), excerpt)
    })
    fill(this.#list, items.length > 0 ? el('ul', {}, items) : el('p', { class: 'muted' }, 'No sessions match.'))
  }

  /** @param {Summary} session */
  #item(session) {
    const { Id, Name, LastTurnStatus, LastTurnDate, LastUpdatedDate } = session
    const title = displayTitle(Name)
    const isCurrent = Id === this.currentId
    const when = timestamp(LastTurnDate ?? LastUpdatedDate)
    const link = el('a', { href: pageUrl('chat', Id), title: `${title}\n${when ? when.textContent : ''}`, 'aria-current': isCurrent ? 'page' : undefined, dir: 'auto' }, title)
    const date = LastTurnDate ?? LastUpdatedDate
    if (isCurrent && !document.hidden) markRead(Id, date)
    const isUnread = !isCurrent && unreadTest()(Id, date) && LastTurnStatus !== 'pending'
    const state = { pending: 'running', failed: 'failed' }[String(LastTurnStatus)] ?? (isUnread ? 'unread' : undefined)
    const dot = state && el('span', { class: `dot ${state}`, role: 'img', 'aria-label': state, title: state })
    const menu = el('button', { type: 'button', class: 'icon-button', 'aria-label': `Actions for ${title}`, 'aria-haspopup': 'menu', 'aria-expanded': 'false' }, icon('more'))
    menu.addEventListener('click', () => openMenu(menu, this.#actions(session)))
    return el('li', { class: isCurrent ? 'current' : undefined }, link, privateMark(session), dot, menu)
  }

  /**
   * @param {Summary} session
   * @returns {import('./menu.js').MenuItem[]}
   */
  #actions(session) {
    const { aptix } = this.#connection
    const changed = () => {
      void this.refresh()
      if (session.Id === this.currentId) this.onChange()
    }
    const pin = () => {
      togglePin(session.Id)
      void this.refresh()
    }
    const showError = (/** @type {unknown} */ error) => this.#list.prepend(errorMessage(error))
    return [
      { label: pins().includes(session.Id) ? 'Unpin' : 'Pin', icon: 'pin', action: pin },
      { label: 'Rename', icon: 'edit', action: () => renameSession(aptix, session, changed) },
      { label: visibilityAction(session), icon: session.Visibility === 'participants' ? 'org' : 'lock', action: () => switchVisibility(aptix, session, changed) },
      { label: 'Export as Markdown', icon: 'download', action: () => exportMarkdown(aptix, session).catch(showError) },
      { label: 'Export as JSON', icon: 'download', action: () => exportJson(this.#connection, session).catch(showError) },
      { label: 'Delete', icon: 'trash', isDangerous: true, action: () => deleteSession(aptix, session, changed) },
    ]
  }
}

/**
 * Creates the button that shows and hides the sidebar, and the area beside it that hides it on narrow screens.
 * @param {HTMLElement} page element with the sidebar
 */
export function sidebarSwitch(page) {
  const wide = matchMedia(WIDE)
  const show = (/** @type {boolean} */ isShown) => {
    page.classList.toggle('no-sidebar', !isShown)
    toggle.setAttribute('aria-expanded', String(isShown))
  }
  const change = () => {
    const isShown = page.classList.contains('no-sidebar')
    show(isShown)
    if (wide.matches) localStorage.setItem(HIDDEN_KEY, String(!isShown))
  }
  const toggle = iconButton('panel', 'Show or hide sessions', change, { 'aria-controls': 'sidebar' })
  page.append(el('button', { type: 'button', class: 'scrim', 'aria-label': 'Hide sessions', tabindex: -1, onclick: change }))
  const reset = () => show(wide.matches && localStorage.getItem(HIDDEN_KEY) !== 'true')
  // The sidebar of a wide window would be a drawer over the chat of a narrow one.
  const resize = () => (page.isConnected ? reset() : wide.removeEventListener('change', resize))
  wide.addEventListener('change', resize)
  reset()
  return { toggle, change }
}

/**
 * Reads at most `limit` items.
 * @template T
 * @param {AsyncGenerator<T, void, void>} items
 * @param {number} limit
 */
async function take(items, limit) {
  /** @type {T[]} */
  const found = []
  for await (const item of items) {
    if (found.length === limit) return { items: found, hasMore: true }
    found.push(item)
  }
  return { items: found, hasMore: false }
}
