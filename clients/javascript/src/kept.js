/**
 * What is kept of a turn while it is open, so that a page that was reloaded, or a program that was started again, goes
 * on with it: the very request that was sent, and what tools came to.
 *
 * @module
 */

/**
 * Where it is kept: `localStorage`, `sessionStorage`, or anything alike.
 * @typedef {{ getItem(key: string): string | null, setItem(key: string, value: string): void, removeItem(key: string): void }} Keep
 *
 * `ran` are the results so far of the calls that `calls` spells.
 * @typedef {{
 *   turnId: string, asked: import('./follow.js').Asked, after?: number,
 *   ran?: { calls: string, results: import('./wire.js').ToolResult[] },
 * }} KeptTurn
 */

export class Kept {
  #keep
  #key

  /**
   * @param {Keep | undefined} keep
   * @param {string} sessionId
   */
  constructor(keep, sessionId) {
    this.#keep = keep
    this.#key = `aptix:${sessionId}`
  }

  /** @returns {KeptTurn | undefined} */
  get turn() {
    try {
      const kept = JSON.parse(this.#keep?.getItem(this.#key) ?? 'null')
      return typeof kept?.turnId === 'string' && typeof kept.asked?.path === 'string' ? kept : undefined
    } catch {
      return undefined
    }
  }

  /** @param {KeptTurn} turn */
  save(turn) {
    try {
      this.#keep?.setItem(this.#key, JSON.stringify(turn))
    } catch {
      // No room, or not allowed: then nothing is kept, and the turn goes on all the same.
      this.clear(turn.turnId)
    }
  }

  /** @param {string} turnId */
  clear(turnId) {
    try {
      if (this.turn?.turnId === turnId) this.#keep?.removeItem(this.#key)
    } catch {
      // As above.
    }
  }
}
