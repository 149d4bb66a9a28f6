/**
 * A dialog that creates an agent in three steps: what it is for, what it does, and what it may use. It fills the form of the agents
 * page, so both save the same documents.
 *
 * @module
 */

import { agentForm, deriveId } from './agent-form.js'
import { AGENTS, CONNECTIONS, CONVERSATIONS, FILE_AGENT, listAll, putDocuments, readAll } from './agent-documents.js'
import { button, el, errorMessage, fill, labelledField } from './dom.js'
import { pageUrl } from './format.js'
import { setHandoff } from './handoff.js'
import { toolChoices } from './tool-choices.js'

/** @typedef {{ title: string, about: string, name: string, system: string, files?: boolean, web?: boolean }} Template */

/** @type {Template[]} */
const TEMPLATES = [
  {
    title: 'Work on files',
    about: 'Reads what you attach, and proposes changes that you approve',
    name: 'File assistant',
    system: 'You help with the files of the conversation. Read a file before you answer a question about it. Propose changes as small patches, and explain each in one sentence.',
    files: true,
  },
  {
    title: 'Review changes',
    about: 'Finds faults in a diff, the serious ones first',
    name: 'Reviewer',
    system: 'You review changes of code. List faults first, the most serious one at the top, each with its line and a fix. Then list what could be simpler. Don’t praise.',
    files: true,
  },
  {
    title: 'Write texts',
    about: 'Drafts and shortens in the tone that you describe',
    name: 'Writer',
    system: 'You write for our readers: plain words, short sentences, the most important fact first. Ask for the audience if it is unclear. Offer one version, not several.',
  },
  {
    title: 'Research',
    about: 'Searches the web and cites what it found',
    name: 'Researcher',
    system: 'You answer from sources. Search before you answer, cite each claim with its address, and say what you could not find.',
    web: true,
  },
  { title: 'Something else', about: 'Start from an empty page', name: '', system: '' },
]

const TITLES = ['What is it for?', 'What does it do?', 'What may it use?']

/** @param {import('./connection.js').Connection} connection */
export function openAgentWizard(connection) {
  if (document.querySelector('dialog[open]')) return
  let step = 0
  const title = el('h2', { id: 'wizard-title' })
  const progress = el('small', {})
  const choices = TEMPLATES.map(({ title: label, about }, index) =>
    el('label', { class: 'wizard-choice' }, el('input', { type: 'radio', name: 'template', value: index, checked: index === 0 }), el('span', {}, el('strong', {}, label), el('small', {}, about))),
  )
  const name = el('input', { name: 'name', maxlength: 128, autocomplete: 'off', required: true })
  const system = el('textarea', { name: 'system', rows: 7, maxlength: 100_000, required: true })
  const files = el('input', { type: 'checkbox', name: 'files' })
  const web = el('input', { type: 'checkbox', name: 'web' })
  const remote = toolChoices(() => {})
  readAll(connection, CONNECTIONS).then(remote.offer, () => {})
  const steps = [
    el('fieldset', { class: 'wizard-choices' }, el('legend', { class: 'visually-hidden' }, TITLES[0]), choices),
    el('div', { class: 'wizard-step' }, labelledField('Name', name), labelledField('Instructions: who it is, what it does, and what it never does', system)),
    el(
      'div',
      { class: 'wizard-step' },
      el('label', { class: 'checkbox' }, files, 'Files of the conversation: list, read and search them, and propose changes'),
      el('label', { class: 'checkbox' }, web, 'Search the web, if the model’s provider offers it'),
      remote.node,
      el('p', { class: 'muted' }, 'A call on your files waits for your approval. The service calls the tools of connections itself. Model and limits are on the agents page.'),
    ),
  ]
  const problem = el('div', {})
  const back = button('Back', () => show(step - 1))
  const next = el('button', { class: 'primary' })
  /** @type {HTMLFormElement} */
  const form = el('form', { novalidate: true }, el('div', { class: 'dialog-head' }, title, progress), ...steps, problem, el('div', { class: 'row end' }, el('button', { type: 'button', onclick: () => form.closest('dialog')?.close() }, 'Cancel'), back, next))
  /** @type {HTMLDialogElement} */
  const dialog = el('dialog', { class: 'wizard', 'aria-labelledby': 'wizard-title' }, form)

  /** @param {number} to */
  function show(to) {
    step = to
    steps.forEach((node, at) => (node.hidden = at !== step))
    title.textContent = TITLES[step] ?? ''
    progress.textContent = `Step ${step + 1} of ${steps.length}`
    back.hidden = step === 0
    next.textContent = step === steps.length - 1 ? 'Create and open in chat' : 'Next'
    const focused = /** @type {HTMLElement | null} */ (steps[step]?.querySelector('input:checked, input, textarea'))
    focused?.focus()
  }

  function chosen() {
    return /** @type {Template} */ (TEMPLATES[Number(new FormData(form).get('template'))])
  }
  /** @type {Template | undefined} */
  let filledFrom

  /** Fills the later steps, unless they are from this template already. */
  function fillSteps() {
    const template = chosen()
    if (template === filledFrom) return
    filledFrom = template
    name.value = template.name
    system.value = template.system
    files.checked = template.files ?? false
    web.checked = template.web ?? false
  }

  async function create() {
    const [workspace, agents, conversations] = await Promise.all([connection.read(`${AGENTS}/${FILE_AGENT}`), listAll(connection, AGENTS), listAll(connection, CONVERSATIONS)])
    const id = deriveId(name.value, new Set([...agents, ...conversations].map(({ Id }) => Id)))
    const documents = agentForm(workspace.Content.ClientTools ?? [], () => {})
    documents.choose(remote.names())
    documents.set({ name: name.value, system: system.value, files: files.checked, web: web.checked })
    await putDocuments(connection, id, documents.documents(id), {})
    dialog.close()
    setHandoff('contexts', { agent: id })
    location.hash = pageUrl('chat', connection.aptix.session().id, 'new')
  }

  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    fill(problem)
    const invalid = [name, system].find((field) => step > 0 && !field.checkValidity())
    if (invalid) {
      if (step > 1) show(1)
      return invalid.reportValidity()
    }
    if (step === 0) fillSteps()
    if (step < steps.length - 1) return show(step + 1)
    next.disabled = true
    await create().catch((error) => fill(problem, errorMessage(error)))
    next.disabled = false
  })
  dialog.addEventListener('close', () => dialog.remove())
  document.body.append(dialog)
  dialog.showModal()
  show(0)
}
