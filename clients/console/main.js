/**
 * Entry point of the console: connects to the API and routes between pages.
 *
 * @module
 */

import { agents } from './agents.js'
import { chat } from './chat.js'
import { Connection, consoleKey } from './connection.js'
import { button, el, errorMessage, fill } from './dom.js'
import { local } from './local.js'
import { playground } from './playground.js'
import { sessions } from './sessions.js'
import { trace } from './trace.js'
import { initIdentityButton } from './identity.js'

/**
 * A rendered page. `dispose` is called when another page replaces it.
 * @typedef {{ title: string, node: HTMLElement, dispose?: () => void }} View
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
  agents: { label: 'Agents', page: agents, isAvailable: ({ IsLocal }) => IsLocal },
  playground: { label: 'Playground', page: playground, isAvailable: ({ IsMock }) => IsMock },
  local: { label: 'Local', page: local, isAvailable: ({ IsLocal }) => IsLocal },
}

const main = /** @type {HTMLElement} */ (document.querySelector('main'))
const nav = /** @type {HTMLElement} */ (document.querySelector('nav'))
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
  document.title = `${currentView.title} – Aptix`
  fill(main, currentView.node)
  for (const link of nav.querySelectorAll('a')) {
    const isCurrent = link.hash === `#/${isPage ? name : 'chat'}`
    if (isCurrent) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
  // Keyboard and screen reader users continue on the new page.
  if (!isFirst && !main.contains(document.activeElement)) main.focus()
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
  await initIdentityButton(connection, identityButton)
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
