/**
 * Where a turn's time went: each reply of the model, and each call in it, by when it began and how long it took.
 *
 * @module
 */

import { el } from './dom.js'
import { took } from './format.js'

/** @typedef {{ label: string, kind: 'model' | 'server' | 'client', from: number, ms: number }} Bar */

/**
 * What is known of when things happened, in milliseconds since the turn began. Calls are told how long they took, not
 * when they began: they are shown behind the reply that made them, the service's beside each other, the client's one
 * after the other.
 * @param {import('./trace.js').TracedTurn} turn
 * @param {import('./trace.js').Step[]} steps
 * @returns {Bar[]}
 */
export function bars(turn, steps) {
  const began = Date.parse(turn.CreationDate)
  return steps.flatMap((step) => {
    if (step.AskedDate === undefined || step.ModelMs === undefined) return []
    const from = Math.max(0, Date.parse(step.AskedDate) - began)
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
  const known = bars(turn, steps)
  if (!known.length) return ''
  const end = Date.parse(turn.StatusTimeStamp) - Date.parse(turn.CreationDate)
  const all = Math.max(1, end, ...known.map(({ from, ms }) => from + ms))
  const rows = known.map(({ label, kind, from, ms }) => {
    const bar = el('span', { class: `bar ${kind}` })
    bar.style.marginInlineStart = `${(100 * from) / all}%`
    bar.style.inlineSize = `${(100 * ms) / all}%`
    const told = el('span', { class: 'number' }, el('span', { class: 'unseen' }, `after ${took(from)}, took `), took(ms))
    return el('li', {}, el('span', {}, label), el('span', { class: 'track', 'aria-hidden': 'true' }, bar), told)
  })
  return el(
    'section',
    { class: 'card', 'aria-label': 'Timeline' },
    el('h2', {}, 'Timeline'),
    el('ol', { class: 'timeline' }, rows),
  )
}
