/**
 * The caller's identity: the user that a local cloud issues tokens for, or a token that the user entered.
 *
 * @module
 */

import { el, fill, labelledField, openDialog } from './dom.js'

/**
 * Shows the caller on a button that changes it.
 * @param {import('./connection.js').Connection} connection
 * @param {HTMLButtonElement} identityButton
 */
export async function initIdentityButton(connection, identityButton) {
  const change = connection.config.Tokens === 'local' ? chooseIdentity : enterToken
  identityButton.addEventListener('click', () => change(connection))
  identityButton.hidden = connection.config.Tokens === 'given'
  if (connection.config.Tokens === 'local') {
    const { Org, User, Operator } = connection.identity
    fill(
      identityButton,
      hint('Signed in as '),
      User,
      el('span', { class: 'extra' }, ` · ${Org} `, Operator && el('span', { class: 'tag' }, 'operator')),
      hint('. Switch user.'),
    )
  } else if (connection.needsToken) {
    fill(identityButton, 'Sign in')
    enterToken(connection)
  } else {
    const { name, email, sub } = await connection.claims()
    fill(identityButton, hint('Signed in as '), String(name ?? email ?? sub ?? 'Token'), hint('. Use another token.'))
  }
}

/** @param {string} text */
const hint = (text) => el('span', { class: 'visually-hidden' }, text)

/** @param {import('./connection.js').Connection} connection */
function chooseIdentity(connection) {
  const { Org, User, Operator } = connection.identity
  const fields = [
    labelledField('Org', el('input', { name: 'Org', value: Org, required: true, maxlength: 128, autocomplete: 'off' })),
    labelledField('User', el('input', { name: 'User', value: User, required: true, maxlength: 128, autocomplete: 'off' })),
    el(
      'label',
      { class: 'checkbox' },
      el('input', { type: 'checkbox', name: 'Operator', checked: Operator }),
      'Operator (can read traces)',
    ),
  ]
  openDialog({ title: 'Switch user', fields, submit: 'Switch' }, (values) => {
    connection.setIdentity({ Org: values.Org ?? '', User: values.User ?? '', Operator: 'Operator' in values })
  })
}

/** @param {import('./connection.js').Connection} connection */
function enterToken(connection) {
  const help = `Enter a token for ${new URL(connection.api).host}. It stays in this tab until you close it, and is sent only to the API.`
  const field = el('textarea', { name: 'token', required: true, rows: 4, autocomplete: 'off', spellcheck: 'false' })
  const fields = [el('p', {}, help), labelledField('Token', field)]
  openDialog({ title: 'Sign in', fields, submit: 'Sign in' }, ({ token = '' }) => connection.setToken(token))
}
