/**
 * Storage of a session's open turn, so that a reloaded page or a restarted program can resume it: the exact request that
 * was sent, the last event received, and the tool results so far.
 *
 * @module
 */

/**
 * A key-value store for open turns: `localStorage`, `sessionStorage`, or an object with the same methods.
 * @typedef {{ getItem(key: string): string | null, setItem(key: string, value: string): void, removeItem(key: string): void }} ResumeStore
 *
 * An open turn. `toolProgress` holds the results so far of the calls in `callsJson`.
 * @typedef {{
 *   turnId: string, request: import('./follow.js').TurnRequest, lastEventId?: number,
 *   toolProgress?: { callsJson: string, results: import('./wire.js').ToolResult[] },
 * }} OpenTurn
 */

/** The entry of one session in a resume store. Without a store, nothing is saved. */
export class ResumeEntry {
  #store
  #key

  /**
   * @param {ResumeStore | undefined} store
   * @param {string} sessionId
   */
  constructor(store, sessionId) {
    this.#store = store
    this.#key = `aptix:${sessionId}`
  }

  /** @returns {OpenTurn | undefined} */
  get turn() {
    try {
      const turn = JSON.parse(this.#store?.getItem(this.#key) ?? 'null')
      return typeof turn?.turnId === 'string' && typeof turn.request?.path === 'string' ? turn : undefined
    } catch {
      return undefined
    }
  }

  /** @param {OpenTurn} turn */
  save(turn) {
    try {
      this.#store?.setItem(this.#key, JSON.stringify(turn))
    } catch {
      // The store is full or access is denied. The turn continues, but can't be resumed.
      this.clear(turn.turnId)
    }
  }

  /** @param {string} turnId */
  clear(turnId) {
    try {
      if (this.turn?.turnId === turnId) this.#store?.removeItem(this.#key)
    } catch {
      // Access to the store is denied.
    }
  }
}
