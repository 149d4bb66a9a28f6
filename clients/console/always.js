/**
 * Tools that run in a session without asking, as the user allowed on a tool card. Kept until the tab closes.
 *
 * @module
 */

const KEY_PREFIX = 'aptix-console:always:'

/** @param {string} sessionId */
export function alwaysAllowed(sessionId) {
  const key = KEY_PREFIX + sessionId
  const names = new Set(/** @type {string[]} */ (JSON.parse(sessionStorage.getItem(key) ?? '[]')))
  const save = () => sessionStorage.setItem(key, JSON.stringify([...names]))
  return {
    has: (/** @type {string} */ name) => names.has(name),
    names: () => [...names],
    allow(/** @type {string} */ name) {
      names.add(name)
      save()
    },
    reset() {
      names.clear()
      save()
    },
  }
}

/** @typedef {ReturnType<typeof alwaysAllowed>} AlwaysAllowed */
