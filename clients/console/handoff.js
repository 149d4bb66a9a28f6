/**
 * Values that one page passes to the next: a draft, the contexts to try, the reruns to compare, or the tools of a new agent. Each is read once.
 *
 * @module
 */

const KEY_PREFIX = 'aptix-console:handoff:'

/**
 * @param {'draft' | 'contexts' | 'reruns' | 'tools'} name
 * @param {unknown} value
 */
export const setHandoff = (name, value) => sessionStorage.setItem(KEY_PREFIX + name, JSON.stringify(value))

/**
 * Returns a value and removes it.
 * @param {'draft' | 'contexts' | 'reruns' | 'tools'} name
 * @returns {any} undefined if there is none
 */
export function takeHandoff(name) {
  const json = sessionStorage.getItem(KEY_PREFIX + name)
  sessionStorage.removeItem(KEY_PREFIX + name)
  return json === null ? undefined : JSON.parse(json)
}
