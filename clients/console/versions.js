/**
 * The versions of a context, newest first: what each changed, and a way back.
 *
 * @module
 */

import { announce, button, el, errorMessage, fill } from './dom.js'
import { diffView } from './diff.js'
import { timestamp } from './format.js'

/**
 * @typedef {{ Version: number, IsDeletion: boolean, CreationDate: string, CreatedBy?: { Id: string, Text?: string },
 *   RestoredVersion?: number, Content?: Record<string, unknown> }} Version
 */

/**
 * @param {import('./connection.js').Connection} connection
 * @param {string} path the path of the context
 * @param {Record<string, unknown>} current the content that is live
 * @param {() => Promise<void>} onRollback
 * @returns {Promise<Node[]>}
 */
export async function versionList(connection, path, current, onRollback) {
  const { Items } = /** @type {{ Items: Version[] }} */ (await connection.read(`${path}/versions`))
  const shown = el('div', {})

  /** @param {number} number */
  async function compare(number) {
    const { Content } = /** @type {Version} */ (await connection.read(`${path}/versions/${number}`))
    fill(shown, diffView(text(current), text(Content), `Version ${number} and the live version`))
  }

  /** @param {number} number */
  async function rollBack(number) {
    await connection.send('POST', `${path}/rollback`, JSON.stringify({ Version: number }))
    announce(`Version ${number} restored.`)
    await onRollback()
  }

  const guarded = (/** @type {Promise<void>} */ done) => done.catch((error) => fill(shown, errorMessage(error)))
  const rows = Items.map(({ Version, IsDeletion, CreationDate, CreatedBy, RestoredVersion }, n) => {
    const what = IsDeletion ? 'deleted' : RestoredVersion ? `restored version ${RestoredVersion}` : ''
    const actions = n > 0 &&
      !IsDeletion && [
        button('Compare', () => guarded(compare(Version)), { 'aria-label': `Compare version ${Version}` }),
        button('Roll back', () => guarded(rollBack(Version)), { 'aria-label': `Roll back to version ${Version}` }),
      ]
    return el(
      'li',
      { class: 'row' },
      el('strong', {}, `Version ${Version}`),
      n === 0 && el('span', { class: 'tag' }, 'live'),
      what && el('span', { class: 'tag' }, what),
      timestamp(CreationDate),
      CreatedBy && el('small', {}, CreatedBy.Text || CreatedBy.Id),
      el('span', { class: 'spacer' }),
      actions || '',
    )
  })
  return [el('h2', {}, 'Versions'), rows.length ? el('ul', { class: 'versions' }, rows) : el('p', { class: 'muted' }, 'None yet.'), shown]
}

/** @param {unknown} content */
const text = (content) => JSON.stringify(content ?? {}, undefined, 2)
