/**
 * The reasoning of a turn's model calls, folded above the answer. The API doesn't store it, so that of the last turns is kept in the
 * tab: a reload shows it again.
 *
 * @module
 */

import { el } from './dom.js'
import { GrowingMarkdown } from './markdown.js'
import { RecentStore } from './recent-store.js'

/** @type {RecentStore<[number, string][]>} */
const texts = new RecentStore('sessionStorage', 'reasoning', 20)
/** Size limit of what is kept of a turn, in UTF-16 code units. */
const MAX_LENGTH = 50_000

export class Reasoning {
  #turnId
  #parent
  /** Texts of the model's replies, by number. @type {Map<number, string>} */
  #texts = new Map()
  /** @type {Map<number, { node: HTMLElement, content: GrowingMarkdown }>} */
  #views = new Map()

  /**
   * @param {string} turnId
   * @param {HTMLElement} parent
   */
  constructor(turnId, parent) {
    this.#turnId = turnId
    this.#parent = parent
  }

  /** Shows what the tab has of an earlier load of the page. */
  restore() {
    for (const [round, text] of texts.get(this.#turnId) ?? []) this.#show(round, text)
  }

  /** @param {import('../javascript/src/events.js').ReasoningEvent} piece */
  add({ text, index, round }) {
    this.#show(round, index === 0 ? text : (this.#texts.get(round) ?? '') + text)
  }

  /** Keeps the texts, at the end of a model's reply. */
  save() {
    const all = [...this.#texts]
    if (all.length > 0 && all.reduce((sum, [, text]) => sum + text.length, 0) <= MAX_LENGTH) texts.set(this.#turnId, all)
  }

  /**
   * @param {number} round
   * @param {string} text
   */
  #show(round, text) {
    this.#texts.set(round, text)
    const view = this.#views.get(round) ?? this.#add(round)
    view.content.show(text)
  }

  /** @param {number} round */
  #add(round) {
    const body = el('div', {})
    const view = { node: el('details', { class: 'reasoning' }, el('summary', {}, 'Reasoning'), body), content: new GrowingMarkdown(body) }
    this.#parent.append(view.node)
    this.#views.set(round, view)
    return view
  }
}
