/**
 * Text of a page that the caller may not use, and whether the caller is an operator.
 *
 * @module
 */

import { el } from './dom.js'
import { pageUrl } from './format.js'

/**
 * @param {string} action what the page does
 * @param {string} roles who may do it
 */
export const notAllowed = (action, roles) =>
  el(
    'div',
    { class: 'notice', role: 'alert' },
    el(
      'div',
      {},
      el('p', {}, `Only ${roles} of your org can ${action}. You can chat with every agent, read and share your sessions, and see your own usage.`),
      el('p', {}, 'Ask an operator of your org for the role, or ', el('a', { href: pageUrl('chat') }, 'go to the chat'), '.'),
    ),
  )

/** Documents that only operators read. */
const FOR_OPERATORS = 'api/ai/agent/budgets'

/**
 * Asks the API, since a token doesn't say which claim makes its user an operator.
 * @param {import('./connection.js').Connection} connection
 * @returns {Promise<boolean>}
 */
export const isOperator = (connection) => connection.read(FOR_OPERATORS).then(() => true, (error) => error.status !== 403)
