/**
 * A banner while the API can't be reached, and the return of the page afterwards.
 *
 * @module
 */

import { AptixError } from '../javascript/src/index.js'
import { announce, el } from './dom.js'

/** Event on the window: a request got no response. */
const UNREACHABLE = 'aptix:unreachable'
const POLL_INTERVAL_MS = 2_000

/**
 * Sends a request. Throws an error with words if there is no response.
 * @param {URL | string} url
 * @param {RequestInit} init
 */
export async function reach(url, init) {
  try {
    return await fetch(url, init)
  } catch (error) {
    init.signal?.throwIfAborted()
    dispatchEvent(new Event(UNREACHABLE))
    throw AptixError.unreachable(new URL(url, location.href).origin, error)
  }
}

/**
 * Shows the banner while the API can't be reached.
 * @param {import('./connection.js').Connection} connection
 * @param {() => void} onReturn called once the API responds again
 */
export function watchReachability(connection, onReturn) {
  const banner = el('div', { class: 'notice warn unreachable', role: 'status', hidden: true })
  document.querySelector('main')?.before(banner)
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer
  const isReached = () => connection.read('api/ai/agent/sessions?pageSize=1').then(
    () => true,
    (error) => error.code !== 'Unreachable',
  )
  const check = async () => {
    if (navigator.onLine && (await isReached())) {
      timer = undefined
      banner.hidden = true
      announce('Connected again.')
      onReturn()
    } else timer = setTimeout(check, POLL_INTERVAL_MS)
  }
  const show = () => {
    const { IsLocal } = connection.config
    const reason = !navigator.onLine && !IsLocal ? 'You are offline.' : IsLocal ? `The local cloud at ${location.origin} doesn't respond. Start it again with aptix up, in the same folder.` : `The API at ${new URL(connection.api).origin} doesn't respond.`
    const text = `${reason} This page continues by itself as soon as it does. What you wrote is kept.`
    if (banner.hidden || banner.textContent !== text) banner.textContent = text
    banner.hidden = false
    timer ??= setTimeout(check, POLL_INTERVAL_MS)
  }
  addEventListener(UNREACHABLE, show)
  addEventListener('offline', () => !connection.config.IsLocal && show())
}
