/**
 * Types of a turn's events.
 *
 * @module
 */

/**
 * The phase of a running turn. New phases can be added. `Round` is the number of the model's reply.
 * @typedef {{
 *   Phase: 'working' | 'retrieving' | 'rebuilding_history' | 'thinking' | 'retrying' | 'tool' | 'waiting_for_tools' | 'waiting_for_approval',
 *   Attempt: number, Round?: number, ToolName?: string, ToolCallId?: string, ToolProgress?: string, RetryAfterSeconds?: number,
 * }} Status
 *
 * A piece of the answer. `index` is its start in UTF-16 code units: the length of the text so far.
 * @typedef {{ type: 'delta', text: string, index: number }} DeltaEvent
 *
 * The text so far is not the answer: discard it. `reason` comes from the API, or is `corrected` if this client found a mismatch.
 * @typedef {{
 *   type: 'reset', reason?: 'tools' | 'retry' | 'restated' | 'taken_over' | 'replaced' | 'failed' | 'corrected',
 * }} ResetEvent
 *
 * A change of phase. Not replayed: a resumed stream can skip some.
 * @typedef {{ type: 'status', status: Status }} StatusEvent
 *
 * A piece of the model's reasoning, as far as its provider shows it. It is not part of the answer, and not replayed. `round`
 * is the number of the model's reply. `index` is the start in UTF-16 code units; at 0 the reasoning of another model call
 * begins.
 * @typedef {{ type: 'reasoning', text: string, index: number, round: number }} ReasoningEvent
 *
 * A client tool is about to run.
 * @typedef {{ type: 'tool-call', call: Call }} ToolCallEvent
 *
 * The result of a tool call: `output` or `error`. `refused` is set if the tool did not run.
 * @typedef {{ type: 'tool-result', call: Call, output?: unknown, error?: string, refused: boolean, durationMs: number }} ToolResultEvent
 *
 * A request failed and is retried automatically after `delayMs`.
 * @typedef {{ type: 'retry', error: import('./errors.js').AptixError, delayMs: number }} RetryEvent
 *
 * The turn was stopped. `text` is the partial answer.
 * @typedef {{ type: 'stopped', text: string }} StoppedEvent
 *
 * The result of the turn; the last event.
 * @typedef {{ type: 'result', answer: Answer }} ResultEvent
 *
 * @typedef {DeltaEvent | ResetEvent | StatusEvent | ReasoningEvent | ToolCallEvent | ToolResultEvent | RetryEvent | StoppedEvent | ResultEvent} Event
 */

/**
 * A client tool call. `args` are its parsed arguments; undefined if they are not valid JSON.
 * @typedef {{ id: string, name: string, args: any, argsJson: string }} Call
 *
 * The result of a turn. `calls` are the pending tool calls of a turn that was sent without `tools`; continue it with
 * `session.submitToolResults`. `response` is the API's response.
 * @typedef {{
 *   text: string, calls: Call[], files: import('./wire.js').FileRef[], usage?: import('./wire.js').Usage,
 *   warnings: string[], mode: string, response: import('./wire.js').Final | import('./wire.js').Continuation,
 * }} Answer
 */

export {}
