/**
 * One form for an agent: name, instructions, model, tools and limits. The API stores an agent context and a conversation context, whose
 * ids are derived here; the advanced view shows both documents.
 *
 * @module
 */

import { el, errorMessage, fill, labelledField } from './dom.js'
import { toolChoices } from './tool-choices.js'

/** Longest id of a document. */
const MAX_ID_CHARS = 64

/**
 * @typedef {import('./context-page.js').Content} Content
 * @typedef {import('./context-page.js').Context} Context
 * @typedef {{ Name: string, Description?: string }} ClientTool
 * @typedef {{ Type: string }} HostedTool
 *
 * An agent: its two documents. Without `id` it is new.
 * @typedef {{ id?: string, agent?: Context, conversation?: Context }} Agent
 */

/**
 * Derives an id from a name.
 * @param {string} name
 * @param {Set<string>} taken
 * @param {number} [maxChars]
 */
export function deriveId(name, taken, maxChars = MAX_ID_CHARS) {
  const plain = name.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()
  const base = plain.replaceAll(/[^a-z0-9]+/g, '-').replaceAll(/^-+|-+$/g, '').slice(0, maxChars).replace(/-$/, '') || 'agent'
  let id = base
  for (let number = 2; taken.has(id); number += 1) id = `${base.slice(0, maxChars - 4)}-${number}`
  return id
}

/**
 * @param {ClientTool[]} fileTools tools of the built-in agent `workspace`
 * @param {() => void} onChange
 */
export function agentForm(fileTools, onChange) {
  const name = el('input', { name: 'name', required: true, maxlength: 128, autocomplete: 'off', placeholder: 'Release notes writer' })
  const system = el('textarea', { name: 'system', required: true, rows: 8, maxlength: 100_000, placeholder: 'You write the notes of a release from its commits. Group them by what a user notices.' })
  const model = el('input', { name: 'model', list: 'agent-models', maxlength: 128, autocomplete: 'off', placeholder: 'Default of the deployment' })
  const models = el('datalist', { id: 'agent-models' })
  const files = el('input', { type: 'checkbox', name: 'files' })
  const web = el('input', { type: 'checkbox', name: 'web' })
  const others = el('div', {})
  const remote = toolChoices(onChange)
  const tokens = el('input', { type: 'number', name: 'tokens', min: 16, max: 1_000_000, step: 1, placeholder: 'Default' })
  const rounds = el('input', { type: 'number', name: 'rounds', min: 1, max: 64, step: 1, placeholder: 'Default' })
  const errors = el('div', {})
  const node = el(
    'form',
    { class: 'card agent-form', 'aria-label': 'Agent' },
    labelledField('Name', name),
    labelledField('Instructions', system),
    labelledField('Model', model),
    models,
    el(
      'fieldset',
      {},
      el('legend', {}, 'Tools'),
      el('label', { class: 'checkbox' }, files, 'Files of the conversation: list, read and search them, and propose changes'),
      el('label', { class: 'checkbox' }, web, 'Search the web, if the model’s provider offers it'),
      others,
      remote.node,
    ),
    el('fieldset', { class: 'limits' }, el('legend', {}, 'Limits'), labelledField('Longest answer, in tokens', tokens), labelledField('Tool rounds in a turn', rounds)),
    errors,
  )
  const fileNames = new Set(fileTools.map(({ Name }) => Name))
  node.addEventListener('input', onChange)
  /** @type {{ agent: Partial<Content>, conversation: Partial<Content> }} */
  let before = { agent: {}, conversation: {} }

  /** @param {Partial<Content>} document */
  const clientTools = ({ ClientTools }) => /** @type {ClientTool[]} */ (ClientTools ?? [])
  const isKept = (/** @type {string} */ tool) => /** @type {HTMLInputElement | null} */ (others.querySelector(`input[value="${CSS.escape(tool)}"]`))?.checked ?? false

  return {
    node,
    errors,
    isValid: () => node.reportValidity(),
    focus: () => name.focus(),
    /** @param {string[]} names */
    suggest: (names) => fill(models, [...new Set(names)].map((value) => el('option', { value }))),
    /** Shows the tools of connections. @param {import('./tool-choices.js').Offer[]} connections */
    offer: (connections) => remote.offer(connections),
    /** @param {string[]} names tools of connections */
    choose: (names) => remote.show(names),
    /** @param {Agent} agent */
    show({ agent, conversation }) {
      before = { agent: agent?.Content ?? {}, conversation: conversation?.Content ?? {} }
      name.value = String(before.agent.Name ?? '')
      system.value = String(before.conversation.System ?? '')
      model.value = String(before.conversation.ModelName ?? '')
      tokens.value = String(before.conversation.MaxOutputTokens ?? '')
      rounds.value = String(before.conversation.MaxRounds ?? '')
      const all = clientTools(before.agent)
      files.checked = agent === undefined || fileTools.every(({ Name }) => all.some((tool) => tool.Name === Name))
      web.checked = /** @type {HostedTool[]} */ (before.conversation.HostedTools ?? []).some(({ Type }) => Type === 'web_search')
      remote.show(/** @type {string[]} */ (before.agent.Tools ?? []))
      const own = all.filter(({ Name }) => !fileNames.has(Name))
      fill(others, own.map(({ Name, Description }) => el('label', { class: 'checkbox' }, el('input', { type: 'checkbox', value: Name, checked: true }), el('span', {}, el('code', {}, Name), ` ${Description ?? ''}`))))
      fill(errors)
    },
    /** @param {{ name: string, system: string, files: boolean, web: boolean }} values */
    set(values) {
      name.value = values.name
      system.value = values.system
      files.checked = values.files
      web.checked = values.web
    },
    /** @param {unknown} error */
    showError(error) {
      const { errors: all = [] } = /** @type {{ errors?: { Message: string }[] }} */ (error)
      if (all.length < 2) fill(errors, errorMessage(error))
      else fill(errors, el('div', { class: 'error', role: 'alert' }, el('ul', {}, all.map(({ Message }) => el('li', {}, Message)))))
    },
    /**
     * Returns the two documents. Members that the form doesn't show stay as they are.
     * @param {string} id
     * @returns {{ agent: Content, conversation: Content }}
     */
    documents(id) {
      const kept = clientTools(before.agent).filter(({ Name }) => !fileNames.has(Name) && isKept(Name))
      const tools = [...(files.checked ? fileTools : []), ...kept]
      const hosted = /** @type {HostedTool[]} */ (before.conversation.HostedTools ?? []).filter(({ Type }) => Type !== 'web_search' || web.checked)
      if (web.checked && !hosted.some(({ Type }) => Type === 'web_search')) hosted.push({ Type: 'web_search' })
      const number = (/** @type {HTMLInputElement} */ field) => (field.value === '' ? undefined : Number(field.value))
      return {
        agent: { ...before.agent, Kind: 'agent', Id: id, Name: name.value.trim(), DefaultConversationContextId: id, ClientTools: tools, Tools: remote.names().length > 0 ? remote.names() : undefined },
        conversation: {
          ...before.conversation,
          Kind: 'conversation',
          Id: id,
          Name: name.value.trim(),
          System: system.value.trim(),
          ModelName: model.value.trim() || undefined,
          HostedTools: hosted.length > 0 ? hosted : undefined,
          MaxOutputTokens: number(tokens),
          MaxRounds: number(rounds),
        },
      }
    },
  }
}
