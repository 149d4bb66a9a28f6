/**
 * The caller's identity: the user that a local cloud issues tokens for, a sign-in, or a token that the user entered.
 *
 * @module
 */

import { claimsOf } from './claims.js'
import { button, el, errorMessage, fill, labelledField, openDialog } from './dom.js'
import { openMenu } from './menu.js'

/**
 * Shows the caller on a button that changes it.
 * @param {import('./connection.js').Connection} connection
 * @param {HTMLButtonElement} identityButton
 */
export async function initIdentityButton(connection, identityButton) {
  if (connection.signIn) return initSignInButton(connection.signIn, identityButton)
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

/**
 * Shows the user of a sign-in on a button with a menu.
 * @param {import('./hosted-sign-in.js').HostedSignIn} signIn
 * @param {HTMLButtonElement} identityButton
 */
function initSignInButton(signIn, identityButton) {
  identityButton.hidden = !signIn.isSignedIn
  const { name, email, sub } = claimsOf(signIn.shownToken)
  fill(identityButton, hint('Signed in as '), el('span', { class: 'user-name' }, String(name ?? email ?? sub ?? 'User')))
  identityButton.ariaHasPopup = 'menu'
  identityButton.addEventListener('click', () => openMenu(identityButton, [{ label: 'Sign out', action: () => signIn.signOut() }]))
}

/**
 * Returns the page that asks the user to sign in.
 * @param {import('./hosted-sign-in.js').HostedSignIn} signIn
 */
export function signInPage(signIn) {
  const problem = signIn.problem && errorMessage({ message: signIn.problem })
  const text = `You sign in on ${signIn.host}, and come back to this page.`
  return el('div', { class: 'sign-in' }, el('h1', {}, 'Sign in'), problem, el('p', {}, text), button('Sign in', () => signIn.start(), { class: 'primary' }))
}

/**
 * Shows a banner once the session has ended. The page stays as it is.
 * @param {import('./hosted-sign-in.js').HostedSignIn} signIn
 */
export function watchSignIn(signIn) {
  signIn.onEnd = () => {
    if (document.querySelector('.signed-out')) return
    const again = button('Sign in again', () => signIn.start())
    document.querySelector('main')?.before(el('div', { class: 'notice warn signed-out', role: 'status' }, 'Your sign-in has ended. What you wrote is kept. ', again))
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
