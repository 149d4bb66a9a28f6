/**
 * Entry point of the console: connects to the API and routes between pages.
 *
 * @module
 */

import { chat } from './chat.js'
import { Connection, consoleKey } from './connection.js'
import { button, el, errorMessage, fill } from './dom.js'
import { pageUrl } from './format.js'
import { icon } from './icons.js'
import { openMenu } from './menu.js'
import { openPalette, openShortcuts } from './palette.js'
import { watchReachability } from './reachability.js'
import { searchHit } from './session-match.js'
import { keyLabel, pressedKeys } from './shortcuts.js'
import { applyTheme, setTheme, themeSwitch, toggleTheme } from './theme.js'
import { displayTitle } from './title.js'
import { initIdentityButton, signInPage, watchSignIn } from './identity.js'

/**
 * A rendered page. `commands` are its commands in the palette. `dispose` is called when another page replaces it.
 * @typedef {{ title: string, node: HTMLElement, commands?: () => import('./palette.js').Command[], dispose?: () => void }} View
 * @typedef {(connection: Connection, parts: string[]) => View} Page
 */

/**
 * Returns a page whose modules are loaded when it is opened, so that the first page doesn't wait for them.
 * @param {() => Promise<Page>} load
 * @returns {Page}
 */
function onDemand(load) {
  return (connection, parts) => {
    const node = el('div', {})
    let isDisposed = false
    /** @type {View | undefined} */
    let view
    const open = async () => {
      const page = await load()
      if (isDisposed) return
      view = page(connection, parts)
      node.replaceWith(view.node)
      showTitle(view.title)
    }
    open().catch((error) => fill(node, el('h1', {}, "Can't load the page"), errorMessage(error), button('Try again', () => location.reload())))
    return {
      title: 'Console',
      node,
      commands: () => view?.commands?.() ?? [],
      dispose() {
        isDisposed = true
        view?.dispose?.()
      },
    }
  }
}

/** @param {string} title of the current page */
const showTitle = (title) => (document.title = `${title} – Aptix`)

/**
 * All pages, and the configurations in which they are available.
 * @type {Record<string, { label: string, page: Page, isAvailable?: (config: import('./connection.js').Config) => boolean }>}
 */
const PAGES = {
  chat: { label: 'Chat', page: chat },
  sessions: { label: 'Sessions', page: onDemand(async () => (await import('./sessions.js')).sessions) },
  approvals: { label: 'Approvals', page: onDemand(async () => (await import('./approvals.js')).approvals) },
  trace: { label: 'Trace', page: onDemand(async () => (await import('./trace.js')).trace), isAvailable: () => false },
  compare: { label: 'Compare', page: onDemand(async () => (await import('./compare.js')).compare), isAvailable: () => false },
  usage: { label: 'Usage', page: onDemand(async () => (await import('./usage.js')).usage) },
  agents: { label: 'Agents', page: onDemand(async () => (await import('./agents.js')).agents) },
  connections: { label: 'Connections', page: onDemand(async () => (await import('./connections.js')).connections) },
  webhooks: { label: 'Webhooks', page: onDemand(async () => (await import('./webhooks.js')).webhooks) },
  knowledge: { label: 'Knowledge', page: onDemand(async () => (await import('./knowledge.js')).knowledge) },
  modes: { label: 'Modes', page: onDemand(async () => (await import('./modes.js')).modes) },
  operations: { label: 'Operations', page: onDemand(async () => (await import('./operations.js')).operations) },
  playground: { label: 'Playground', page: onDemand(async () => (await import('./playground.js')).playground), isAvailable: ({ IsMock }) => IsMock },
  local: { label: 'Local', page: onDemand(async () => (await import('./local.js')).local), isAvailable: ({ IsLocal }) => IsLocal },
}

/** Sessions that the palette finds by their contents. */
const MAX_FOUND = 10

const main = /** @type {HTMLElement} */ (document.querySelector('main'))
const nav = /** @type {HTMLElement} */ (document.querySelector('nav'))
const pagesButton = /** @type {HTMLButtonElement} */ (document.getElementById('pages'))
const identityButton = /** @type {HTMLButtonElement} */ (document.getElementById('identity'))
/** @type {View | undefined} */
let currentView

/** @param {string} part */
function decoded(part) {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** @param {Connection} connection */
function show(connection) {
  consoleKey()
  const [name = '', ...parts] = location.hash.replace(/^#\/?/, '').split('/').map(decoded)
  const isPage = Object.hasOwn(PAGES, name)
  const { page } = /** @type {{ page: Page }} */ (isPage ? PAGES[name] : PAGES.chat)
  const isFirst = currentView === undefined
  currentView?.dispose?.()
  currentView = page(connection, isPage ? parts : [])
  document.body.dataset.page = isPage ? name : 'chat'
  showTitle(currentView.title)
  fill(main, currentView.node)
  for (const link of nav.querySelectorAll('a')) {
    const isCurrent = link.hash === `#/${isPage ? name : 'chat'}`
    if (isCurrent) {
      link.setAttribute('aria-current', 'page')
      // Between a phone and a wide window the bar scrolls.
      nav.scrollLeft = link.offsetLeft + link.offsetWidth / 2 - nav.offsetLeft - nav.offsetWidth / 2
    } else link.removeAttribute('aria-current')
  }
  const { label } = /** @type {{ label: string }} */ (PAGES[document.body.dataset.page])
  pagesButton.ariaLabel = `Pages: ${label}`
  fill(pagesButton, icon('menu'), label)
  // Keyboard and screen reader users continue on the new page.
  if (!isFirst && !main.contains(document.activeElement)) main.focus()
}

/**
 * Returns the commands of every page, and those of the current one.
 * @param {Connection} connection
 * @returns {import('./palette.js').Command[]}
 */
function commands(connection) {
  const go = (/** @type {string} */ hash) => () => (location.hash = hash)
  return [
    { label: 'New chat', icon: 'plus', keys: 'Ctrl+Shift+O', action: () => (location.hash = pageUrl('chat', connection.aptix.session().id, 'new')) },
    ...(currentView?.commands?.() ?? []),
    ...[...nav.querySelectorAll('a')].filter(({ hash }) => hash).map(({ hash, textContent }) => ({ label: `Go to ${textContent}`, icon: /** @type {const} */ ('trace'), action: go(hash) })),
    { label: 'Change the theme', icon: 'moon', keys: 'Ctrl+Shift+L', action: toggleTheme },
    { label: 'Theme of the system', icon: 'system', action: () => setTheme('system') },
    { label: 'Light theme', icon: 'sun', action: () => setTheme('light') },
    { label: 'Dark theme', icon: 'moon', action: () => setTheme('dark') },
    { label: 'Commands and sessions', icon: 'search', keys: 'Ctrl+K', action: () => openPalette(commands(connection), (words) => searchContents(connection, words)) },
    { label: 'Keyboard shortcuts', icon: 'edit', keys: '?', action: () => openShortcuts(commands(connection)) },
  ]
}

/**
 * Searches the contents of sessions for the palette.
 * @param {Connection} connection
 * @param {string} words
 */
async function searchContents(connection, words) {
  /** @type {import('./palette.js').Command[]} */
  const found = []
  for await (const session of connection.aptix.sessions.search(words, { pageSize: MAX_FOUND })) {
    const { href, excerpt } = searchHit(session)
    found.push({ label: displayTitle(session.Session.Name), icon: 'file', about: excerpt, action: () => (location.hash = href) })
    if (found.length === MAX_FOUND) break
  }
  return found
}

/** @param {Connection} connection */
function initTools(connection) {
  const search = el('button', { type: 'button', class: 'search-button', title: 'Search commands and sessions' }, icon('search'), el('span', {}, 'Search'), el('kbd', {}, keyLabel('Ctrl+K')))
  search.addEventListener('click', () => openPalette(commands(connection), (words) => searchContents(connection, words)))
  fill(/** @type {HTMLElement} */ (document.getElementById('tools')), search, themeSwitch())
  applyTheme()
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented || document.querySelector('dialog[open]')) return
    const keys = pressedKeys(event)
    const command = keys && commands(connection).find((candidate) => candidate.keys === keys)
    if (!command) return
    event.preventDefault()
    command.action()
  })
}

/**
 * Shows the sign-in alone, without pages and commands.
 * @param {import('./hosted-sign-in.js').HostedSignIn} signIn
 */
function showSignIn(signIn) {
  nav.hidden = pagesButton.hidden = true
  fill(/** @type {HTMLElement} */ (document.getElementById('tools')), themeSwitch())
  applyTheme()
  showTitle('Sign in')
  fill(main, signInPage(signIn))
}

async function start() {
  // The link's target is the content, which is not a page.
  document.querySelector('.skip')?.addEventListener('click', (event) => {
    event.preventDefault()
    main.focus()
  })
  const connection = await Connection.open()
  const pages = Object.entries(PAGES).filter(([, { isAvailable }]) => isAvailable?.(connection.config) ?? true)
  fill(
    nav,
    pages.map(([name, { label }]) => el('a', { href: `#/${name}` }, label)),
    connection.config.IsLocal && el('a', { href: '/docs' }, 'API'),
  )
  // On a phone the bar has no space for its links.
  pagesButton.addEventListener('click', () =>
    openMenu(
      pagesButton,
      [...nav.querySelectorAll('a')].map((link) => ({ label: link.textContent ?? '', icon: link.ariaCurrent ? 'check' : undefined, action: () => link.click() })),
    ),
  )
  await initIdentityButton(connection, identityButton)
  if (connection.signIn && connection.needsToken) return showSignIn(connection.signIn)
  initTools(connection)
  if (connection.needsToken) return
  if (connection.signIn) watchSignIn(connection.signIn)
  addEventListener('hashchange', () => show(connection))
  show(connection)
  // A page that failed to load is loaded again. A conversation and an editor stay as they are.
  watchReachability(connection, () => {
    if (main.querySelector('.error') && !main.querySelector('article.turn, .contexts-list')) show(connection)
    else dispatchEvent(new Event('focus'))
  })
}

start().catch((error) => {
  // The link with the key changes the fragment only, which loads nothing.
  addEventListener('hashchange', () => location.reload())
  fill(
    main,
    el('h1', {}, error?.status === 403 ? 'Open the console with its link' : "Can't reach the API"),
    errorMessage(error),
    button('Try again', () => location.reload()),
  )
})
