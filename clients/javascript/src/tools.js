/**
 * Client tools: approval, execution and results.
 *
 * @module
 */

/**
 * @typedef {import('./events.js').Call} Call
 *
 * Runs a call. The model gets the return value as JSON, or the message of the error that is thrown. `signal` is aborted when
 * the turn is stopped, the client aborts, or the call times out.
 * @typedef {(args: any, context: { call: Call, signal: AbortSignal }) => unknown} Tool
 *
 * Approves a call before it runs. Anything but `true` refuses it; a string is the reason that the model gets.
 * @typedef {(call: Call) => boolean | string | Promise<boolean | string>} Approve
 *
 * @typedef {object} Toolbox
 * @property {Record<string, Tool>} tools Tools by name.
 * @property {Approve} [approve]
 * @property {number} toolTimeoutMs
 * @property {AbortSignal} signal
 * @property {(event: import('./events.js').ToolCallEvent | import('./events.js').ToolResultEvent) => void} emit
 */

/** The API's limits of a result and an error message, in characters. */
const MAX_RESULT_CHARS = 1_048_576
const MAX_MESSAGE_CHARS = 65_536
/**
 * The API's limit of a request, in bytes, less a margin for the ids around the results. A function receives the request as a
 * JSON string, so escapes count too.
 */
const MAX_REQUEST_BYTES = (4 << 20) - 1024
const OMITTED_MESSAGE = 'This result was omitted: the results of these calls exceed the size limit of a request.'

/**
 * Parses the arguments of a call.
 * @param {import('./wire.js').ToolCall} call
 * @returns {Call}
 */
export function parseCall({ ToolCallId, Name, ArgumentsJson }) {
  let args
  try {
    args = JSON.parse(ArgumentsJson)
  } catch {
    args = undefined
  }
  return { id: ToolCallId, name: Name, args, argsJson: ArgumentsJson }
}

/**
 * Runs a call once. Throws only if `signal` is aborted.
 * @param {Call} call
 * @param {Toolbox} toolbox
 * @returns {Promise<import('./wire.js').ToolResult>}
 */
export async function runCall(call, { tools, approve, toolTimeoutMs, signal, emit }) {
  emit({ type: 'tool-call', call })
  const refusal = await abortable(signal, refusalReason(call, tools, approve))
  const startedAt = performance.now()
  /** @type {{ output?: unknown, ResultJson?: string, error?: string }} */
  let outcome
  if (refusal !== undefined) outcome = { error: refusal }
  else {
    try {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(toolTimeoutMs)])
      const tool = /** @type {Tool} */ (tools[call.name])
      const output = await abortable(limit, Promise.resolve(tool(call.args, { call, signal: limit })))
      outcome = serializeOutput(output)
    } catch (error) {
      signal.throwIfAborted()
      outcome = { error: errorMessage(error) }
    }
  }
  const durationMs = Math.max(0, Math.round(performance.now() - startedAt))
  const { output, ResultJson, error } = outcome
  emit({ type: 'tool-result', call, ...(error === undefined ? { output } : { error }), refused: refusal !== undefined, durationMs })
  return error === undefined
    ? { ToolCallId: call.id, ExecutionMs: durationMs, ResultJson }
    : { ToolCallId: call.id, ExecutionMs: durationMs, ErrorMessage: error }
}

/**
 * Limits the results to the size of one request. It replaces the largest ones with an error message, so that the model can
 * request less.
 * @param {import('./wire.js').ToolResult[]} results
 * @returns {import('./wire.js').ToolResult[]}
 */
export function fitToRequest(results) {
  const size = (/** @type {unknown} */ value) => new TextEncoder().encode(JSON.stringify(JSON.stringify(value))).length
  const sizes = results.map(size)
  const fitted = [...results]
  for (let all = sizes.reduce((sum, size) => sum + size + 1, 0); all > MAX_REQUEST_BYTES; ) {
    const largest = sizes.indexOf(Math.max(...sizes))
    const { ToolCallId, ExecutionMs } = /** @type {import('./wire.js').ToolResult} */ (fitted[largest])
    const omitted = { ToolCallId, ExecutionMs, ErrorMessage: OMITTED_MESSAGE }
    fitted[largest] = omitted
    all -= (sizes[largest] ?? 0) - size(omitted)
    sizes[largest] = 0
  }
  return fitted
}

/**
 * Converts results to the format of the API.
 * @param {{ id: string, output?: unknown, error?: string, durationMs?: number }[]} results
 * @returns {import('./wire.js').ToolResult[]}
 */
export function toWireResults(results) {
  return results.map(({ id, output, error, durationMs = 0 }) => {
    const outcome = error === undefined ? serializeOutput(output) : { error: error || 'The tool failed.' }
    const ExecutionMs = Math.max(0, Math.round(durationMs))
    return outcome.error === undefined
      ? { ToolCallId: id, ExecutionMs, ResultJson: outcome.ResultJson }
      : { ToolCallId: id, ExecutionMs, ErrorMessage: outcome.error.slice(0, MAX_MESSAGE_CHARS) }
  })
}

/**
 * Returns the reason for which a call may not run, or undefined if it may.
 * @param {Call} call
 * @param {Record<string, Tool>} tools
 * @param {Approve | undefined} approve
 */
async function refusalReason(call, tools, approve) {
  if (!Object.hasOwn(tools, call.name)) return `This client has no tool ${call.name}.`
  if (call.args === undefined) return 'The arguments are not JSON.'
  if (!approve) return undefined
  try {
    const answer = await approve(call)
    if (answer === true) return undefined
    return typeof answer === 'string' && answer !== '' ? answer : 'The user declined this call.'
  } catch (error) {
    return errorMessage(error)
  }
}

/**
 * @param {unknown} output
 * @returns {{ output?: unknown, ResultJson?: string, error?: string }}
 */
function serializeOutput(output) {
  let json
  try {
    json = JSON.stringify(output) ?? 'null'
  } catch {
    return { error: "The tool's result can't be serialized as JSON." }
  }
  if (json.length > MAX_RESULT_CHARS) return { error: `The tool's result is larger than ${MAX_RESULT_CHARS} characters of JSON.` }
  return { output, ResultJson: json }
}

/** @param {unknown} error */
function errorMessage(error) {
  const message = error instanceof Error ? error.message : String(error)
  return (message || 'The tool failed.').slice(0, MAX_MESSAGE_CHARS)
}

/**
 * Settles with the promise, or rejects with the signal's reason as soon as the signal is aborted.
 * @template T
 * @param {AbortSignal} signal
 * @param {Promise<T>} promise
 * @returns {Promise<T>}
 */
function abortable(signal, promise) {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
    if (signal.aborted) abort()
  })
}
