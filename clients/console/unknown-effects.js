/**
 * Calls of tools whose outcome is unknown, for operators: the list, and a dialog that records the finding of a person who looked at the
 * target. An equal call of the session isn't sent until then.
 *
 * @module
 */

import { announce, button, el, errorMessage, fill, labelledField, openDialog } from './dom.js'
import { formatNumber, pageUrl, timestamp } from './format.js'

/** Path of the list. */
const EFFECTS = 'api/ai/agent/effects'
/** The most calls that are listed. */
const PAGE_SIZE = 50
/** The most characters of a note. */
const MAX_NOTE_CHARS = 4096
/** The findings, in words. */
const FINDINGS = [
  ['', 'Choose what the target shows'],
  ['performed', 'It performed the call'],
  ['not_performed', 'It didn’t perform the call'],
]

/**
 * @typedef {{ EffectId: string, SessionId: string, TurnId: string, Round: number, ConnectionId: string, ConnectionVersion: number, Tool: string, Key: string, CreationDate: string }} UnknownEffect
 */

/** @param {import('./connection.js').Connection} connection */
export function unknownEffectSection(connection) {
  const problem = el('div', {})
  const result = el('div', { class: 'scroll-x' })
  const node = el(
    'section',
    { class: 'card', 'aria-label': 'Unknown outcomes', hidden: true },
    el('h2', {}, 'Calls with an unknown outcome'),
    el('p', { class: 'muted' }, 'Each was sent and has no valid response. None is repeated, and its session makes no equal call until you record what its target shows.'),
    problem,
    result,
  )

  async function refresh() {
    const { Items, ContinuationToken } = /** @type {{ Items: UnknownEffect[], ContinuationToken?: string }} */ (await connection.read(`${EFFECTS}?pageSize=${PAGE_SIZE}`))
    node.hidden = false
    fill(problem)
    fill(result, Items.length ? table(Items) : el('p', { class: 'notice' }, 'No call has an unknown outcome.'), ContinuationToken && el('p', { class: 'muted' }, 'and newer ones'))
  }

  /** @param {UnknownEffect[]} effects */
  function table(effects) {
    const head = ['Tool', 'Session and turn', 'Key', 'Found', 'Actions'].map((name) => el('th', { scope: 'col' }, name))
    return el(
      'table',
      { class: 'list' },
      el('caption', { class: 'visually-hidden' }, `${formatNumber(effects.length)} calls with an unknown outcome`),
      el('thead', {}, el('tr', {}, head)),
      el('tbody', {}, effects.map(row)),
    )
  }

  /** @param {UnknownEffect} effect */
  function row(effect) {
    const { SessionId, TurnId, Tool, Key, ConnectionVersion, CreationDate } = effect
    return el(
      'tr',
      {},
      el('th', { scope: 'row' }, el('code', {}, Tool), el('small', {}, ` version ${ConnectionVersion}`)),
      el('td', { 'data-label': 'Session and turn' }, el('a', { href: pageUrl('trace', SessionId, TurnId) }, `${SessionId}, ${TurnId}`)),
      el('td', { 'data-label': 'Key' }, el('code', {}, Key)),
      el('td', { 'data-label': 'Found' }, timestamp(CreationDate)),
      el('td', {}, button('Resolve', () => openResolution(effect), { 'aria-label': `Resolve the call of ${Tool}` })),
    )
  }

  /** @param {UnknownEffect} effect */
  function openResolution({ EffectId, SessionId, TurnId, Tool, Key }) {
    const finding = el('select', { name: 'Outcome', required: true }, FINDINGS.map(([value, text]) => el('option', { value }, text)))
    const note = el('input', { name: 'Note', maxlength: MAX_NOTE_CHARS, autocomplete: 'off', placeholder: 'Such as the number of a ticket' })
    const fields = [
      el('p', {}, 'Look for the key ', el('code', {}, Key), ' at the target first. The session may make an equal call from then on, whichever you choose.'),
      labelledField('Finding', finding),
      labelledField('Note for the audit log', note),
    ]
    openDialog({ title: `Resolve the call of ${Tool}?`, fields, submit: 'Resolve' }, async ({ Outcome, Note }) => {
      const path = `api/ai/agent/sessions/${encodeURIComponent(SessionId)}/turns/${encodeURIComponent(TurnId)}/resolve-effect`
      await connection.send('POST', path, JSON.stringify({ EffectId, Outcome, ...(Note ? { Note } : {}) })).catch((error) => {
        // Another operator was faster.
        if (error.code !== 'EffectNotFound') throw error
      })
      announce(`The call of ${Tool} is resolved.`)
      await refresh()
    })
  }

  /** Reads the list. Callers without the role see no section. */
  const start = () =>
    refresh().catch((error) => {
      if (error.status === 403) return
      node.hidden = false
      fill(problem, errorMessage(error))
    })
  start()
  return { node, refresh: start }
}
