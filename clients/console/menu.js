/**
 * A menu below a button. Escape and a click elsewhere close it.
 *
 * @module
 */

import { el } from './dom.js'
import { icon } from './icons.js'

/** @typedef {{ label: string, icon?: import('./icons.js').IconName, action: () => unknown, isDangerous?: boolean }} MenuItem */

/**
 * @param {HTMLElement} anchor the button
 * @param {MenuItem[]} items
 */
export function openMenu(anchor, items) {
  const menu = el('div', { class: 'menu', role: 'menu', popover: 'auto', 'aria-label': anchor.getAttribute('aria-label') ?? 'Actions' })
  const buttons = items.map(({ label, icon: name, action, isDangerous }) => {
    const run = () => {
      menu.hidePopover()
      action()
    }
    return el('button', { type: 'button', role: 'menuitem', class: isDangerous ? 'danger' : undefined, onclick: run }, name ? icon(name) : el('span', { class: 'icon' }), label)
  })
  menu.append(...buttons)
  ;(anchor.closest('main, header') ?? document.body).append(menu)
  anchor.setAttribute('aria-expanded', 'true')
  menu.addEventListener('toggle', (event) => {
    if (/** @type {ToggleEvent} */ (event).newState !== 'closed') return
    anchor.setAttribute('aria-expanded', 'false')
    if (menu.contains(document.activeElement) || document.activeElement === document.body) anchor.focus()
    menu.remove()
  })
  menu.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const at = buttons.findIndex((button) => button === document.activeElement)
    buttons.at((at + step) % buttons.length)?.focus()
  })
  menu.showPopover()
  place(menu, anchor)
  buttons[0]?.focus()
}

/**
 * Places a menu below its button, or above it if there is no space below.
 * @param {HTMLElement} menu
 * @param {HTMLElement} anchor
 */
function place(menu, anchor) {
  const { left, bottom, top } = anchor.getBoundingClientRect()
  const { offsetWidth, offsetHeight } = menu
  // Without the scroll bar and the space for one.
  const { clientWidth } = document.body
  const isBelow = bottom + offsetHeight + 8 < innerHeight
  menu.style.left = `${Math.max(8, Math.min(left, clientWidth - offsetWidth - 8))}px`
  menu.style.top = `${isBelow ? bottom + 4 : Math.max(8, top - offsetHeight - 4)}px`
}
