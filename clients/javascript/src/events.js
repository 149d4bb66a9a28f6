/**
 * What happens in a turn. Types alone.
 *
 * @module
 */

/**
 * What a turn is at, as the API tells it. More phases may be added. `Round` says which of the model's replies it is about.
 * @typedef {{
 *   Phase: 'working' | 'retrieving' | 'rebuilding_history' | 'thinking' | 'retrying' | 'tool' | 'waiting_for_tools',
 *   Attempt: number, Round?: number, ToolName?: string, ToolCallId?: string, RetryAfterSeconds?: number,
 * }} Status
 *
 * More of the answer. `index` is where it begins, in UTF-16 code units: the length of what was shown before.
 * @typedef {{ type: 'delta', text: string, index: number }} DeltaEvent
 *
 * What was shown so far is not the answer. `reason` is the API's, or `mended` where this client noticed.
 * @typedef {{
 *   type: 'reset', reason?: 'tools' | 'retry' | 'restated' | 'taken_over' | 'replaced' | 'failed' | 'mended',
 * }} ResetEvent
 *
 * What the turn is at now. It is not told again: a stream that goes on after a lost connection may leave some out.
 * @typedef {{ type: 'status', status: Status }} StatusEvent
 *
 * A tool of this client is about to be run.
 * @typedef {{ type: 'tool-call', call: Call }} ToolCallEvent
 *
 * What it came to: `output`, or `error`.
 * @typedef {{ type: 'tool-result', call: Call, output?: unknown, error?: string, refused: boolean, tookMs: number }} ToolResultEvent
 *
 * The connection was lost, or the API wants the same request later; this client comes back by itself.
 * @typedef {{ type: 'retry', error: import('./errors.js').AptixError, pauseMs: number }} RetryEvent
 *
 * The turn was stopped; `text` is what was shown of its answer.
 * @typedef {{ type: 'stopped', text: string }} StoppedEvent
 *
 * What the turn came to; the last event.
 * @typedef {{ type: 'result', answer: Answer }} ResultEvent
 *
 * @typedef {DeltaEvent | ResetEvent | StatusEvent | ToolCallEvent | ToolResultEvent | RetryEvent | StoppedEvent | ResultEvent} Event
 */

/**
 * A call for a tool of this client. `args` are its arguments, read; undefined where they are no JSON.
 * @typedef {{ id: string, name: string, args: any, json: string }} Call
 *
 * What a turn came to. `calls` are those that wait for their results, where no `tools` were given; then the turn goes
 * on with `session.submit`. `response` is what the API answered.
 * @typedef {{
 *   text: string, calls: Call[], files: import('./wire.js').FileRef[], usage?: import('./wire.js').Usage,
 *   warnings: string[], mode: string, response: import('./wire.js').Final | import('./wire.js').Continuation,
 * }} Answer
 */

export {}
