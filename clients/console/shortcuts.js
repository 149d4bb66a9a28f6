/**
 * Keyboard shortcuts. `Ctrl` is the command key on a Mac.
 *
 * @module
 */

export const isMac = /Mac|iPhone|iPad/.test(navigator.platform)

/**
 * Returns the name of a pressed combination, such as `Ctrl+Shift+O`; a single character counts outside of fields only.
 * @param {KeyboardEvent} event
 */
export function pressedKeys(event) {
  const isCtrl = isMac ? event.metaKey : event.ctrlKey
  const target = event.target instanceof Element ? event.target : document.body
  const isInField = target.closest('input, textarea, select, [contenteditable]') !== null
  if (event.altKey || (!isCtrl && isInField)) return ''
  const key = event.key.length === 1 ? event.key.toUpperCase() : event.key
  // A character such as `?` includes its shift key.
  return [isCtrl && 'Ctrl', isCtrl && event.shiftKey && 'Shift', key].filter(Boolean).join('+')
}

/**
 * Returns a combination as the keyboard shows it.
 * @param {string} keys
 */
export const keyLabel = (keys) => (isMac ? keys.replace('Ctrl+', '⌘').replace('Shift+', '⇧') : keys)
