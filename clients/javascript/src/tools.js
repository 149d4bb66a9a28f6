/**
 * The tools that run on this side.
 *
 * @module
 */

/**
 * @typedef {import('./events.js').Call} Call
 *
 * Runs a call; what it returns is told the model as JSON, what it throws by its message. `signal` is aborted when the
 * turn is stopped, or no longer listened to, or the call takes too long.
 * @typedef {(args: any, context: { call: Call, signal: AbortSignal }) => unknown} Tool
 *
 * Whether a call may run: asked before each. Anything but `true` refuses it, and a text says why.
 * @typedef {(call: Call) => boolean | string | Promise<boolean | string>} Approve
 *
 * @typedef {object} Toolbox
 * @property {Record<string, Tool>} tools By their names.
 * @property {Approve} [approve]
 * @property {number} toolTimeoutMs
 * @property {AbortSignal} signal
 * @property {(event: import('./events.js').ToolCallEvent | import('./events.js').ToolResultEvent) => void} tell
 */

/** The API's limits of a result, in characters. */
const MOST_RESULT = 1_048_576
const MOST_MESSAGE = 65_536
/**
 * Its limit of a request, in bytes, less the ids around the results. A function gets a request as a string within JSON, and
 * what has to be escaped there counts too.
 */
const MOST_BYTES = (4 << 20) - 1024
const LEFT_OUT = 'The results of these calls are larger than a request may be: this one was left out.'

/**
 * @param {import('./wire.js').ToolCall} call
 * @returns {Call}
 */
export function call({ ToolCallId, Name, ArgumentsJson }) {
  let args
  try {
    args = JSON.parse(ArgumentsJson)
  } catch {
    args = undefined
  }
  return { id: ToolCallId, name: Name, args, json: ArgumentsJson }
}

/**
 * Runs one call, once. It never throws but when the turn is no longer listened to.
 * @param {Call} call
 * @param {Toolbox} toolbox
 * @returns {Promise<import('./wire.js').ToolResult>}
 */
export async function run(call, { tools, approve, toolTimeoutMs, signal, tell }) {
  tell({ type: 'tool-call', call })
  const refusal = await until(signal, refused(call, tools, approve))
  const began = performance.now()
  /** @type {{ output?: unknown, ResultJson?: string, error?: string }} */
  let outcome
  if (refusal !== undefined) outcome = { error: refusal }
  else {
    try {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(toolTimeoutMs)])
      const tool = /** @type {Tool} */ (tools[call.name])
      const output = await until(limit, Promise.resolve(tool(call.args, { call, signal: limit })))
      outcome = written(output)
    } catch (error) {
      signal.throwIfAborted()
      outcome = { error: said(error) }
    }
  }
  const tookMs = Math.max(0, Math.round(performance.now() - began))
  const { output, ResultJson, error } = outcome
  tell({ type: 'tool-result', call, ...(error === undefined ? { output } : { error }), refused: refusal !== undefined, tookMs })
  return error === undefined
    ? { ToolCallId: call.id, ExecutionMs: tookMs, ResultJson }
    : { ToolCallId: call.id, ExecutionMs: tookMs, ErrorMessage: error }
}

/**
 * The results as one request takes them. Where they are too much together, the largest are left out, and the model is told
 * so: it may ask again for less.
 * @param {import('./wire.js').ToolResult[]} results
 * @returns {import('./wire.js').ToolResult[]}
 */
export function fitting(results) {
  const size = (/** @type {unknown} */ value) => new TextEncoder().encode(JSON.stringify(JSON.stringify(value))).length
  const sizes = results.map(size)
  const fitting = [...results]
  for (let all = sizes.reduce((sum, size) => sum + size + 1, 0); all > MOST_BYTES; ) {
    const largest = sizes.indexOf(Math.max(...sizes))
    const { ToolCallId, ExecutionMs } = /** @type {import('./wire.js').ToolResult} */ (fitting[largest])
    const left = { ToolCallId, ExecutionMs, ErrorMessage: LEFT_OUT }
    fitting[largest] = left
    all -= (sizes[largest] ?? 0) - size(left)
    sizes[largest] = 0
  }
  return fitting
}

/**
 * What results given by hand look like on the wire.
 * @param {{ id: string, output?: unknown, error?: string, tookMs?: number }[]} results
 * @returns {import('./wire.js').ToolResult[]}
 */
export function results(results) {
  return results.map(({ id, output, error, tookMs = 0 }) => {
    const told = error === undefined ? written(output) : { error: error || 'The tool failed.' }
    const ExecutionMs = Math.max(0, Math.round(tookMs))
    return told.error === undefined
      ? { ToolCallId: id, ExecutionMs, ResultJson: told.ResultJson }
      : { ToolCallId: id, ExecutionMs, ErrorMessage: told.error.slice(0, MOST_MESSAGE) }
  })
}

/**
 * @param {Call} call
 * @param {Record<string, Tool>} tools
 * @param {Approve | undefined} approve
 */
async function refused(call, tools, approve) {
  if (!Object.hasOwn(tools, call.name)) return `This client has no tool ${call.name}.`
  if (call.args === undefined) return 'The arguments are not JSON.'
  if (!approve) return undefined
  try {
    const answer = await approve(call)
    if (answer === true) return undefined
    return typeof answer === 'string' && answer !== '' ? answer : 'The user declined this call.'
  } catch (error) {
    return said(error)
  }
}

/**
 * @param {unknown} output
 * @returns {{ output?: unknown, ResultJson?: string, error?: string }}
 */
function written(output) {
  let json
  try {
    json = JSON.stringify(output) ?? 'null'
  } catch {
    return { error: "The tool's result can't be written as JSON." }
  }
  if (json.length > MOST_RESULT) return { error: `The tool's result is larger than ${MOST_RESULT} characters of JSON.` }
  return { output, ResultJson: json }
}

/** @param {unknown} error */
function said(error) {
  const message = error instanceof Error ? error.message : String(error)
  return (message || 'The tool failed.').slice(0, MOST_MESSAGE)
}

/**
 * @template T
 * @param {AbortSignal} signal
 * @param {Promise<T>} promise
 * @returns {Promise<T>}
 */
function until(signal, promise) {
  return new Promise((resolve, reject) => {
    const end = () => reject(signal.reason)
    signal.addEventListener('abort', end, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', end))
    if (signal.aborted) end()
  })
}
