/**
 * A running turn in a small view: its text as it is streamed, and cards of the tool calls that wait for the user.
 *
 * @module
 */

import { el, fill } from './dom.js'
import { GrowingMarkdown } from './markdown.js'
import { roundActions, toolCard } from './tool-card.js'

/**
 * Follows a turn and its tool rounds to its end, and returns the answer.
 * @param {import('../javascript/src/index.js').Session} session
 * @param {import('../javascript/src/index.js').Turn} turn
 * @param {HTMLElement} answer
 * @param {Record<string, import('./page-tools.js').Tool>} tools
 * @param {import('./always.js').AlwaysAllowed} always
 */
export async function runTurn(session, turn, answer, tools, always) {
  /** Cards whose results are on the way. @type {ReturnType<typeof toolCard>[]} */
  const sending = []

  /** @param {import('../javascript/src/index.js').Turn} current */
  async function show(current) {
    const text = el('div', {}, el('p', { class: 'muted running' }, 'Waiting for the model'))
    answer.querySelector('.running')?.remove()
    answer.append(text)
    /** @type {GrowingMarkdown | undefined} */
    let shown
    const update = (/** @type {string} */ content) => {
      if (!shown) fill(text)
      shown ??= new GrowingMarkdown(text)
      shown.show(content)
    }
    /** @type {import('../javascript/src/index.js').Call[]} */
    let calls = []
    for await (const event of current) {
      if (event.type !== 'retry') sending.splice(0).forEach(({ showSent }) => showSent())
      if (current.text) update(current.text)
      if (event.type !== 'result') continue
      calls = event.answer.calls
      update(event.answer.text)
    }
    return calls
  }

  /**
   * Runs the calls as the chat does: the user confirms each.
   * @param {import('../javascript/src/index.js').Call[]} calls
   */
  async function runTools(calls) {
    const round = { saved: undefined, isAlone: calls.length === 1, onReady: () => {} }
    const cards = calls.map((call) => toolCard(call, tools, always, round))
    answer.append(...cards.map((card) => card.node))
    for (const card of cards) await card.runIfAllowed()
    answer.append(roundActions(cards))
    cards.find(({ isOpen }) => isOpen())?.focus()
    const results = await Promise.all(cards.map(({ result }) => result))
    sending.push(...cards)
    return results
  }

  let current = turn
  for (let calls = await show(current); calls.length > 0; calls = await show(current)) {
    current = session.submitToolResults(current.id, await runTools(calls))
  }
  return current.final()
}
