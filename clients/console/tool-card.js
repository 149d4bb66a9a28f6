/**
 * Card of a pending tool call. The page only has the files attached to the conversation, and runs a call on them when the user
 * confirms it. The user can also write, edit or refuse every result. A patch changes the page's own copy, which can be
 * downloaded.
 *
 * @module
 */

import { escapeInvisible } from '../javascript/src/patch.js'
import { diffView, invisibleWarning } from './diff.js'
import { button, download, el, errorMessage } from './dom.js'
import { prettyJson, duration } from './format.js'

/**
 * @typedef {import('../javascript/src/index.js').Call} Call
 * @typedef {{ id: string, output?: unknown, error?: string, durationMs: number }} Result
 *
 * A tool that the page can run.
 * @typedef {object} Tool
 * @property {(args: any) => unknown} run
 * @property {string} [verb] label of its button; `Run` by default
 * @property {(args: any) => Promise<Node>} [preview] preview of the call
 * @property {(args: any) => Promise<Node | undefined>} [resultAction] action on the result, such as a download
 */

/**
 * Returns the tools of the default agent, for the attached files.
 * @param {import('./workspace.js').Workspace} workspace
 * @returns {Record<string, Tool>}
 */
export const toolsFor = (workspace) => ({
  workspace_read_file: { run: async ({ path }) => ({ text: await workspace.text(path) }) },
  workspace_list_files: { run: ({ path }) => workspace.list(path) },
  workspace_search_text: { run: ({ pattern, path }) => workspace.search(pattern, path) },
  workspace_write_patch: {
    verb: 'Apply',
    async preview({ path, patch }) {
      const { before, after = '' } = await workspace.previewPatch(path, patch)
      return diffView(after, before, `Changes to ${escapeInvisible(path)}`)
    },
    async run({ path, patch }) {
      const { after } = await workspace.previewPatch(path, patch)
      workspace.write(path, after)
      return { applied: true }
    },
    async resultAction({ path }) {
      const text = await workspace.text(path).catch(() => undefined)
      if (text === undefined) return undefined
      const name = path.split('/').at(-1) ?? path
      return button(`Download ${escapeInvisible(name)}`, () => download(new Blob([text]), name), { class: 'ghost' })
    },
  },
})

/**
 * @param {Call} call
 * @param {Record<string, Tool>} tools
 */
export function toolCard(call, tools) {
  /** @type {(result: Result) => void} */
  let settle = () => {}
  const result = /** @type {Promise<Result>} */ (new Promise((resolve) => (settle = resolve)))
  const startedAt = performance.now()
  const id = `call-${call.id.replace(/\W/g, '-')}`
  const argsJson = prettyJson(call.argsJson)
  const name = escapeInvisible(call.name)
  const field = el('textarea', { rows: 3, id, spellcheck: 'false', placeholder: 'JSON or text' })
  const label = el('label', { for: id }, 'Result, or reason for refusing')
  const state = el('p', { class: 'muted', role: 'status' })
  const tool = Object.hasOwn(tools, call.name) ? tools[call.name] : undefined

  const finish = (/** @type {string} */ outcomeLabel, /** @type {{ output?: unknown, error?: string }} */ outcome) => {
    const durationMs = performance.now() - startedAt
    buttons.remove()
    label.remove()
    const text = outcome.error ?? JSON.stringify(outcome.output, undefined, 2)
    field.replaceWith(el('pre', { tabindex: 0, role: 'group', 'aria-label': 'Result' }, escapeInvisible(text)))
    state.textContent = `${outcomeLabel} after ${duration(durationMs)}.`
    settle({ id: call.id, ...outcome, durationMs })
  }
  const previewArea = el('div', {})
  const actionArea = el('div', {})
  const showPreview = (/** @type {Node} */ shown) => {
    previewArea.append(shown)
    if (node.contains(document.activeElement)) showButtons()
  }
  const showButtons = () => buttons.scrollIntoView({ block: 'nearest' })
  tool?.preview?.(call.args).then(showPreview, (error) => showPreview(errorMessage({ message: errorText(error) })))
  const runTool = async () => {
    try {
      field.value = JSON.stringify(await tool?.run(call.args), undefined, 2)
      state.textContent = 'Done. Review the result and send it.'
      const action = await tool?.resultAction?.(call.args)
      if (action) actionArea.replaceChildren(action)
      run.classList.remove('primary')
      send.classList.add('primary')
      send.focus()
      showButtons()
    } catch (error) {
      state.textContent = `Failed: ${errorText(error)} Write a result or refuse.`
    }
  }
  const run = button(tool?.verb ?? 'Run', runTool, { class: 'primary' })
  const sendResult = () => {
    if (field.value.trim() !== '') return finish('Result sent', { output: parseResult(field.value) })
    state.textContent = `The result is empty. ${tool ? `Press ${tool.verb ?? 'Run'}, or write` : 'Write'} one, or refuse the call.`
    field.focus()
  }
  const send = button('Send result', sendResult, { class: tool ? '' : 'primary' })
  const refuse = button('Refuse', () => finish('Refused', { error: field.value.trim() || 'The user declined this call.' }))
  const buttons = el('div', { class: 'row' }, tool && run, send, refuse)

  const node = el(
    'div',
    { class: 'card tool', role: 'group', 'aria-label': `Tool call: ${name}` },
    el('h2', {}, el('code', {}, name)),
    el('pre', { tabindex: 0, role: 'group', 'aria-label': 'Arguments' }, escapeInvisible(argsJson)),
    invisibleWarning([call.name, ...Object.values(Object(call.args)).filter((value) => typeof value === 'string')].join('\n')),
    previewArea,
    label,
    field,
    state,
    actionArea,
    buttons,
  )
  return { node, result, focus: () => ((tool ? run : field).focus(), showButtons()), removeButtons: () => buttons.remove() }
}

/**
 * Shows a call that can no longer be answered.
 * @param {import('../javascript/src/wire.js').StepCall} call
 */
export function finishedCallCard({ Name, ArgumentsJson, ResultJson, ErrorMessage, ExecutionMs, IsPending }) {
  const name = escapeInvisible(Name)
  const value = (/** @type {string} */ label, /** @type {string} */ text) =>
    el('pre', { tabindex: 0, role: 'group', 'aria-label': label }, escapeInvisible(text))
  const outcome = ErrorMessage === undefined ? 'Result sent' : 'Refused'
  return el(
    'div',
    { class: 'card tool', role: 'group', 'aria-label': `Tool call: ${name}` },
    el('h2', {}, el('code', {}, name)),
    value('Arguments', prettyJson(ArgumentsJson)),
    !IsPending && value('Result', ErrorMessage ?? prettyJson(ResultJson ?? '')),
    el('p', { class: 'muted' }, IsPending ? 'No result was sent.' : `${outcome} after ${duration(ExecutionMs)}.`),
  )
}

/** @param {unknown} error */
const errorText = (error) => escapeInvisible(/** @type {Error} */ (error).message)

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
