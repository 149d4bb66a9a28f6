/**
 * Dialogs and downloads for one session: rename, visibility, delete, export.
 *
 * @module
 */

import { parseRequest } from './attachments.js'
import { download, el, labelledField, openDialog } from './dom.js'
import { icon } from './icons.js'
import { displayTitle, splitInstruction } from './title.js'

/** @typedef {{ Id: string, Name: string, Description?: string, Category?: string, Visibility?: 'org' | 'participants' }} SessionName */

/**
 * @param {import('../javascript/src/index.js').Aptix} aptix
 * @param {SessionName} session
 * @param {() => void} done
 */
export function renameSession(aptix, { Id, Name, Description = '', Category = '' }, done) {
  const fields = [
    labelledField('Name', el('input', { name: 'name', value: displayTitle(Name), required: true, maxlength: 256, autocomplete: 'off' })),
    labelledField('Description', el('textarea', { name: 'description', rows: 3 }, Description)),
    labelledField('Category', el('input', { name: 'category', value: Category, maxlength: 128, autocomplete: 'off' })),
  ]
  openDialog({ title: 'Rename session', fields, submit: 'Save' }, async ({ name = '', description = '', category = '' }) => {
    await aptix.session(Id).update({ name, description, category })
    done()
  })
}

/** @param {{ Visibility?: string }} session */
const isPrivate = ({ Visibility }) => Visibility === 'participants'

/**
 * Returns the mark of a private session, and nothing for others.
 * @param {{ Visibility?: string }} session
 */
export const privateMark = (session) =>
  isPrivate(session) && el('span', { class: 'private', role: 'img', 'aria-label': 'Private', title: 'Private: only participants and operators see it' }, icon('lock'))

/**
 * Returns the label of the action that switches who sees a session.
 * @param {{ Visibility?: string }} session
 */
export const visibilityAction = (session) => (isPrivate(session) ? 'Show to the org' : 'Make private')

/**
 * Switches who sees a session: its participants, or every member of the org.
 * @param {import('../javascript/src/index.js').Aptix} aptix
 * @param {SessionName} session
 * @param {() => void} done
 */
export function switchVisibility(aptix, session, done) {
  const visibility = isPrivate(session) ? 'org' : 'participants'
  const text = {
    org: 'Every member of your org will be able to read and continue it.',
    participants: 'You, the users who took a turn in it, and operators will see it. Nobody else will.',
  }[visibility]
  const title = `${visibilityAction(session)}?`
  const fields = [el('p', {}, `“${displayTitle(session.Name)}”: ${text}`)]
  openDialog({ title, fields, submit: visibilityAction(session) }, async () => {
    await aptix.session(session.Id).update({ visibility })
    done()
  })
}

/**
 * @param {import('../javascript/src/index.js').Aptix} aptix
 * @param {SessionName} session
 * @param {() => void} done
 */
export function deleteSession(aptix, { Id, Name }, done) {
  const text = `“${displayTitle(Name)}” accepts no more turns. You can restore it until its retention period ends: search with “Include deleted” under Sessions.`
  openDialog({ title: 'Delete session?', fields: [el('p', {}, text)], submit: 'Delete', isDangerous: true }, async () => {
    await aptix.session(Id).delete()
    done()
  })
}

/**
 * Downloads the API's export of a session.
 * @param {import('./connection.js').Connection} connection
 * @param {SessionName} session
 */
export async function exportJson(connection, { Id, Name }) {
  const text = await connection.readText(`api/ai/agent/sessions/${encodeURIComponent(Id)}/export`)
  download(new Blob([text], { type: 'application/json' }), `${fileName(Name)}.json`)
}

/**
 * Downloads a conversation as Markdown: instructions and answers, in order.
 * @param {import('../javascript/src/index.js').Aptix} aptix
 * @param {SessionName} session
 */
export async function exportMarkdown(aptix, { Id, Name }) {
  const session = aptix.session(Id)
  const parts = [`# ${displayTitle(Name)}`]
  for await (const turn of session.turns()) {
    const full = async (/** @type {boolean | undefined} */ isTruncated, /** @type {string} */ excerpt) =>
      isTruncated ? (await session.payload(turn.Id, 'answer')).text() : excerpt
    const answer = await full(turn.AgentAnswerSummaryTruncated, turn.AgentAnswerSummary ?? turn.PartialAnswerSummary ?? '')
    const request = turn.InstructionSummaryTruncated && parseRequest(await (await session.payload(turn.Id, 'instruction')).text())
    const { text, script } = splitInstruction((request && request.instruction) || turn.InstructionSummary)
    const question = text || (script ? `Script: ${script}` : '(files only)')
    parts.push(question.split('\n').map((line) => `> ${line}`).join('\n'), answer || `*${turn.Errors.join(' ') || turn.Status.Text}*`)
  }
  download(new Blob([`${parts.join('\n\n')}\n`], { type: 'text/markdown' }), `${fileName(Name)}.md`)
}

/** @param {string} name */
const fileName = (name) => displayTitle(name).replaceAll(/[^\p{L}\p{N}]+/gu, '-').replaceAll(/^-+|-+$/g, '').slice(0, 60) || 'session'
