/**
 * Picker of the contexts of a new conversation: its agent, and the model with its settings. An existing conversation keeps its
 * contexts.
 *
 * @module
 */

import { consoleApi } from './connection.js'
import { el, fill, labelledField } from './dom.js'
import { takeHandoff } from './handoff.js'

/** @typedef {{ Kind: 'agent' | 'conversation', Id: string, Name?: string, ModelName?: string }} Context */

/**
 * @param {import('./connection.js').Connection} connection
 * @param {boolean} isNew
 */
export function contextPicker(connection, isNew) {
  const { agent = '', conversation = '' } = (isNew && takeHandoff('contexts')) || {}
  const attributes = { placeholder: 'default', autocomplete: 'off', maxlength: 128 }
  const inputs = {
    agent: el('input', { value: agent || (isNew ? 'workspace' : ''), list: 'agents', ...attributes }),
    conversation: el('input', { value: conversation, list: 'conversations', ...attributes }),
  }
  const agents = el('datalist', { id: 'agents' })
  const conversations = el('datalist', { id: 'conversations' })
  const summary = el('summary', {})
  const fields = el('div', { class: 'fields' }, labelledField('Agent', inputs.agent), labelledField('Model and prompt', inputs.conversation))
  const help = el('small', {}, 'Contexts of your org. They stay fixed for the conversation.')
  const node = el('details', { class: 'contexts', hidden: !isNew, open: Boolean(agent || conversation) }, summary, fields, help, agents, conversations)
  /** @type {Context[]} */
  let known = []

  const showSummary = () => {
    const chosen = known.find(({ Kind, Id }) => Kind === 'conversation' && Id === inputs.conversation.value.trim())
    const model = chosen?.ModelName ?? (inputs.conversation.value.trim() || (connection.config.IsMock ? 'mock model' : 'default model'))
    fill(summary, el('strong', {}, inputs.agent.value.trim() || 'default'), ` · ${model}`)
  }
  const option = (/** @type {Context} */ { Id, Name, ModelName }) => el('option', { value: Id }, [Name, ModelName].filter(Boolean).join(' · '))
  async function load() {
    known = await consoleApi('GET', `contexts/${encodeURIComponent(connection.identity.Org)}`)
    const builtIn = /** @type {Context} */ ({ Kind: 'agent', Id: 'workspace', Name: 'Files of this chat' })
    fill(agents, option(builtIn), known.filter(({ Kind }) => Kind === 'agent').map(option))
    fill(conversations, known.filter(({ Kind }) => Kind === 'conversation').map(option))
    showSummary()
  }
  for (const input of Object.values(inputs)) input.addEventListener('input', showSummary)
  showSummary()
  const loaded = connection.config.IsLocal ? load().catch(() => {}) : Promise.resolve()
  return {
    node,
    /** Names of the models of the org's contexts. */
    models: async () => loaded.then(() => known.flatMap(({ ModelName }) => ModelName ?? [])),
    open() {
      node.open = true
      inputs.agent.focus()
      inputs.agent.select()
    },
    values: () => ({
      agent: inputs.agent.value.trim() || undefined,
      conversation: inputs.conversation.value.trim() || undefined,
    }),
  }
}
