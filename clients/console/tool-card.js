/**
 * A call that waits for its result from this side. The page has the files that came with the conversation, and no others: what
 * can be run with them is run when its user says so, and every result can be written, changed or refused by hand. A patch
 * changes the page's copy alone, which can be downloaded then.
 *
 * @module
 */

import { compared } from './compare.js'
import { button, el, failure, save } from './dom.js'
import { pretty, took } from './format.js'

/**
 * @typedef {import('../javascript/src/index.js').Call} Call
 * @typedef {{ id: string, output?: unknown, error?: string, tookMs: number }} Result
 *
 * What runs a call here.
 * @typedef {object} Tool
 * @property {(args: any) => unknown} run
 * @property {string} [verb] what its button says, if not Run
 * @property {(args: any) => Promise<Node>} [show] what there is to be seen before it is run
 * @property {(args: any) => Promise<Node | undefined>} [offer] what there is to be had once it ran
 */

/**
 * What can be run here: the tools of the default agent, with the files that came along.
 * @param {import('./workspace.js').Workspace} workspace
 * @returns {Record<string, Tool>}
 */
export const toolsOf = (workspace) => ({
  workspace_read_file: { run: async ({ path }) => ({ text: await workspace.text(path) }) },
  workspace_list_files: { run: ({ path }) => workspace.list(path) },
  workspace_search_text: { run: ({ pattern, path }) => workspace.search(pattern, path) },
  workspace_write_patch: {
    verb: 'Apply',
    async show({ path, patch }) {
      const { before, after = '' } = await workspace.change(path, patch)
      return compared(after, before, `Change of ${path}`)
    },
    async run({ path, patch }) {
      const { after } = await workspace.change(path, patch)
      workspace.put(path, after)
      return { applied: true }
    },
    async offer({ path }) {
      const text = await workspace.text(path).catch(() => undefined)
      if (text === undefined) return undefined
      const name = path.split('/').at(-1) ?? path
      return button(`Download ${name}`, () => save(new Blob([text]), name), { class: 'quiet' })
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
  const began = performance.now()
  const id = `call-${call.id.replace(/\W/g, '-')}`
  const field = el('textarea', { rows: 4, id, spellcheck: 'false', placeholder: 'JSON, or text' })
  const label = el('label', { for: id }, 'Result, or why it is refused')
  const state = el('p', { class: 'soft', role: 'status' })
  const tool = Object.hasOwn(tools, call.name) ? tools[call.name] : undefined

  const end = (/** @type {string} */ said, /** @type {{ output?: unknown, error?: string }} */ outcome) => {
    const tookMs = performance.now() - began
    buttons.remove()
    label.remove()
    const told = outcome.error ?? JSON.stringify(outcome.output, undefined, 2)
    field.replaceWith(el('pre', { tabindex: 0, role: 'group', 'aria-label': 'Result' }, told))
    state.textContent = `${said} after ${took(tookMs)}.`
    settle({ id: call.id, ...outcome, tookMs })
  }
  const seen = el('div', {})
  const had = el('div', {})
  tool?.show?.(call.args).then(
    (shown) => seen.append(shown),
    (error) => seen.append(failure(error)),
  )
  const run = button(tool?.verb ?? 'Run', async () => {
    try {
      field.value = JSON.stringify(await tool?.run(call.args), undefined, 2)
      state.textContent = 'It ran. Look at the result, change it if you like, and send it.'
      const offered = await tool?.offer?.(call.args)
      if (offered) had.replaceChildren(offered)
      send.focus()
    } catch (error) {
      state.textContent = `It failed: ${/** @type {Error} */ (error).message} Write a result, or refuse.`
    }
  })
  const send = button('Send result', () => end('Answered', { output: read(field.value) }), { class: 'primary' })
  const refuse = button('Refuse', () => end('Refused', { error: field.value.trim() || 'The user declined this call.' }))
  const buttons = el('div', { class: 'row' }, tool && run, send, refuse)

  const node = el(
    'div',
    { class: 'card tool', role: 'group', 'aria-label': `The model calls ${call.name}` },
    el('h2', {}, el('code', {}, call.name)),
    el('pre', { tabindex: 0, role: 'group', 'aria-label': 'Arguments' }, pretty(call.json)),
    seen,
    label,
    field,
    state,
    had,
    buttons,
  )
  return { node, result, focus: () => (tool ? run : field).focus(), end: () => buttons.remove() }
}

/**
 * JSON as what it says, anything else as a text.
 * @param {string} text
 */
function read(text) {
  if (text.trim() === '') return null
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
