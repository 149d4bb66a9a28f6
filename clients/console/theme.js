/**
 * The color theme: that of the system, light or dark. The choice is kept in the browser.
 *
 * @module
 */

import { redrawDiagrams } from './diagram.js'
import { announce, fill, iconButton } from './dom.js'
import { icon } from './icons.js'
import { showSavedTheme, THEME_KEY } from './saved-theme.js'

const THEMES = /** @type {const} */ (['system', 'light', 'dark'])
const ICONS = /** @type {const} */ ({ system: 'system', light: 'sun', dark: 'moon' })

/** @typedef {typeof THEMES[number]} Theme */

/** @returns {Theme} */
export function theme() {
  const saved = localStorage.getItem(THEME_KEY)
  return THEMES.find((name) => name === saved) ?? 'system'
}

/** @param {Theme} name */
export function setTheme(name) {
  localStorage.setItem(THEME_KEY, name)
  applyTheme()
  redrawDiagrams()
  announce(`Theme: ${name}.`)
}

/** Shows the chosen theme, here and in the switch. */
export function applyTheme() {
  showSavedTheme()
  const current = theme()
  const themeSwitch = document.getElementById('theme')
  if (!themeSwitch) return
  const label = `Theme: ${current}. Change to ${next(current)}.`
  themeSwitch.setAttribute('aria-label', label)
  themeSwitch.title = label
  fill(themeSwitch, icon(ICONS[current]))
}

export const toggleTheme = () => setTheme(next(theme()))

/** Creates the button that changes to the next theme. */
export const themeSwitch = () => iconButton('system', 'Theme', toggleTheme, { id: 'theme' })

/**
 * @param {Theme} current
 * @returns {Theme}
 */
function next(current) {
  return THEMES[(THEMES.indexOf(current) + 1) % THEMES.length] ?? 'system'
}
