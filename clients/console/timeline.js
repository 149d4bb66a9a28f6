/**
 * Timeline of a turn: the start and duration of each model reply and each tool call.
 *
 * @module
 */

import { el } from './dom.js'
import { duration } from './format.js'

/** @typedef {{ label: string, kind: 'model' | 'server' | 'client', from: number, ms: number }} Bar */

/**
 * Returns the bars of the timeline, in milliseconds since the turn's start. The API reports durations of calls but not their
 * starts, so calls are placed after their reply: server tools in parallel, client tools one after another.
 * @param {import('./trace.js').TracedTurn} turn
 * @param {import('./trace.js').Step[]} steps
 * @returns {Bar[]}
 */
export function bars(turn, steps) {
  const startedAt = Date.parse(turn.CreationDate)
  return steps.flatMap((step) => {
    if (step.AskedDate === undefined || step.ModelMs === undefined) return []
    const from = Math.max(0, Date.parse(step.AskedDate) - startedAt)
    const attempt = step.Attempt !== undefined && step.Attempt > 1 ? `, attempt ${step.Attempt}` : ''
    const model = {
      label: `Round ${step.Round}${attempt}: model`,
      kind: /** @type {const} */ ('model'),
      from,
      ms: step.ModelMs,
    }
    let next = from + step.ModelMs
    const calls = (step.Calls ?? []).map(({ Name, ExecutionMs: ms = 0, RanBy = 'server' }) => {
      const bar = { label: Name, kind: RanBy, from: next, ms }
      if (RanBy === 'client') next += ms
      return bar
    })
    return [model, ...calls]
  })
}

/**
 * @param {import('./trace.js').TracedTurn} turn
 * @param {import('./trace.js').Step[]} steps
 */
export function timeline(turn, steps) {
  const allBars = bars(turn, steps)
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
