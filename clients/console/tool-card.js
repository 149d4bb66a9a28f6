/**
 * Card of a pending tool call. The page runs a call on the files of the conversation when the user confirms it, once or for the
 * rest of the session. The user can also edit the arguments, write or edit every result, or refuse the call. A card with a result
 * is folded. It says that the result was sent only once the API has accepted it.
 *
 * @module
 */

import { escapeInvisible } from '../javascript/src/patch.js'
import { invisibleWarning } from './diff.js'
import { button, el, errorMessage, fill } from './dom.js'
import { duration, prettyJson } from './format.js'
import { icon } from './icons.js'
import { valueView } from './value-view.js'

/**
 * @typedef {import('../javascript/src/index.js').Call} Call
 * @typedef {import('./page-tools.js').Tool} Tool
 * @typedef {{ id: string, output?: unknown, error?: string, durationMs: number }} Result
 */

/** Longest summary of arguments in a card's head. */
const MAX_SUMMARY_CHARS = 120

/**
 * @param {Call} call
 * @param {Record<string, Tool>} tools
 * @param {import('./always.js').AlwaysAllowed} always
 * @param {{ saved: Result | undefined, isAlone: boolean, onReady: (result: Result) => void }} round a result from before a reload, and
 *   whether the round has no other call
 */
export function toolCard(call, tools, always, { saved, isAlone, onReady }) {
  /** @type {(result: Result) => void} */
  let settle = () => {}
  const result = /** @type {Promise<Result>} */ (new Promise((resolve) => (settle = resolve)))
  const startedAt = performance.now()
  const id = `call-${call.id.replace(/\W/g, '-')}`
  const name = escapeInvisible(call.name)
  const tool = Object.hasOwn(tools, call.name) ? tools[call.name] : undefined
  const verb = tool?.verb ?? 'Run'
  let args = call.args
  const argsView = el('div', {}, valueView('Arguments', call.argsJson))
  const field = el('textarea', { rows: 2, id, spellcheck: 'false', placeholder: 'JSON or text' })
  const label = el('label', { for: id, class: 'muted' }, 'Result, or reason for refusing')
  const state = el('p', { class: 'muted', role: 'status' })
  const status = el('span', { class: 'tag pending' }, 'needs approval')
  const byHand = el('details', { class: 'by-hand', open: !tool }, el('summary', {}, 'Result by hand'), label, field)
  const previewArea = el('div', {})
  const actionArea = el('div', {})

  /** @type {Result | undefined} */
  let ready
  const show = (/** @type {Result} */ value) => {
    ready = value
    buttons.remove()
    showArgs()
    byHand.replaceWith(valueView('Result', value.error ?? JSON.stringify(value.output)))
    const what = value.error === undefined ? 'The result' : 'The refusal'
    state.textContent = isAlone ? `Sending ${what.toLowerCase()}…` : `${what} is ready. It is sent with the results of the other calls.`
    showStatus(status, 'ready')
    fold(node, body)
    settle(value)
  }
  const finish = (/** @type {{ output?: unknown, error?: string }} */ outcome) => {
    const value = { id: call.id, ...outcome, durationMs: performance.now() - startedAt }
    onReady(value)
    show(value)
  }
  const showSent = () => {
    if (!ready) return
    state.textContent = `${ready.error === undefined ? 'Result sent' : 'Refused'} after ${duration(ready.durationMs)}.`
    showStatus(status, ready.error === undefined ? 'done' : 'refused')
  }
  const showNotSent = () => {
    buttons.remove()
    state.textContent = 'No result was sent.'
    showStatus(status, 'not sent')
  }
  /** Member of the arguments that the preview shows better, once there is one. @type {string | undefined} */
  let previewed
  const showPreview = (/** @type {Node} */ shown, /** @type {string | undefined} */ member) => {
    fill(previewArea, shown)
    previewed = member
    if (edit.getAttribute('aria-pressed') === 'false') showArgs()
    if (node.contains(document.activeElement)) showButtons()
  }
  const preview = () =>
    tool?.preview?.(args).then((shown) => showPreview(shown, tool.previewed), (error) => showPreview(errorMessage({ message: errorText(error) }), undefined))
  const showButtons = () => buttons.scrollIntoView({ block: 'nearest' })

  /** Runs the tool. Returns true if it has a result. */
  const runTool = async () => {
    try {
      showStatus(status, 'running')
      field.value = JSON.stringify(await tool?.run(args), undefined, 2)
      const action = await tool?.resultAction?.(args)
      if (action) actionArea.replaceChildren(action)
      return true
    } catch (error) {
      fill(state, el('span', { class: 'error' }, `Failed: ${errorText(error)}`), ' Write a result or refuse.')
      return false
    } finally {
      showStatus(status, 'needs approval')
    }
  }
  const runForReview = async () => {
    if (!(await runTool())) return
    byHand.open = true
    state.textContent = 'Done. Review the result and send it.'
    run.classList.remove('primary')
    send.classList.add('primary')
    send.focus()
    showButtons()
  }
  /** Runs the tool and sends its result without a review. The card stays open if the tool fails. */
  const runAlways = async () => {
    if (await runTool()) finish({ output: parseResult(field.value) })
  }
  const allow = async () => {
    always.allow(call.name)
    await runAlways()
  }
  const sendResult = () => {
    if (field.value.trim() !== '') return finish({ output: parseResult(field.value) })
    state.textContent = `The result is empty. ${tool ? `Press ${verb}, or write` : 'Write'} one, or refuse the call.`
    byHand.open = true
    field.focus()
  }
  const argsText = () => (args === call.args ? call.argsJson : JSON.stringify(args))
  const showArgs = () => {
    const { [previewed ?? '']: _, ...others } = Object(args)
    fill(argsView, valueView('Arguments', previewed ? JSON.stringify(others) : argsText()))
    edit.setAttribute('aria-pressed', 'false')
  }
  const editArgs = () => {
    if (edit.getAttribute('aria-pressed') === 'true') return showArgs()
    const argsField = el('textarea', { rows: 5, spellcheck: 'false', 'aria-label': 'Arguments' }, prettyJson(argsText()))
    argsField.addEventListener('input', () => {
      const edited = parseArgs(argsField.value)
      state.textContent = edited === undefined ? 'The arguments are no valid JSON.' : ''
      run.disabled = edited === undefined
      if (edited !== undefined) args = edited
    })
    argsField.addEventListener('change', () => void preview())
    fill(argsView, argsField)
    edit.setAttribute('aria-pressed', 'true')
    // The button is disabled while its action runs, and would take the focus back.
    queueMicrotask(() => argsField.focus())
  }
  const run = button(verb, runForReview, { class: 'primary' })
  const edit = button('Edit', editArgs, { 'aria-pressed': 'false', title: 'Edit the arguments' })
  const allowButton = button(`Always ${verb.toLowerCase()}`, allow, { title: `${verb} ${name} in this session without asking, and send the result` })
  const send = button('Send result', sendResult, { class: tool ? '' : 'primary' })
  const refuse = button('Refuse', () => finish({ error: field.value.trim() || 'The user declined this call.' }))
  const buttons = el('div', { class: 'row' }, tool && run, tool && edit, tool && allowButton, send, refuse)
  const warning = invisibleWarning([call.name, ...Object.values(Object(call.args)).filter((value) => typeof value === 'string')].join('\n'))
  const body = el('div', { class: 'tool-body' }, argsView, warning, previewArea, byHand, state, actionArea, buttons)
  const node = card(name, call.argsJson, status, body)
  if (saved) show(saved)
  else void preview()

  return {
    node,
    result,
    focus: () => ((tool ? run : field).focus(), showButtons()),
    showSent,
    showNotSent,
    isOpen: () => buttons.isConnected,
    isRunnable: () => tool !== undefined && !ready,
    /** Runs the tool once, and sends its result without a review. */
    run: async () => (tool && !ready ? runAlways() : undefined),
    /** Runs a tool that the user allowed for the session. */
    runIfAllowed: async () => (tool && !ready && always.has(call.name) ? runAlways() : undefined),
    refuse: () => ready || refuse.click(),
  }
}

/**
 * Creates the actions on several calls of a round. Empty if fewer than two are open.
 * @param {ReturnType<typeof toolCard>[]} cards
 */
export function roundActions(cards) {
  const node = el('div', { class: 'row round-actions' })
  const open = () => cards.filter(({ isOpen }) => isOpen())
  const runAll = async () => {
    // One after another, since a call can change what the next one reads.
    for (const card of open()) await card.run()
    open()[0]?.focus()
  }
  const update = () => {
    const count = open().length
    if (count < 2) return node.remove()
    const runnable = open().filter(({ isRunnable }) => isRunnable()).length
    fill(
      node,
      runnable > 1 && button(`Run all ${runnable} and send`, runAll, { title: 'Without a review of the results' }),
      button(`Refuse all ${count}`, () => cards.forEach((card) => card.refuse())),
    )
  }
  update()
  for (const { result } of cards) {
    void result.then(() => {
      update()
      // The button that was pressed is gone.
      if (document.activeElement === document.body) open()[0]?.focus()
    })
  }
  return node
}

/**
 * Shows a call that can no longer be answered.
 * @param {import('../javascript/src/wire.js').StepCall} call
 */
export function finishedCallCard({ Name, ArgumentsJson, ResultJson, ErrorMessage, ExecutionMs, IsPending }) {
  const outcome = ErrorMessage === undefined ? 'Result sent' : 'Refused'
  const status = el('span', { class: 'tag' })
  showStatus(status, IsPending ? 'not sent' : ErrorMessage === undefined ? 'done' : 'refused')
  const body = el(
    'div',
    { class: 'tool-body' },
    valueView('Arguments', ArgumentsJson),
    !IsPending && valueView('Result', ErrorMessage ?? ResultJson ?? ''),
    el('p', { class: 'muted' }, IsPending ? 'No result was sent.' : `${outcome} after ${duration(ExecutionMs)}.`),
  )
  const node = card(escapeInvisible(Name), ArgumentsJson, status, body)
  fold(node, body)
  return node
}

/**
 * @param {string} name
 * @param {string} argsJson
 * @param {HTMLElement} status
 * @param {HTMLElement} body
 */
function card(name, argsJson, status, body) {
  const head = el('div', { class: 'tool-head' }, icon('tool'), el('h2', {}, el('code', {}, name)), el('span', { class: 'summary', 'aria-hidden': 'true' }, summary(argsJson)), status)
  return el('div', { class: 'card tool', role: 'group', 'aria-label': `Tool call: ${name}` }, head, body)
}

/**
 * Folds arguments and result of a finished card. The last line and a download stay visible.
 * @param {HTMLElement} node
 * @param {HTMLElement} body
 */
function fold(node, body) {
  node.classList.add('finished')
  const details = el('details', {}, el('summary', {}, 'Arguments and result'))
  const folded = [...body.children].filter((child) => child.matches('pre') || child.querySelector('pre') || child.matches('.warnings'))
  details.append(...folded)
  body.prepend(details)
}

/**
 * @param {HTMLElement} status
 * @param {'needs approval' | 'running' | 'ready' | 'done' | 'refused' | 'not sent'} name
 */
function showStatus(status, name) {
  const kind = { 'needs approval': 'pending', running: 'running', ready: 'pending', done: 'completed', refused: 'failed', 'not sent': '' }[name]
  status.className = `tag ${kind}`
  status.textContent = name
}

/** @param {string} argsJson */
function summary(argsJson) {
  try {
    const values = Object.entries(Object(JSON.parse(argsJson))).map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    // A text of several lines, such as a patch, says little in one.
    return escapeInvisible(values.filter((value) => !value.includes('\n')).join(', ').slice(0, MAX_SUMMARY_CHARS))
  } catch {
    return ''
  }
}

/** @param {unknown} error */
const errorText = (error) => escapeInvisible(/** @type {Error} */ (error).message)

/**
 * @param {string} text
 * @returns {any} undefined if the text is no JSON
 */
function parseArgs(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Parses JSON; returns any other text as a string.
 * @param {string} text
 */
function parseResult(text) {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
