/**
 * Timeline of a turn: the start and duration of retrieval, of each model reply and of each tool call.
 *
 * @module
 */

import { el } from './dom.js'
import { firstTokens } from './first-tokens.js'
import { duration } from './format.js'
import { chunkRefs } from './sources.js'

/**
 * @typedef {'retrieval' | 'model' | 'server' | 'client' | 'storage'} Kind
 * @typedef {{ label: string, kind: Kind, from: number, ms: number }} Bar
 */

/**
 * Returns the bars of the timeline, in milliseconds since the turn's start. The API reports durations of calls but not their
 * starts: server tools start after their reply, in parallel, and client tools after them. Client tools ran one after another
 * only if all of them fit before the next reply.
 * @param {import('./trace.js').TracedTurn} turn
 * @param {import('./trace.js').Step[]} steps
 * @returns {Bar[]}
 */
export function bars(turn, steps) {
  const startedAt = Date.parse(turn.CreationDate)
  const since = (/** @type {string} */ date) => Math.max(0, Date.parse(date) - startedAt)
  const timed = steps.flatMap((step) => {
    const { AskedDate, ModelMs } = step
    return AskedDate === undefined || ModelMs === undefined ? [] : [{ ...step, from: since(AskedDate), ms: ModelMs }]
  })
  const rounds = timed.flatMap(({ Round, Attempt, Calls = [], from, ms }, index) => {
    const attempt = Attempt !== undefined && Attempt > 1 ? `, attempt ${Attempt}` : ''
    const model = { label: `Round ${Round}${attempt}: model`, kind: /** @type {const} */ ('model'), from, ms }
    const bar = (/** @type {import('../javascript/src/wire.js').StepCall} */ { Name, ExecutionMs = 0, RanBy = 'server' }) => ({
      label: Name,
      kind: RanBy,
      from: from + ms,
      ms: ExecutionMs,
    })
    const calls = Calls.map(bar)
    const server = calls.filter(({ kind }) => kind === 'server')
    const client = calls.filter(({ kind }) => kind === 'client')
    let next = Math.max(from + ms, ...server.map((call) => call.from + call.ms))
    const deadline = timed[index + 1]?.from ?? since(turn.StatusTimeStamp)
    const isSequential = sum(client) <= deadline - next
    for (const call of client) {
      call.from = next
      if (isSequential) next += call.ms
    }
    return [model, ...calls]
  })
  const first = timed[0]
  if (first === undefined || chunkRefs(turn).length === 0) return rounds
  return [{ label: 'Preparation and retrieval', kind: 'retrieval', from: 0, ms: first.from }, ...rounds]
}

/** @param {Bar[]} items */
const sum = (items) => items.reduce((total, { ms }) => total + ms, 0)

/**
 * Returns the time during which a bar of this kind runs. Parallel bars count once.
 * @param {Bar[]} allBars
 * @param {Kind} kind
 */
export function elapsed(allBars, kind) {
  let [total, end] = [0, 0]
  for (const { from, ms } of allBars.filter((bar) => bar.kind === kind).sort((one, other) => one.from - other.from)) {
    total += Math.max(0, from + ms - Math.max(from, end))
    end = Math.max(end, from + ms)
  }
  return total
}

/**
 * Returns the bars of the service's own work: before the first model call, and after the last bar until the turn is stored.
 * @param {import('./trace.js').TracedTurn} turn
 * @param {Bar[]} allBars
 * @returns {{ before: Bar[], after: Bar[] }}
 */
export function storageBars(turn, allBars) {
  const first = Math.min(...allBars.map(({ from }) => from))
  const last = Math.max(...allBars.map(({ from, ms }) => from + ms))
  const end = Date.parse(turn.StatusTimeStamp) - Date.parse(turn.CreationDate)
  const bar = (/** @type {string} */ label, /** @type {number} */ from, /** @type {number} */ until) =>
    until > from ? [{ label, kind: /** @type {const} */ ('storage'), from, ms: until - from }] : []
  return {
    before: bar('Accept and prepare', 0, Number.isFinite(first) ? first : 0),
    after: turn.Status?.Id === 'pending' ? [] : bar('Store the answer', Math.max(0, last), end),
  }
}

const LEGEND = /** @type {[Kind, string][]} */ ([
  ['retrieval', 'retrieval'],
  ['model', 'model'],
  ['server', 'server tools'],
  ['client', 'client tools'],
  ['storage', 'service and storage'],
])
/** Parts of the axis. */
const TICKS = 4

/**
 * Shows the bars on one time axis. `select` is called with the number of the step whose row is pressed.
 * @param {import('./trace.js').TracedTurn} turn
 * @param {import('./trace.js').Step[]} steps
 * @param {Bar[]} allBars
 * @param {(round: number) => void} select
 */
export function timeline(turn, steps, allBars, select) {
  if (!allBars.length) return ''
  const { before, after } = storageBars(turn, allBars)
  const shown = [...before, ...allBars, ...after]
  const startedAt = Date.parse(turn.CreationDate)
  const end = Date.parse(turn.StatusTimeStamp) - startedAt
  const total = Math.max(1, end, ...shown.map(({ from, ms }) => from + ms))
  const tokens = firstTokens(turn.Id).flatMap(({ round, at }) => {
    const step = steps.find(({ Round, AskedDate }) => Round === round && AskedDate !== undefined)
    return step ? [{ from: Math.max(0, Date.parse(step.AskedDate ?? '') - startedAt), at: Date.parse(at) - startedAt }] : []
  })
  let round = 0
  const rows = shown.map(({ label, kind, from, ms }) => {
    if (kind === 'model') round += 1
    const step = steps[round - 1]
    const token = kind === 'model' ? tokens.find((candidate) => candidate.from === from && candidate.at > from && candidate.at < from + ms) : undefined
    const wait = token && token.at - from
    const title = `${label}: starts at ${duration(from)}, takes ${duration(ms)}${wait === undefined ? '' : `, first text in this tab after ${duration(wait)}`}`
    const track = el('span', { class: 'track', 'aria-hidden': 'true', title }, barAt(`bar ${kind}`, from, ms, total), wait !== undefined && barAt('bar first-token', from, wait, total))
    const note = wait === undefined ? '' : el('span', { class: 'visually-hidden' }, `, first text after ${duration(wait)}`)
    const durationLabel = el('span', { class: 'number' }, el('span', { class: 'visually-hidden' }, `starts at ${duration(from)}, takes `), duration(ms), note)
    const isCall = kind === 'server' || kind === 'client'
    const name = kind === 'storage' || kind === 'retrieval' || !step ? el('span', {}, label) : el('button', { type: 'button', class: `ghost${isCall ? ' nested' : ''}`, onclick: () => select(step.Round) }, label)
    return el('li', {}, name, track, durationLabel)
  })
  const kinds = new Set(shown.map(({ kind }) => kind))
  const legend = LEGEND.filter(([kind]) => kinds.has(kind)).map(([kind, label]) => el('li', { class: kind }, label))
  const ticks = Array.from({ length: TICKS + 1 }, (_, at) => el('span', {}, duration((total * at) / TICKS)))
  return el(
    'section',
    { class: 'card', 'aria-label': 'Timeline' },
    el('h2', {}, 'Timeline'),
    el('div', { class: 'axis', 'aria-hidden': 'true' }, el('span', {}), el('div', {}, ticks), el('span', {})),
    el('ol', { class: 'timeline' }, rows),
    el('ul', { class: 'legend' }, legend, tokens.length > 0 && el('li', { class: 'striped' }, 'hatched: until the first text, in this tab')),
  )
}

/**
 * @param {string} className
 * @param {number} from
 * @param {number} ms
 * @param {number} total
 */
function barAt(className, from, ms, total) {
  const bar = el('span', { class: className })
  bar.style.insetInlineStart = `${(100 * from) / total}%`
  bar.style.inlineSize = `${(100 * ms) / total}%`
  return bar
}
