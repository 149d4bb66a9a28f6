/**
 * The tools that a server offers, compared with those that the connection has: an operator chooses which to add, change or remove.
 *
 * @module
 */

import { escapeInvisible } from '../javascript/src/patch.js'
import { CONNECTIONS } from './agent-documents.js'
import { announce, button, el, errorMessage, fill } from './dom.js'
import { diffView } from './diff.js'

/**
 * @typedef {{ Name: string, RemoteName: string, Change: 'new' | 'changed' | 'removed' | 'unchanged', Hints?: string[], Description?: string,
 *   Parameters?: unknown, AcceptedDescription?: string, AcceptedParameters?: unknown }} Offer
 * @typedef {{ Outcome: 'compared' | 'accepted' | 'unavailable', Message?: string, Hash?: string, Tools?: Offer[],
 *   Excluded?: { Name: string, Reason: string }[] }} Comparison
 */

const CHANGES = { new: 'new', changed: 'changed', removed: 'no longer offered', unchanged: 'added' }
/** What a server says about a tool. It binds nobody. */
const HINTS = /** @type {Record<string, string>} */ ({ read_only: 'only reads', idempotent: 'may be repeated', destructive: 'destructive', open_world: 'reaches others' })

/**
 * @param {import('./connection.js').Connection} connection
 * @param {() => Promise<string>} prepare saves what is unsaved, and returns the connection's id
 * @param {(id: string) => Promise<void>} onAccepted
 */
export function toolOffers(connection, prepare, onAccepted) {
  const shown = el('div', {})
  const list = button('List the server’s tools', () => compare().catch(showError), { class: 'primary' })
  const node = el('div', { class: 'tool-offers' }, el('div', { class: 'row' }, list, el('small', {}, 'Saves the connection, and asks the server.')), shown)

  const showError = (/** @type {unknown} */ error) => fill(shown, errorMessage(error))
  const refresh = (/** @type {string} */ id, /** @type {object} */ body) => connection.send('POST', `${CONNECTIONS}/${encodeURIComponent(id)}/refresh`, JSON.stringify(body))

  async function compare() {
    const id = await prepare()
    fill(shown, el('p', { class: 'muted running' }, 'Asking the server'))
    show(id, await refresh(id, {}))
  }

  /**
   * @param {string} id
   * @param {Comparison} comparison
   */
  function show(id, { Outcome, Message = '', Hash, Tools = [], Excluded = [] }) {
    if (Outcome === 'unavailable') return fill(shown, el('p', { class: 'error', role: 'alert' }, escapeInvisible(Message)))
    const open = Tools.filter(({ Change }) => Change !== 'unchanged')
    const boxes = open.map(({ Name }) => el('input', { type: 'checkbox', value: Name, 'aria-label': Name }))
    const accept = button('Accept the chosen ones', async () => {
      const names = boxes.filter(({ checked }) => checked).map(({ value }) => value)
      try {
        await refresh(id, { Accept: names, Hash })
        await onAccepted(id)
        fill(shown)
        announce(`Accepted ${names.length}.`)
      } catch (error) {
        const { status } = /** @type {{ status?: number }} */ (error)
        showError(status === 412 ? new Error('The server or somebody else has changed it meanwhile. List the tools again.') : error)
      }
    }, { class: 'primary', disabled: true })
    const count = () => (accept.disabled = !boxes.some(({ checked }) => checked))
    const all = button('Choose all', () => {
      for (const box of boxes) box.checked = true
      // The button enables itself after its action.
      queueMicrotask(count)
    }, { class: 'ghost' })
    const rows = open.map((offer, at) => row(offer, /** @type {HTMLInputElement} */ (boxes[at])))
    const same = Tools.length - open.length
    fill(
      shown,
      el('p', { role: 'status' }, summary(open.length, same)),
      rows.length > 0 && el('ul', { class: 'offers', onchange: count }, rows),
      rows.length > 0 && el('div', { class: 'row' }, all, accept),
      Excluded.length > 0 && el('details', {}, el('summary', {}, `${Excluded.length} can’t be used`), el('ul', {}, Excluded.map(({ Name, Reason }) => el('li', {}, el('code', {}, escapeInvisible(Name)), `: ${escapeInvisible(Reason)}`)))),
    )
  }

  return {
    node,
    reset: () => fill(shown),
  }
}

/**
 * @param {number} open
 * @param {number} same
 */
function summary(open, same) {
  const known = same === 0 ? '' : ` ${same} ${same === 1 ? 'is' : 'are'} added as offered.`
  return open === 0 ? `Nothing is new.${known}` : `Choose what agents may use.${known}`
}

/**
 * @param {Offer} offer
 * @param {HTMLInputElement} box
 */
function row({ Name, Change, Hints = [], Description = '', Parameters, AcceptedDescription = '', AcceptedParameters }, box) {
  const text = (/** @type {string} */ description, /** @type {unknown} */ parameters) => `${description}\n${JSON.stringify(parameters ?? {}, undefined, 2)}`
  const hints = Hints.map((hint) => HINTS[hint] ?? hint)
  return el(
    'li',
    {},
    el(
      'label',
      { class: 'checkbox' },
      box,
      el('span', {}, el('code', {}, escapeInvisible(Name)), el('span', { class: `tag ${Change === 'new' ? '' : 'pending'}` }, CHANGES[Change]), hints.length > 0 && el('small', {}, ` The server says: ${hints.join(', ')}.`)),
    ),
    Change === 'changed' ? diffView(text(Description, Parameters), text(AcceptedDescription, AcceptedParameters), `Changes of ${escapeInvisible(Name)}`) : el('p', { class: 'muted' }, escapeInvisible(Description || AcceptedDescription)),
  )
}
