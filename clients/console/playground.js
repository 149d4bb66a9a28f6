/**
 * The playground page: builds scripts for the mock model, runs them and lists the events.
 *
 * @module
 */

import { script } from '../javascript/src/testing.js'
import { button, el, errorMessage, fill, labelledField, Signal, announce } from './dom.js'
import { duration, pageUrl } from './format.js'
import { setHandoff } from './handoff.js'
import { markdown } from './markdown.js'
import { lineAt, STEPS, suggestions, wrongLine } from './script-help.js'

/** Events listed, at most. */
const MAX_EVENTS = 300

/** @type {[string, import('../javascript/src/testing.js').Script][]} */
const EXAMPLES = [
  ['Plain answer', script().pace(20).words(60)],
  [
    'Server tool',
    script().say('Looking. ').call('agent_list_modes').afterTools().pace(20).say('There are some modes.'),
  ],
  ['Client tool', script().call('workspace_read_file', { path: 'a.rs' }).afterTools().echo()],
  ['Provider that fails twice', script().status(503, { times: 2 }).say('At last.')],
  ['Truncated answer', script().say('Half an ans').cut(6)],
]

/**
 * @param {import('./connection.js').Connection} connection
 * @returns {import('./main.js').View}
 */
export function playground({ aptix }) {
  const field = el('textarea', { rows: 8, spellcheck: 'false', class: 'code-input', 'aria-describedby': 'step-help' })
  const help = el('div', { id: 'step-help', class: 'step-help' })
  const events = el('ol')
  const eventList = el('div', { class: 'events', tabindex: 0, role: 'group', 'aria-label': 'Events' }, events)
  const answer = el('div', { class: 'answer' }, el('p', { class: 'muted' }, 'Run the script to see its answer and events.'))
  const problem = el('div', {})
  const isRunning = new Signal(false)
  /** @type {import('../javascript/src/index.js').Turn | undefined} */
  let turn
  field.value = toLines(String(EXAMPLES[0]?.[1]))

  const run = el('button', { type: 'button', class: 'primary', onclick: () => void start() }, 'Run')
  const stop = button('Stop', () => turn?.stop().catch((error) => fill(problem, errorMessage(error))))
  isRunning.subscribe((value) => {
    run.disabled = value
    stop.hidden = !value
  })
  const inChat = button('Open in chat', async () => {
    setHandoff('draft', toDirective())
    location.hash = pageUrl('chat', aptix.session().id, 'new')
  })
  const add = (/** @type {string} */ step) => {
    field.value = [field.value.trimEnd(), step].filter(Boolean).join('\n')
    announce(`Added: ${step}`)
    showHelp()
  }
  /** Shows what the line with the cursor may become, and what is wrong. */
  function showHelp() {
    const { line } = lineAt(field.value, field.selectionStart)
    const found = suggestions(line)
    const wrong = wrongLine(field.value)
    const [first] = found
    const isTyping = first && line.trim() !== '' && !line.trimStart().startsWith(first[0])
    fill(
      help,
      wrong && !isTyping ? el('small', { class: 'error' }, wrong) : first && line.trim() !== '' && el('small', {}, el('code', {}, first[1]), ` ${first[2]}.${isTyping ? ' Tab completes it.' : ''}`),
    )
  }
  field.addEventListener('input', showHelp)
  field.addEventListener('click', showHelp)
  field.addEventListener('keyup', showHelp)
  field.addEventListener('keydown', (event) => {
    if (event.key !== 'Tab' || event.shiftKey) return
    const { line, start: from, end } = lineAt(field.value, field.selectionStart)
    const [first] = suggestions(line)
    // Without a word to complete, Tab leaves the field.
    if (!first || line.trim() === '' || line.trimStart().startsWith(first[0])) return
    event.preventDefault()
    field.setRangeText(first[1], from, end, 'end')
    showHelp()
  })
  const examples = EXAMPLES.map(([name, example]) =>
    button(name, async () => {
      field.value = toLines(String(example))
      showHelp()
    }, { class: 'chip' }),
  )
  const steps = STEPS.map(([name, step, about]) => button(`+ ${name}`, async () => add(step), { class: 'chip', title: about }))
  const node = el(
    'div',
    {},
    el('h1', {}, 'Playground'),
    el('p', { class: 'muted' }, 'A script defines what the mock model outputs, one step per line. Use it to see how your client handles tools, slow answers and failures.'),
    el(
      'div',
      { class: 'columns' },
      el(
        'section',
        { class: 'card', 'aria-label': 'Script' },
        el('h2', {}, 'Script'),
        el('div', { class: 'row', role: 'group', 'aria-label': 'Examples' }, examples),
        labelledField('Steps', field),
        help,
        el('div', { class: 'row', role: 'group', 'aria-label': 'Steps' }, steps),
        el('div', { class: 'row' }, run, stop, inChat),
        problem,
      ),
      el(
        'div',
        {},
        el('section', { class: 'card', 'aria-label': 'Answer' }, el('h2', {}, 'Answer'), answer),
        el('section', { class: 'card', 'aria-label': 'Events of the turn' }, el('h2', {}, 'Events'), el('p', { class: 'muted' }, 'Time, type and content of each event of the stream.'), eventList),
      ),
    ),
  )

  const toDirective = () =>
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
    const startedAt = performance.now()
    /** Pieces of text that follow each other are one row. */
    let pieces = 0
    const addEvent = (/** @type {string} */ type, /** @type {string} */ detail) => {
      const last = events.lastElementChild
      pieces = type === 'delta' ? pieces + 1 : 0
      if (pieces > 1 && last) {
        fill(/** @type {Element} */ (last.children[1]), `${type} ×${pieces}`)
        fill(/** @type {Element} */ (last.lastElementChild), detail.slice(0, 400))
        return
      }
      if (events.children.length >= MAX_EVENTS) return
      events.append(
        el(
          'li',
          {},
          el('span', { class: 'number' }, duration(performance.now() - startedAt)),
          el('strong', {}, type),
          el('code', {}, detail.slice(0, 400)),
        ),
      )
      eventList.scrollTop = eventList.scrollHeight
    }
    try {
      turn = aptix.session().send(toDirective())
      for await (const event of turn) {
        const { type, ...rest } = event
        addEvent(
          type,
          type === 'retry'
            ? `${event.error.code}, retry in ${event.delayMs} ms`
            : type === 'result'
              ? JSON.stringify(event.answer.response)
              : JSON.stringify(rest),
        )
        fill(answer, markdown(turn.text))
        if (type === 'result' && event.answer.calls.length)
          addEvent('calls', event.answer.calls.map(({ name }) => name).join(', '))
      }
      announce('Script finished.')
    } catch (error) {
      fill(problem, errorMessage(error))
    } finally {
      isRunning.value = false
    }
  }

  return { title: 'Playground', node, dispose: () => void (isRunning.value && turn?.stop().catch(() => {})) }
}

/**
 * Converts a directive to one step per line.
 * @param {string} directive
 */
const toLines = (directive) =>
  directive
    .replace(/^\[\[script: /, '')
    .replace(/\]\]$/, '')
    .replaceAll('; ', '\n')
