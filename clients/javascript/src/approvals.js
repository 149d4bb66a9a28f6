/**
 * Calls of tools that wait for an approval.
 *
 * @module
 */

import * as paths from './paths.js'
import { paginate } from './session.js'

/** @typedef {import('./wire.js').Approval} Approval */

/** The approvals of the caller's organization. */
export class Approvals {
  #http

  /** @param {import('./http.js').Http} http */
  constructor(http) {
    this.#http = http
  }

  /**
   * Lists those that wait for the caller, by expiry. Operators list those of the organization with `scope: 'all'`.
   * @param {{ scope?: 'mine' | 'all', pageSize?: number }} [filter]
   * @returns {AsyncGenerator<Approval, void, void>}
   */
  list({ scope, pageSize } = {}) {
    return paginate(this.#http, paths.APPROVALS, { scope, pageSize })
  }

  /**
   * Returns an approval, such as the one in the `details` of the error of a turn that waits for it.
   * @param {string} id
   * @returns {Promise<Approval>}
   */
  get(id) {
    return this.#http.call('GET', paths.approval(id))
  }

  /**
   * Approves the call that a person has seen, and no other. Its turn goes on by itself.
   * @param {Approval} approval as it was read
   * @param {{ argumentsJson?: string }} [options] other arguments, if the tool's policy allows it
   * @returns {Promise<Approval>}
   */
  approve({ ApprovalId, Hash }, { argumentsJson } = {}) {
    return this.#answer(ApprovalId, 'approve', { Hash, ArgumentsJson: argumentsJson })
  }

  /**
   * Denies the call. The model gets the reason.
   * @param {Approval} approval as it was read
   * @param {{ reason?: string }} [options]
   * @returns {Promise<Approval>}
   */
  deny({ ApprovalId, Hash }, { reason } = {}) {
    return this.#answer(ApprovalId, 'deny', { Hash, Reason: reason })
  }

  /**
   * @param {string} id
   * @param {'approve' | 'deny'} answer
   * @param {Record<string, string | undefined>} body
   * @returns {Promise<Approval>}
   */
  #answer(id, answer, body) {
    return this.#http.call('POST', paths.approval(id, answer), { body: JSON.stringify(body) })
  }
}
