/**
 * Who calls: as whom a local cloud's tokens are made, or the token that somebody typed in.
 *
 * @module
 */

import { ask, el, fill, labelled } from './dom.js'

/**
 * @param {import('./connection.js').Connection} connection
 * @param {HTMLButtonElement} who the button that shows it
 */
export async function whoAmI(connection, who) {
  const change = connection.config.Tokens === 'local' ? becomeAnother : typeToken
  who.addEventListener('click', () => change(connection))
  who.hidden = connection.config.Tokens === 'given'
  if (connection.config.Tokens === 'local') {
    const { Org, User, Operator } = connection.identity
    fill(
      who,
      hint('You are '),
      `${User} · ${Org}`,
      Operator && el('span', { class: 'tag' }, 'operator'),
      hint('. Become another.'),
    )
  } else if (connection.isUnknown) {
    fill(who, 'Sign in')
    typeToken(connection)
  } else {
    const { name, email, sub } = await connection.claims()
    fill(who, hint('You are '), String(name ?? email ?? sub ?? 'Token'), hint('. Use another token.'))
  }
}

/** @param {string} text */
const hint = (text) => el('span', { class: 'unseen' }, text)

/** @param {import('./connection.js').Connection} connection */
function becomeAnother(connection) {
  const { Org, User, Operator } = connection.identity
  const fields = [
    labelled('Org', el('input', { name: 'Org', value: Org, required: true, maxlength: 128, autocomplete: 'off' })),
    labelled('User', el('input', { name: 'User', value: User, required: true, maxlength: 128, autocomplete: 'off' })),
    el(
      'label',
      { class: 'check' },
      el('input', { type: 'checkbox', name: 'Operator', checked: Operator }),
      'Operator: also reads traces',
    ),
  ]
  ask({ title: 'Who you are', fields, submit: 'Become' }, (values) => {
    connection.become({ Org: values.Org ?? '', User: values.User ?? '', Operator: 'Operator' in values })
  })
}

/** @param {import('./connection.js').Connection} connection */
function typeToken(connection) {
  const hint = `A token that ${new URL(connection.api).host} accepts. It is kept until this tab is closed, and goes nowhere else.`
  const field = el('textarea', { name: 'token', required: true, rows: 4, autocomplete: 'off', spellcheck: 'false' })
  ask({ title: 'Sign in', fields: [el('p', {}, hint), labelled('Token', field)], submit: 'Use' }, ({ token = '' }) =>
    connection.use(token),
  )
}
