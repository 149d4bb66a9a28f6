/**
 * The console: which page is shown, and who is asked in whose name.
 *
 * @module
 */

import { agents } from './agents.js'
import { chat } from './chat.js'
import { Connection } from './connection.js'
import { button, el, failure, fill } from './dom.js'
import { local } from './local.js'
import { playground } from './playground.js'
import { sessions } from './sessions.js'
import { trace } from './trace.js'
import { whoAmI } from './who.js'

/**
 * What a page is made of; `end` is called when another one takes its place.
 * @typedef {{ title: string, node: HTMLElement, end?: () => void }} View
 * @typedef {(connection: Connection, parts: string[]) => View} Page
 */

/**
 * Which pages there are, and with what behind them.
 * @type {Record<string, { label: string, page: Page, isThere?: (config: import('./connection.js').Config) => boolean }>}
 */
const PAGES = {
  chat: { label: 'Chat', page: chat },
  sessions: { label: 'Sessions', page: sessions },
  trace: { label: 'Trace', page: trace, isThere: () => false },
  agents: { label: 'Agents', page: agents, isThere: ({ IsLocal }) => IsLocal },
  playground: { label: 'Playground', page: playground, isThere: ({ IsMock }) => IsMock },
  local: { label: 'Local', page: local, isThere: ({ IsLocal }) => IsLocal },
}

const main = /** @type {HTMLElement} */ (document.querySelector('main'))
const nav = /** @type {HTMLElement} */ (document.querySelector('nav'))
const who = /** @type {HTMLButtonElement} */ (document.getElementById('who'))
/** @type {View | undefined} */
let shown

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
  const [name = '', ...parts] = location.hash.replace(/^#\/?/, '').split('/').map(decoded)
  const isKnown = Object.hasOwn(PAGES, name)
  const { page } = /** @type {{ page: Page }} */ (isKnown ? PAGES[name] : PAGES.chat)
  const isFirst = shown === undefined
  shown?.end?.()
  shown = page(connection, isKnown ? parts : [])
  document.title = `${shown.title} – Aptix`
  fill(main, shown.node)
  for (const link of nav.querySelectorAll('a')) {
    const isHere = link.hash === `#/${isKnown ? name : 'chat'}`
    if (isHere) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
  // Whoever goes to another page by keyboard, or hears it read, goes on there.
  if (!isFirst && !main.contains(document.activeElement)) main.focus()
}

async function start() {
  // Its address names the content, which is no page of its own.
  document.querySelector('.skip')?.addEventListener('click', (event) => {
    event.preventDefault()
    main.focus()
  })
  const connection = await Connection.open()
  const pages = Object.entries(PAGES).filter(([, { isThere }]) => isThere?.(connection.config) ?? true)
  fill(
    nav,
    pages.map(([name, { label }]) => el('a', { href: `#/${name}` }, label)),
    connection.config.IsLocal && el('a', { href: '/docs' }, 'API'),
  )
  await whoAmI(connection, who)
  if (connection.isUnknown) return
  addEventListener('hashchange', () => show(connection))
  show(connection)
}

start().catch((error) => {
  fill(
    main,
    el('h1', {}, 'The console has nobody to ask'),
    failure(error),
    button('Try again', () => location.reload()),
  )
})
