/**
 * The tools that the page can run: those of the agent `workspace`, on the attached files.
 *
 * @module
 */

import { escapeInvisible } from '../javascript/src/patch.js'
import { diffView } from './diff.js'
import { button, download } from './dom.js'

/**
 * A tool that the page can run.
 * @typedef {object} Tool
 * @property {(args: any) => unknown} run
 * @property {string} [verb] label of its button; `Run` by default
 * @property {(args: any) => Promise<Node>} [preview] preview of the call
 * @property {string} [previewed] member of the arguments that the preview replaces
 * @property {(args: any) => Promise<Node | undefined>} [resultAction] action on the result, such as a download
 */

/**
 * @param {import('./workspace.js').Workspace} workspace
 * @returns {Record<string, Tool>}
 */
export const toolsFor = (workspace) => ({
  workspace_read_file: { run: async ({ path }) => ({ text: await workspace.text(path) }) },
  workspace_list_files: { run: ({ path }) => workspace.list(path) },
  workspace_search_text: { run: ({ pattern, path }) => workspace.search(pattern, path) },
  workspace_write_patch: {
    verb: 'Apply',
    previewed: 'patch',
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
