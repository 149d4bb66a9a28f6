/**
 * The saved color theme, shown before the page is painted. Imports nothing, so that the page waits for this file alone.
 *
 * @module
 */

export const THEME_KEY = 'aptix-console:theme'

/** Shows the saved theme: `light` or `dark`; otherwise the system's. */
export function showSavedTheme() {
  const saved = localStorage.getItem(THEME_KEY)
  if (saved === 'light' || saved === 'dark') document.documentElement.dataset.theme = saved
  else delete document.documentElement.dataset.theme
}

showSavedTheme()
