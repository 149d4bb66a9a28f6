/**
 * What one page hands to the next: a draft, the contexts to try. It is taken once.
 *
 * @module
 */

const KEY = 'aptix-console:handed:'

/**
 * @param {'draft' | 'contexts'} name
 * @param {unknown} value
 */
export const hand = (name, value) => sessionStorage.setItem(KEY + name, JSON.stringify(value))

/**
 * @param {'draft' | 'contexts'} name
 * @returns {any} nothing where nothing was handed on
 */
export function take(name) {
  const held = sessionStorage.getItem(KEY + name)
  sessionStorage.removeItem(KEY + name)
  return held === null ? undefined : JSON.parse(held)
}
