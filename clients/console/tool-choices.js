/**
 * Checkboxes for the tools of the org's connections, as an agent names them in `Tools`: `tickets` or `tickets.create_ticket`.
 *
 * @module
 */

import { escapeInvisible } from '../javascript/src/patch.js'
import { el, fill } from './dom.js'

/** Tools of a connection that are shown without a fold. */
const MAX_SHOWN = 8

/** @typedef {{ Id: string, Name: string, Content: { [member: string]: unknown } }} Offer */

/** @param {() => void} onChange */
export function toolChoices(onChange) {
  const node = el('div', { class: 'tool-choices' })
  /** @type {Offer[]} */
  let offers = []
  /** @type {Set<string>} */
  let chosen = new Set()

  /**
   * @param {string} value
   * @param {string} text
   * @param {boolean} isCovered true if the whole connection is chosen
   */
  function choice(value, text, isCovered = false) {
    const box = el('input', { type: 'checkbox', name: 'tools', value, checked: isCovered || chosen.has(value), disabled: isCovered })
    box.addEventListener('change', () => {
      if (box.checked) chosen.add(value)
      else chosen.delete(value)
      render()
      const again = /** @type {HTMLElement | null} */ (node.querySelector(`[value="${CSS.escape(value)}"]`))
      again?.focus()
      onChange()
    })
    return el('label', { class: isCovered ? 'checkbox nested' : 'checkbox' }, box, el('span', {}, el('code', {}, value), ` ${escapeInvisible(text)}`))
  }

  function render() {
    const known = new Set(offers.flatMap(({ Id, Content }) => [Id, .../** @type {{ Name: string }[]} */ (Content.Tools ?? []).map(({ Name }) => `${Id}.${Name}`)]))
    const groups = offers.flatMap(({ Id, Name, Content }) => {
      const tools = /** @type {{ Name: string, Description: string }[]} */ (Content.Tools ?? [])
      const isWhole = chosen.has(Id)
      const each = tools.map((tool) => choice(`${Id}.${tool.Name}`, tool.Description.split('\n', 1)[0] ?? '', isWhole))
      if (tools.length > MAX_SHOWN) return [choice(Id, `${Name || Id}: all its tools, also later ones`), el('details', {}, el('summary', {}, `Some of its ${tools.length} tools`), el('div', { class: 'tool-choices' }, each))]
      return tools.length === 1 && !isWhole ? each : [choice(Id, `${Name || Id}: all its tools, also later ones`), ...each]
    })
    const gone = [...chosen].filter((name) => !known.has(name)).map((name) => choice(name, 'doesn’t exist any more'))
    const isOpen = new Set([...node.querySelectorAll('details[open] input')].map((box) => /** @type {HTMLInputElement} */ (box).value.split('.', 1)[0]))
    fill(node, groups, gone)
    for (const fold of node.querySelectorAll('details')) fold.open = isOpen.has(fold.querySelector('input')?.value.split('.', 1)[0])
  }

  return {
    node,
    /** @param {Offer[]} all */
    offer(all) {
      offers = all
      render()
    },
    /** @param {string[]} names */
    show(names) {
      chosen = new Set(names)
      render()
    },
    names: () => [...chosen],
  }
}
