/**
 * Scripts for the mock model: what it is to say, call and fail with, and every event that comes of it.
 *
 * @module
 */

import { script } from '../javascript/src/testing.js'
import { button, el, failure, fill, labelled, Signal, tell } from './dom.js'
import { at, took } from './format.js'
import { hand } from './handed.js'
import { markdown } from './markdown.js'

/** As many events are listed. */
const MOST_EVENTS = 300

/** What can be added to a script, as its language has it. */
const STEPS = [
  ['say', 'say "Hello."'],
  ['words', 'words 100'],
  ['pace', 'pace 20ms'],
  ['think', 'think "The user greets."'],
  ['call', 'call agent_list_modes {}'],
  ['then', 'then'],
  ['hang', 'hang 2s'],
  ['delay', 'delay 2s'],
  ['status', 'status 503 times 2'],
  ['drop', 'drop times 1'],
  ['cut', 'cut after 6 events'],
  ['fail', 'fail server_error'],
  ['incomplete', 'incomplete max_output_tokens'],
  ['echo', 'echo'],
]

/** @type {[string, import('../javascript/src/testing.js').Script][]} */
const EXAMPLES = [
  ['An answer', script().pace(20).words(60)],
  [
    'A tool of the server',
    script().say('Looking. ').call('agent_list_modes').afterTools().pace(20).say('There are some modes.'),
  ],
  ['A tool of the client', script().call('workspace_read_file', { path: 'a.rs' }).afterTools().echo()],
  ['A provider that fails twice', script().status(503, { times: 2 }).say('At last.')],
  ['A broken answer', script().say('Half an ans').cut(6)],
]

/**
 * @param {import('./connection.js').Connection} connection
 * @returns {import('./main.js').View}
 */
export function playground({ aptix }) {
  const field = el('textarea', { rows: 8, spellcheck: 'false', class: 'source' })
  const events = el('ol')
  const listed = el('div', { class: 'events', tabindex: 0, role: 'group', 'aria-label': 'Events' }, events)
  const answer = el('div', { class: 'answer' })
  const problem = el('div', {})
  const isRunning = new Signal(false)
  /** @type {import('../javascript/src/index.js').Turn | undefined} */
  let turn
  field.value = lines(String(EXAMPLES[0]?.[1]))

  const run = el('button', { type: 'button', class: 'primary', onclick: () => void start() }, 'Run')
  const stop = button('Stop', () => turn?.stop().catch((error) => fill(problem, failure(error))))
  isRunning.each((is) => {
    run.disabled = is
    stop.hidden = !is
  })
  const inChat = button('In the chat', async () => {
    hand('draft', directive())
    location.hash = at('chat', aptix.session().id, 'new')
  })
  const add = (/** @type {string} */ step) => {
    field.value = [field.value.trimEnd(), step].filter(Boolean).join('\n')
    tell(`${step} is added.`)
  }
  const node = el(
    'div',
    {},
    el('h1', {}, 'Playground'),
    el(
      'p',
      { class: 'soft' },
      'The mock model does what a script tells it: a test double, and no model. One step per line.',
    ),
    el(
      'div',
      { class: 'row' },
      el('span', { class: 'soft' }, 'Examples'),
      EXAMPLES.map(([name, example]) =>
        button(name, async () => (field.value = lines(String(example))), { class: 'quiet' }),
      ),
    ),
    el(
      'div',
      { class: 'row', role: 'group', 'aria-label': 'Steps' },
      STEPS.map(([name, step]) => button(`+ ${name}`, async () => add(step ?? ''), { class: 'quiet' })),
    ),
    labelled('Script', field),
    el('div', { class: 'row' }, run, stop, inChat),
    problem,
    el(
      'div',
      { class: 'columns' },
      el('section', { class: 'card', 'aria-label': 'Answer' }, el('h2', {}, 'Answer'), answer),
      el('section', { class: 'card' }, el('h2', {}, 'Events'), listed),
    ),
  )

  const directive = () =>
    `[[script: ${field.value
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean)
      .join('; ')}]]`

  async function start() {
    fill(events)
    fill(answer)
    fill(problem)
    isRunning.value = true
    const began = performance.now()
    const note = (/** @type {string} */ type, /** @type {string} */ detail) => {
      if (events.children.length >= MOST_EVENTS) return
      events.append(
        el(
          'li',
          {},
          el('span', { class: 'number' }, took(performance.now() - began)),
          el('strong', {}, type),
          el('code', {}, detail.slice(0, 400)),
        ),
      )
      listed.scrollTop = listed.scrollHeight
    }
    try {
      turn = aptix.session().send(directive())
      for await (const event of turn) {
        const { type, ...rest } = event
        note(
          type,
          type === 'retry'
            ? `${event.error.code}, again in ${event.pauseMs} ms`
            : type === 'result'
              ? JSON.stringify(event.answer.response)
              : JSON.stringify(rest),
        )
        fill(answer, markdown(turn.text))
        if (type === 'result' && event.answer.calls.length)
          note('calls', event.answer.calls.map(({ name }) => name).join(', '))
      }
      tell('The script has run.')
    } catch (error) {
      fill(problem, failure(error))
    } finally {
      isRunning.value = false
    }
  }

  return { title: 'Playground', node, end: () => void (isRunning.value && turn?.stop().catch(() => {})) }
}

/**
 * A directive with a step per line.
 * @param {string} directive
 */
const lines = (directive) =>
  directive
    .replace(/^\[\[script: /, '')
    .replace(/\]\]$/, '')
    .replaceAll('; ', '\n')
