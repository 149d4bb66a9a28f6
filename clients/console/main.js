/**
 * Entry point of the console: connects to the API and routes between pages.
 *
 * @module
 */

import { agents } from './agents.js'
import { chat } from './chat.js'
import { compare } from './compare.js'
import { Connection, consoleKey } from './connection.js'
import { button, el, errorMessage, fill } from './dom.js'
import { pageUrl } from './format.js'
import { icon } from './icons.js'
import { local } from './local.js'
import { openMenu } from './menu.js'
import { modes } from './modes.js'
import { operations } from './operations.js'
import { openPalette, openShortcuts } from './palette.js'
import { playground } from './playground.js'
import { sessions } from './sessions.js'
import { keyLabel, pressedKeys } from './shortcuts.js'
import { applyTheme, setTheme, themeSwitch, toggleTheme } from './theme.js'
import { trace } from './trace.js'
import { usage } from './usage.js'
import { initIdentityButton } from './identity.js'

/**
 * A rendered page. `commands` are its commands in the palette. `dispose` is called when another page replaces it.
 * @typedef {{ title: string, node: HTMLElement, commands?: () => import('./palette.js').Command[], dispose?: () => void }} View
 * @typedef {(connection: Connection, parts: string[]) => View} Page
 */

/**
 * All pages, and the configurations in which they are available.
 * @type {Record<string, { label: string, page: Page, isAvailable?: (config: import('./connection.js').Config) => boolean }>}
 */
const PAGES = {
  chat: { label: 'Chat', page: chat },
  sessions: { label: 'Sessions', page: sessions },
  trace: { label: 'Trace', page: trace, isAvailable: () => false },
  compare: { label: 'Compare', page: compare, isAvailable: () => false },
  usage: { label: 'Usage', page: usage },
  agents: { label: 'Agents', page: agents },
  modes: { label: 'Modes', page: modes },
  operations: { label: 'Operations', page: operations },
  playground: { label: 'Playground', page: playground, isAvailable: ({ IsMock }) => IsMock },
  local: { label: 'Local', page: local, isAvailable: ({ IsLocal }) => IsLocal },
}

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
  document.title = `${currentView.title} – Aptix`
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
    { label: 'Commands and sessions', icon: 'search', keys: 'Ctrl+K', action: () => openPalette(commands(connection)) },
    { label: 'Keyboard shortcuts', icon: 'edit', keys: '?', action: () => openShortcuts(commands(connection)) },
  ]
}

/** @param {Connection} connection */
function initTools(connection) {
  const search = el('button', { type: 'button', class: 'search-button', title: 'Search commands and sessions' }, icon('search'), el('span', {}, 'Search'), el('kbd', {}, keyLabel('Ctrl+K')))
  search.addEventListener('click', () => openPalette(commands(connection)))
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
  initTools(connection)
  if (connection.needsToken) return
  addEventListener('hashchange', () => show(connection))
  show(connection)
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
