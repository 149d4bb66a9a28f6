/**
 * The form that sets the model of a local cloud: provider, key, and optionally the model's name and the provider's address.
 *
 * @module
 */

import { consoleApi } from './connection.js'
import { announce, button, el, errorMessage, fill, labelledField } from './dom.js'

const POLL_INTERVAL_MS = 250
/** Names of providers that aren't their key with a capital letter. */
const NAMES = /** @type {Record<string, string>} */ ({
  openai: 'OpenAI', azure: 'Azure OpenAI', openrouter: 'OpenRouter', vllm: 'vLLM', lmstudio: 'LM Studio', llamacpp: 'llama.cpp', deepseek: 'DeepSeek', litellm: 'LiteLLM',
})

/** @param {string} provider */
export const providerName = (provider) => NAMES[provider] ?? provider.charAt(0).toUpperCase() + provider.slice(1)

/** @typedef {import('./connection.js').Config} Config */

/**
 * @param {Config} config
 */
export function modelForm(config) {
  const { Providers = [], Provider } = config
  const provider = el('select', { name: 'Provider' }, Providers.map(({ Name }) => el('option', { value: Name, selected: Name === Provider }, providerName(Name))))
  const key = el('input', { type: 'password', name: 'ApiKey', autocomplete: 'off', maxlength: 2048, spellcheck: 'false' })
  const model = el('input', { name: 'Name', autocomplete: 'off', maxlength: 256, placeholder: 'Default of the service' })
  const url = el('input', { name: 'BaseUrl', type: 'url', autocomplete: 'off', maxlength: 2048 })
  const status = el('div', { role: 'status' })
  const send = el('button', { class: 'primary' }, 'Check and use')
  const keyField = labelledField('Key', key)
  const form = el('form', { class: 'model-form', 'aria-label': 'Model' }, el('div', { class: 'fields' }, labelledField('Provider', provider), keyField, labelledField('Model', model), labelledField('Address', url)), el('div', { class: 'row' }, send, el('small', {}, 'The key stays in the data folder, in a file that only you can read.')), status)
  const showProvider = () => {
    const { NeedsKey, BaseUrl } = Providers.find(({ Name }) => Name === provider.value) ?? { NeedsKey: false, BaseUrl: undefined }
    key.required = NeedsKey
    key.placeholder = NeedsKey ? 'sk-…' : 'Not needed'
    url.required = !BaseUrl
    url.placeholder = BaseUrl ?? 'https://NAME.openai.azure.com/openai/v1'
    model.required = provider.value !== 'openai'
    model.placeholder = provider.value === 'openai' ? 'Default of the service' : 'Name of the model'
  }
  provider.addEventListener('change', showProvider)
  showProvider()
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    send.disabled = true
    const filled = [...new FormData(form)].map(([name, value]) => [name, String(value).trim()]).filter(([, value]) => value)
    await change(config, 'Asking the provider…', status, () => consoleApi('PUT', 'model', Object.fromEntries(filled)))
    send.disabled = false
  })
  return form
}

/**
 * The button that goes back to the mock model.
 * @param {Config} config
 * @param {HTMLElement} status
 */
export const mockButton = (config, status) => button('Use the mock model', () => change(config, 'Removing the key…', status, () => consoleApi('DELETE', 'model')))

/**
 * Changes the model. The page is loaded again once the local cloud has restarted.
 * @param {Config} config
 * @param {string} progress
 * @param {HTMLElement} status
 * @param {() => Promise<unknown>} send
 */
async function change(config, progress, status, send) {
  fill(status, el('p', { class: 'muted running' }, progress))
  try {
    await send()
    fill(status, el('p', { class: 'success running' }, 'The local cloud restarts with the model.'))
    announce('The local cloud restarts with the model.')
    await restart(config)
    location.reload()
  } catch (error) {
    fill(status, errorMessage(error))
  }
}

/**
 * Waits until another start of the local cloud responds.
 * @param {Config} config
 */
async function restart({ Start }) {
  const start = () => consoleApi('GET', 'config').then((config) => config.Start, () => Start)
  while ((await start()) === Start) await new Promise((wait) => setTimeout(wait, POLL_INTERVAL_MS))
}
