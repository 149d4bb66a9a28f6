/**
 * Values by id in the browser's storage, such as those of the last turns. The oldest ones make room for new ones.
 *
 * @module
 */

/** @template T */
export class RecentStore {
  #storage
  #key
  #maxItems

  /**
   * @param {'localStorage' | 'sessionStorage'} storage
   * @param {string} name
   * @param {number} maxItems
   */
  constructor(storage, name, maxItems) {
    this.#storage = storage
    this.#key = `aptix-console:${name}`
    this.#maxItems = maxItems
  }

  /** @returns {[string, T][]} ids and values, oldest first */
  items() {
    try {
      return JSON.parse(globalThis[this.#storage].getItem(this.#key) ?? '[]')
    } catch {
      return []
    }
  }

  /** @param {string} id */
  get(id) {
    return this.items().find(([other]) => other === id)?.[1]
  }

  /**
   * Stores a value. Does nothing if the storage is full or blocked: the page works without it.
   * @param {string} id
   * @param {T | undefined} value removes the id if undefined
   */
  set(id, value) {
    const others = this.items().filter(([other]) => other !== id)
    const all = value === undefined ? others : [...others, [id, value]]
    try {
      globalThis[this.#storage].setItem(this.#key, JSON.stringify(all.slice(-this.#maxItems)))
    } catch {
      // See above.
    }
  }
}
