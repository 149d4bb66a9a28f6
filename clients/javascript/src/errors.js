/**
 * Errors, and the retries that each allows.
 *
 * @module
 */

/**
 * The retry that an error allows: `same_request` sends the same request again later, ids included; `new_turn` sends the
 * same input as a new turn; `never` needs a change first.
 * @typedef {'same_request' | 'new_turn' | 'never'} Retry
 */

/** Codes that allow a retry of the same request, with their HTTP status. */
const SAME_REQUEST = /** @type {Record<string, number>} */ ({
  TooManyRequests: 429,
  BudgetExceeded: 429,
  TurnInProgress: 409,
  SessionBusy: 409,
  StorageUnavailable: 503,
  Internal: 500,
  FunctionFailed: 502,
  FunctionTimedOut: 504,
})

/** Codes of a turn that failed for good, with their HTTP status. */
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
  TurnOverBudget: 429,
})

/** Error codes by their retry. A test compares them with the OpenAPI document. */
export const ERROR_CODES = { sameRequest: SAME_REQUEST, newTurn: NEW_TURN }

/** Statuses that allow a retry of a response that does not come from the API itself, but from a proxy or gateway. */
const TRANSIENT_STATUSES = [408, 425, 429, 500, 502, 503, 504]

/** An error of the API, of the connection to it, or of this client. */
export class AptixError extends Error {
  /**
   * @param {string} message
   * @param {{
   *   code: string, status?: number, details?: string, retry?: Retry, retryAfterMs?: number,
   *   errors?: import('./wire.js').WireError[], requestId?: string, cause?: unknown,
   * }} options
   */
  constructor(message, { code, status, details, retry, retryAfterMs, errors, requestId, cause }) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'AptixError'
    /** The API's error code, or one of this client's: `Unreachable`, `Interrupted`, `Unreadable`. */
    this.code = code
    /** The HTTP status; undefined without a response. */
    this.status = status
    /** The member, rule or id that the error is about. */
    this.details = details
    /** The retry that this error allows. */
    this.retry = retry ?? 'never'
    /** Delay before a retry, if the API gives one. */
    this.retryAfterMs = retryAfterMs
    /** All errors of the response. The first is this one. */
    this.errors = errors ?? []
    /** The request's id in the service's logs. */
    this.requestId = requestId
  }

  /**
   * Returns the first error of an envelope.
   * @param {{ Errors?: import('./wire.js').WireError[] }} envelope
   * @param {Response} [response]
   */
  static fromEnvelope(envelope, response) {
    const errors = envelope.Errors ?? []
    const error = errors[0]
    const code = error?.ErrorCode ?? 'Unreadable'
    return new AptixError(error?.Message ?? 'The response has no error message', {
      code,
      status: response && response.status >= 400 ? response.status : (SAME_REQUEST[code] ?? NEW_TURN[code]),
      details: error?.Details,
      retry: error?.Retry ?? (code in SAME_REQUEST ? 'same_request' : code in NEW_TURN ? 'new_turn' : 'never'),
      retryAfterMs: secondsToMs(error?.RetryAfterSeconds ?? response?.headers.get('retry-after')),
      errors,
      requestId: response?.headers.get('x-request-id') ?? undefined,
    })
  }

  /**
   * Returns the error for a response that is not an envelope, such as a proxy's page or an empty body.
   * @param {Response} response
   */
  static unreadable(response) {
    return new AptixError(`Unexpected response with HTTP status ${response.status}. Is this the API?`, {
      code: 'Unreadable',
      status: response.status,
      retry: TRANSIENT_STATUSES.includes(response.status) ? 'same_request' : 'never',
      retryAfterMs: secondsToMs(response.headers.get('retry-after')),
    })
  }

  /**
   * Returns the error for a request without a response.
   * @param {string | URL} url of the API, or of a payload
   * @param {unknown} cause
   */
  static unreachable(url, cause) {
    return new AptixError(`Can't reach the API at ${String(url).replace(/[?#].*$|\/$/g, '')}. Is it running?`, { code: 'Unreachable', retry: 'same_request', cause })
  }

  /**
   * Returns the error for a truncated response, or a stream that ended before its turn.
   * @param {unknown} [cause]
   * @param {number} [retryAfterMs]
   */
  static interrupted(cause, retryAfterMs) {
    return new AptixError('The connection was lost before the response ended', {
      code: 'Interrupted',
      retry: 'same_request',
      retryAfterMs,
      cause,
    })
  }

  /** Returns the error for a turn that was stopped before it reached the API. */
  static stopped() {
    return new AptixError('The turn was cancelled.', { code: 'TurnCancelled', retry: 'new_turn' })
  }
}

/**
 * Converts seconds to milliseconds. Returns undefined for anything but a non-negative number.
 * @param {string | number | null | undefined} text
 * @returns {number | undefined} milliseconds
 */
function secondsToMs(text) {
  const number = typeof text === 'string' && text.trim() === '' ? NaN : Number(text ?? NaN)
  return Number.isFinite(number) && number >= 0 ? number * 1000 : undefined
}
