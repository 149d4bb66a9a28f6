/**
 * What went wrong, and what sending again can do.
 *
 * @module
 */

/**
 * What can be done about an error: send the very same request later, ids included; send the same input as a new
 * turn; or nothing until somebody changes something.
 * @typedef {'same_request' | 'new_turn' | 'never'} Retry
 */

/** The codes that the very same request may get past, with their status. */
const SAME_REQUEST = /** @type {Record<string, number>} */ ({
  TooManyRequests: 429,
  TurnInProgress: 409,
  SessionBusy: 409,
  StorageUnavailable: 503,
  Internal: 500,
  FunctionFailed: 502,
  FunctionTimedOut: 504,
})

/** The codes of a turn that ended failed and stays so, with their status. */
const NEW_TURN = /** @type {Record<string, number>} */ ({
  TurnCancelled: 409,
  TurnSuperseded: 409,
  ToolDeadlineExpired: 409,
  TurnAbandoned: 503,
  TurnNotStored: 503,
  ModelRateLimited: 503,
  ModelUnavailable: 503,
  ModelTimedOut: 504,
  ModelReplyMalformed: 502,
  ModelReplyIncomplete: 502,
  ModelReplyEmpty: 502,
  ToolRoundsExceeded: 502,
})

/** The catalogue as this client knows it; a test compares it with the API's document. */
export const CATALOGUE = { sameRequest: SAME_REQUEST, newTurn: NEW_TURN }

/** An answer of these that does not come from the API itself, but from what stands before it. */
const PASSING = [408, 425, 429, 500, 502, 503, 504]

/** An error of the API, of the way to it, or of this client. */
export class AptixError extends Error {
  /**
   * @param {string} message
   * @param {{
   *   code: string, status?: number, details?: string, retry?: Retry, retryAfterMs?: number,
   *   errors?: import('./wire.js').WireError[], requestId?: string, cause?: unknown,
   * }} what
   */
  constructor(message, { code, status, details, retry, retryAfterMs, errors, requestId, cause }) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'AptixError'
    /** The API's code, or one of this client's: `Unreachable`, `Interrupted`, `Unreadable`. */
    this.code = code
    /** The HTTP status; none where there was no answer. */
    this.status = status
    /** The member, rule or id concerned. */
    this.details = details
    /** What sending again can do. */
    this.retry = retry ?? 'never'
    /** How long to wait before that, where the API says so. */
    this.retryAfterMs = retryAfterMs
    /** All errors of the answer; the first one is this. */
    this.errors = errors ?? []
    /** Names the request in the service's logs. */
    this.requestId = requestId
  }

  /**
   * The error that an envelope tells.
   * @param {{ Errors?: import('./wire.js').WireError[] }} envelope
   * @param {Response} [response]
   */
  static of(envelope, response) {
    const errors = envelope.Errors ?? []
    const first = errors[0]
    const code = first?.ErrorCode ?? 'Unreadable'
    return new AptixError(first?.Message ?? 'the answer tells no error', {
      code,
      status: response && response.status >= 400 ? response.status : (SAME_REQUEST[code] ?? NEW_TURN[code]),
      details: first?.Details,
      retry: first?.Retry ?? (code in SAME_REQUEST ? 'same_request' : code in NEW_TURN ? 'new_turn' : 'never'),
      retryAfterMs: seconds(first?.RetryAfterSeconds ?? response?.headers.get('retry-after')),
      errors,
      requestId: response?.headers.get('x-request-id') ?? undefined,
    })
  }

  /**
   * The error of an answer that is not an envelope: a proxy's page, an empty body.
   * @param {Response} response
   */
  static unreadable(response) {
    return new AptixError(`the answer (status ${response.status}) is not the API's`, {
      code: 'Unreadable',
      status: response.status,
      retry: PASSING.includes(response.status) ? 'same_request' : 'never',
      retryAfterMs: seconds(response.headers.get('retry-after')),
    })
  }

  /**
   * No answer at all.
   * @param {unknown} cause
   */
  static unreachable(cause) {
    return new AptixError('the API could not be reached', { code: 'Unreachable', retry: 'same_request', cause })
  }

  /**
   * An answer that broke off, or a stream that ended before its turn did.
   * @param {unknown} [cause]
   * @param {number} [retryAfterMs]
   */
  static interrupted(cause, retryAfterMs) {
    return new AptixError('the connection ended before the answer did', {
      code: 'Interrupted',
      retry: 'same_request',
      retryAfterMs,
      cause,
    })
  }

  /** The turn was stopped before the API had it. */
  static stopped() {
    return new AptixError('The turn was cancelled.', { code: 'TurnCancelled', retry: 'new_turn' })
  }
}

/**
 * @param {string | number | null | undefined} text
 * @returns {number | undefined} milliseconds
 */
function seconds(text) {
  const number = typeof text === 'string' && text.trim() === '' ? NaN : Number(text ?? NaN)
  return Number.isFinite(number) && number >= 0 ? number * 1000 : undefined
}
