/**
 * A test conversation beside the editor of a context.
 *
 * @module
 */

import { alwaysAllowed } from './always.js'
import { button, el, errorMessage, fill, labelledField } from './dom.js'
import { duration, formatNumber, pageUrl } from './format.js'
import { toolsFor } from './page-tools.js'
import { runTurn } from './turn-runner.js'
import { Workspace } from './workspace.js'

/**
 * @param {import('./connection.js').Connection} connection
 * @param {() => Promise<{ agent?: string, conversation?: string } | undefined>} prepare saves the draft, and returns the contexts to test; undefined
 *   if it isn't valid
 */
export function testPanel({ aptix }, prepare) {
  const turns = el('div', { class: 'test-turns', 'aria-live': 'polite' })
  const field = el('textarea', { rows: 2, name: 'instruction', required: true, placeholder: 'Ask what this agent is for' })
  const send = el('button', { class: 'primary' }, 'Save and send')
  const files = el('input', { type: 'file', multiple: true, name: 'files' })
  const form = el('form', {}, labelledField('Test message', field), labelledField('Files for its tools', files), el('div', { class: 'row' }, send, button('Start over', reset, { class: 'ghost' })))
  const hint = 'Saves, and sends the message in a conversation of its own. A change of an agent that is in use takes up to a minute.'
  const node = el('section', { class: 'card', 'aria-label': 'Test' }, el('h2', {}, 'Test'), el('p', { class: 'muted' }, hint), turns, form)
  /** @type {import('../javascript/src/index.js').Session | undefined} */
  let session
  let tested = ''
  let workspace = new Workspace()

  function reset() {
    session = undefined
    workspace = new Workspace()
    fill(turns)
  }

  async function run() {
    const contexts = await prepare()
    if (!contexts) return
    // A session keeps the contexts of its first turn.
    if (JSON.stringify(contexts) !== tested) reset()
    tested = JSON.stringify(contexts)
    session ??= aptix.session(undefined, contexts)
    const text = field.value
    field.value = ''
    const answer = el('div', { class: 'answer' }, el('p', { class: 'muted running' }, 'Waiting for the model'))
    const foot = el('p', { class: 'muted test-foot' })
    turns.append(el('p', { class: 'instruction' }, text), answer, foot)
    const startedAt = performance.now()
    const sent = [...(files.files ?? [])]
    files.value = ''
    workspace.add(sent)
    const link = el('a', { href: pageUrl('chat', session.id) }, 'Open in chat')
    const current = session
    try {
      const { usage } = await runTurn(current, current.send(text, { files: sent }), answer, toolsFor(workspace), alwaysAllowed(current.id))
      const tokens = usage ? `${formatNumber(usage.TotalTokens)} tokens · ` : ''
      fill(foot, `${duration(performance.now() - startedAt)} · ${tokens}`, link)
    } catch (error) {
      answer.append(errorMessage(error))
      fill(foot, link)
    }
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault()
    send.disabled = true
    run()
      .catch((error) => turns.append(errorMessage(error)))
      .finally(() => (send.disabled = false))
  })
  return { node, reset }
}
