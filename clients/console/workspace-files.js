/**
 * The files of a conversation as its records have them: what its turns attached, with the patches that were applied. A reloaded
 * page reads them when a tool needs a file.
 *
 * @module
 */

import { applyPatch, parsePatch } from '../javascript/src/patch.js'
import { parseRequest } from './attachments.js'
import { savedResults } from './tool-results.js'

/** Newest turns whose files are read, at most. */
const MAX_TURNS = 100
/** Turns that are read at a time. */
const BATCH = 8

/** @typedef {import('../javascript/src/wire.js').SessionTurn} SessionTurn */

/**
 * @param {import('../javascript/src/index.js').Session} session
 * @returns {Promise<Map<string, string | Blob>>} contents by path
 */
export async function recordedFiles(session) {
  /** @type {SessionTurn[]} */
  const turns = []
  for await (const turn of session.turns({ order: 'desc' })) {
    turns.unshift(turn)
    if (turns.length === MAX_TURNS) break
  }
  /** @type {Map<string, string | Blob>} */
  const files = new Map()
  for (let start = 0; start < turns.length; start += BATCH) {
    const changes = await Promise.all(turns.slice(start, start + BATCH).map((turn) => changesOf(session, turn)))
    for (const { attached, patches } of changes) {
      attached.forEach(({ name, file }) => file && files.set(name, file))
      for (const patch of patches) await apply(files, patch)
    }
  }
  return files
}

/**
 * @param {import('../javascript/src/index.js').Session} session
 * @param {SessionTurn} turn
 */
async function changesOf(session, turn) {
  const request = parseRequest(await (await session.payload(turn.Id, 'instruction')).text())
  /** @type {{ path: string, patch: string }[]} */
  const patches = []
  if (turn.ToolRounds || turn.Status.Id === 'pending') {
    const isReady = (/** @type {string} */ callId) => savedResults(turn.Id).some(({ id, output }) => id === callId && Object(output).applied === true)
    for await (const { Calls = [] } of session.steps(turn.Id, { full: true })) {
      const applied = Calls.filter(({ Name, ToolCallId, ResultJson }) => Name === 'workspace_write_patch' && (isApplied(ResultJson) || isReady(ToolCallId)))
      patches.push(...applied.map(({ ArgumentsJson }) => JSON.parse(ArgumentsJson)))
    }
  }
  return { attached: request?.attachments ?? [], patches }
}

/** @param {string | undefined} resultJson */
function isApplied(resultJson) {
  try {
    return Object(JSON.parse(resultJson ?? '')).applied === true
  } catch {
    return false
  }
}

/**
 * @param {Map<string, string | Blob>} files
 * @param {{ path: string, patch: string }} change
 */
async function apply(files, { path, patch }) {
  try {
    const file = files.get(path) ?? ''
    const { isDeletion } = parsePatch(patch)
    if (isDeletion) files.delete(path)
    else files.set(path, applyPatch(typeof file === 'string' ? file : await file.text(), patch))
  } catch {
    // The user had edited the patch. The file stays as it was attached.
  }
}
