/**
 * The command palette: a field that filters commands and sessions, operated with the keyboard.
 *
 * @module
 */

import { el, fill } from './dom.js'
import { icon } from './icons.js'
import { keyLabel } from './shortcuts.js'

/** Commands that are shown at a time. */
const MAX_SHOWN = 40

/** @typedef {{ label: string, icon: import('./icons.js').IconName, action: () => unknown, keys?: string, about?: Node }} Command */

/** Time after the last key until contents are searched. */
const SEARCH_DELAY_MS = 250
/** Letters from which contents are searched. */
const MIN_LETTERS = 3

/**
 * @param {Command[]} commands
 * @param {(words: string) => Promise<Command[]>} search searches the contents of sessions
 */
export function openPalette(commands, search) {
  if (document.querySelector('dialog[open]')) return
  const list = el('ul', { role: 'listbox', id: 'palette-list', 'aria-label': 'Commands' })
  const none = el('p', { class: 'none', hidden: true }, 'No command or session matches.')
  const field = el('input', {
    type: 'text', role: 'combobox', 'aria-label': 'Search commands and sessions', 'aria-controls': 'palette-list', 'aria-expanded': 'true',
    'aria-autocomplete': 'list', autocomplete: 'off', spellcheck: 'false', placeholder: 'Search commands, sessions and what was said…',
  })
  const dialog = el('dialog', { class: 'palette', 'aria-label': 'Commands' }, field, list, none)
  /** @type {Command[]} */
  let shown = []
  let selected = 0

  const run = (/** @type {Command | undefined} */ command) => {
    if (!command) return
    dialog.close()
    command.action()
  }
  const select = (/** @type {number} */ index) => {
    selected = shown.length === 0 ? 0 : (index + shown.length) % shown.length
    ;[...list.children].forEach((item, at) => item.setAttribute('aria-selected', String(at === selected)))
    field.setAttribute('aria-activedescendant', shown.length > 0 ? `command-${selected}` : '')
    list.children[selected]?.scrollIntoView({ block: 'nearest' })
  }
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer
  const searchLater = () => {
    clearTimeout(timer)
    const words = field.value.trim()
    if (words.length < MIN_LETTERS) return
    timer = setTimeout(async () => {
      const found = await search(words).catch(() => [])
      if (dialog.open && field.value.trim() === words) show(found)
    }, SEARCH_DELAY_MS)
  }
  const show = (/** @type {Command[]} */ found = []) => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean)
    shown = [...commands.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word))), ...found].slice(0, MAX_SHOWN)
    const items = shown.map((command, at) =>
      el(
        'li',
        { role: 'option', id: `command-${at}`, onclick: () => run(command), onmousemove: () => at !== selected && select(at) },
        icon(command.icon),
        el('span', {}, command.label, command.about),
        command.keys && el('kbd', {}, keyLabel(command.keys)),
      ),
    )
    fill(list, items)
    none.hidden = shown.length > 0
    select(0)
  }
  field.addEventListener('input', () => {
    show()
    searchLater()
  })
  field.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') run(shown[selected])
    else if (event.key === 'ArrowDown') select(selected + 1)
    else if (event.key === 'ArrowUp') select(selected - 1)
    else return
    event.preventDefault()
  })
  dialog.addEventListener('close', () => dialog.remove())
  dialog.addEventListener('click', (event) => event.target === dialog && dialog.close())
  document.body.append(dialog)
  dialog.showModal()
  show()
}

/**
 * Shows the keyboard shortcuts.
 * @param {Command[]} commands
 */
export function openShortcuts(commands) {
  if (document.querySelector('dialog[open]')) return
  const keys = [...commands.filter(({ keys }) => keys), ...FIXED].map(({ label, keys }) => [el('dt', {}, el('kbd', {}, keyLabel(keys ?? ''))), el('dd', {}, label)])
  const close = () => dialog.close()
  const dialog = el('dialog', { 'aria-labelledby': 'shortcuts-title' }, el('h2', { id: 'shortcuts-title' }, 'Keyboard shortcuts'), el('dl', { class: 'keys' }, keys.flat()))
  dialog.append(el('div', { class: 'row end' }, el('button', { type: 'button', onclick: close }, 'Close')))
  dialog.addEventListener('close', () => dialog.remove())
  document.body.append(dialog)
  dialog.showModal()
}

const FIXED = [
  { label: 'Send the message', keys: 'Enter' },
  { label: 'New line', keys: 'Shift+Enter' },
  { label: 'Close a dialog or a menu', keys: 'Esc' },
]
