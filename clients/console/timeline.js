/**
 * Timeline of a turn: the start and duration of retrieval, of each model reply and of each tool call.
 *
 * @module
 */

import { el } from './dom.js'
import { duration } from './format.js'
import { chunkRefs } from './sources.js'

/**
 * @typedef {'retrieval' | 'model' | 'server' | 'client'} Kind
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
 * @param {import('./trace.js').TracedTurn} turn
 * @param {Bar[]} allBars
 */
export function timeline(turn, allBars) {
  if (!allBars.length) return ''
  const end = Date.parse(turn.StatusTimeStamp) - Date.parse(turn.CreationDate)
  const total = Math.max(1, end, ...allBars.map(({ from, ms }) => from + ms))
  const rows = allBars.map(({ label, kind, from, ms }) => {
    const bar = el('span', { class: `bar ${kind}` })
    bar.style.marginInlineStart = `${(100 * from) / total}%`
    bar.style.inlineSize = `${(100 * ms) / total}%`
    const durationLabel = el('span', { class: 'number' }, el('span', { class: 'visually-hidden' }, `starts at ${duration(from)}, takes `), duration(ms))
    return el('li', {}, el('span', {}, label), el('span', { class: 'track', 'aria-hidden': 'true' }, bar), durationLabel)
  })
  return el(
    'section',
    { class: 'card', 'aria-label': 'Timeline' },
    el('h2', {}, 'Timeline'),
    el('ol', { class: 'timeline' }, rows),
  )
}
