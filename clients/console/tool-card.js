/**
 * Card of a pending tool call. The page only has the files attached to the conversation, and runs a call on them when the user
 * confirms it. The user can also write, edit or refuse every result. A patch changes the page's own copy, which can be
 * downloaded.
 *
 * @module
 */

import { diffView } from './diff.js'
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
      return diffView(after, before, `Changes to ${path}`)
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
      return button(`Download ${name}`, () => download(new Blob([text]), name), { class: 'ghost' })
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
  const field = el('textarea', { rows: 4, id, spellcheck: 'false', placeholder: 'JSON or text' })
  const label = el('label', { for: id }, 'Result, or reason for refusing')
  const state = el('p', { class: 'muted', role: 'status' })
  const tool = Object.hasOwn(tools, call.name) ? tools[call.name] : undefined

  const finish = (/** @type {string} */ outcomeLabel, /** @type {{ output?: unknown, error?: string }} */ outcome) => {
    const durationMs = performance.now() - startedAt
    buttons.remove()
    label.remove()
    const text = outcome.error ?? JSON.stringify(outcome.output, undefined, 2)
    field.replaceWith(el('pre', { tabindex: 0, role: 'group', 'aria-label': 'Result' }, text))
    state.textContent = `${outcomeLabel} after ${duration(durationMs)}.`
    settle({ id: call.id, ...outcome, durationMs })
  }
  const previewArea = el('div', {})
  const actionArea = el('div', {})
  tool?.preview?.(call.args).then(
    (shown) => previewArea.append(shown),
    (error) => previewArea.append(errorMessage(error)),
  )
  const run = button(tool?.verb ?? 'Run', async () => {
    try {
      field.value = JSON.stringify(await tool?.run(call.args), undefined, 2)
      state.textContent = 'Done. Review the result and send it.'
      const action = await tool?.resultAction?.(call.args)
      if (action) actionArea.replaceChildren(action)
      send.focus()
    } catch (error) {
      state.textContent = `Failed: ${/** @type {Error} */ (error).message} Write a result or refuse.`
    }
  })
  const send = button('Send result', () => finish('Result sent', { output: parseResult(field.value) }), { class: 'primary' })
  const refuse = button('Refuse', () => finish('Refused', { error: field.value.trim() || 'The user declined this call.' }))
  const buttons = el('div', { class: 'row' }, tool && run, send, refuse)

  const node = el(
    'div',
    { class: 'card tool', role: 'group', 'aria-label': `Tool call: ${call.name}` },
    el('h2', {}, el('code', {}, call.name)),
    el('pre', { tabindex: 0, role: 'group', 'aria-label': 'Arguments' }, prettyJson(call.argsJson)),
    previewArea,
    label,
    field,
    state,
    actionArea,
    buttons,
  )
  return { node, result, focus: () => (tool ? run : field).focus(), removeButtons: () => buttons.remove() }
}

/**
 * Parses JSON; returns any other text as a string.
 * @param {string} text
 */
function parseResult(text) {
  if (text.trim() === '') return null
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
