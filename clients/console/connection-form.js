/**
 * The form of a connection: server, authentication with its secret, and tools. The secret is written and never read.
 *
 * @module
 */

import { button, el, errorMessage, fill, labelledField } from './dom.js'
import { newTool, toolFields } from './tool-fields.js'

/** @typedef {import('./tool-fields.js').Tool} Tool */
/** @typedef {import('./context-page.js').Context} Context */

/** The API's limit. */
const MAX_TOOLS = 512
/** The ways to authenticate. Only those with a secret have one to enter. */
const SCHEMES = {
  none: 'None',
  bearer: 'Bearer token',
  header: 'A header with a secret',
  sigv4: 'AWS signature of the deployment',
  caller: 'Token of the caller',
}
const hasSecret = (/** @type {unknown} */ scheme) => scheme === 'bearer' || scheme === 'header'

/**
 * @param {() => void} onChange
 */
export function connectionForm(onChange) {
  const name = el('input', { name: 'name', required: true, maxlength: 128, autocomplete: 'off', placeholder: 'Ticket system' })
  const url = el('input', { name: 'url', type: 'url', required: true, maxlength: 1024, autocomplete: 'off', placeholder: 'https://tickets.example.com/v1' })
  const choice = (/** @type {string} */ value, /** @type {string} */ label, /** @type {string} */ about) =>
    el('label', { class: 'wizard-choice' }, el('input', { type: 'radio', name: 'protocol', value }), el('span', {}, el('strong', {}, label), el('small', {}, about)))
  const protocols = el('div', { class: 'protocols', role: 'radiogroup', 'aria-label': 'Protocol' })
  const choices = [
    choice('http', 'HTTP API', 'You describe its calls here'),
    choice('mcp', 'MCP server', 'It lists its tools, you choose'),
    choice('lambda', 'Lambda function', 'You describe its tools here'),
  ]
  const arn = el('input', { name: 'function', maxlength: 300, autocomplete: 'off', placeholder: 'arn:aws:lambda:eu-west-1:123456789012:function:tickets:live' })
  const scheme = el('select', { name: 'scheme' }, Object.entries(SCHEMES).map(([value, label]) => el('option', { value }, label)))
  const header = el('input', { name: 'header', maxlength: 64, autocomplete: 'off', placeholder: 'X-Api-Key', pattern: '[A-Za-z0-9\\-]+' })
  const service = el('input', { name: 'service', maxlength: 64, autocomplete: 'off', placeholder: 'lambda', pattern: '[a-z0-9\\-]+' })
  const region = el('input', { name: 'region', maxlength: 64, autocomplete: 'off', placeholder: 'eu-west-1', pattern: '[a-z0-9\\-]+' })
  const audience = el('input', { name: 'audience', maxlength: 256, autocomplete: 'off' })
  const secret = el('input', { name: 'secret', type: 'password', maxlength: 8192, autocomplete: 'new-password', 'aria-describedby': 'secret-hint' })
  const secretHint = el('small', { id: 'secret-hint' })
  const urlField = labelledField('URL', url)
  const arnField = labelledField('ARN of the function, a version or an alias', arn)
  const headerField = labelledField('Header', header)
  const serviceField = labelledField('AWS service', service)
  const regionField = labelledField('Region', region)
  const audienceField = labelledField('Audience of the token', audience)
  const secretField = el('div', {}, labelledField('Secret', secret), secretHint)
  const tools = el('div', { class: 'tools-list' })
  const offers = el('div', {})
  const errors = el('div', {})
  const add = button('Add another tool', () => append(newTool(), true).focus(), { class: 'ghost' })
  const authentication = el('div', { class: 'request-line' }, labelledField('Authentication', scheme), headerField, serviceField, regionField, audienceField)
  const node = el(
    'form',
    { class: 'card agent-form', 'aria-label': 'Connection' },
    errors,
    el('fieldset', {}, el('legend', {}, 'Server'), protocols, labelledField('Name', name), urlField, arnField, authentication, secretField),
    el('fieldset', {}, el('legend', {}, 'Tools'), offers, tools, el('div', { class: 'row' }, add)),
  )
  /** @type {ReturnType<typeof toolFields>[]} */
  let fields = []
  /** @type {Context | undefined} */
  let before

  const protocolField = () => {
    const all = [...protocols.querySelectorAll('input')]
    return {
      get value() {
        return all.find(({ checked }) => checked)?.value ?? 'http'
      },
      set value(value) {
        for (const one of all) one.checked = one.value === value
      },
    }
  }
  const isHttp = () => protocolField().value === 'http'
  const isFunction = () => protocolField().value === 'lambda'
  /** The authentication that is sent: the deployment's role invokes a function. */
  const chosen = () => (isFunction() ? 'none' : scheme.value)

  /**
   * @param {Tool} tool
   * @param {boolean} isOpen
   */
  function append(tool, isOpen) {
    const added = toolFields(tool, isOpen, {
      onChange: changed,
      isHttp,
      onRemove(removed) {
        drop(removed)
        changed()
      },
    })
    fields.push(added)
    tools.append(added.node)
    add.hidden = fields.length >= MAX_TOOLS
    return added
  }

  /** @param {ReturnType<typeof toolFields>} removed */
  function drop(removed) {
    fields = fields.filter((other) => other !== removed)
    removed.node.remove()
    add.hidden = false
  }

  function hostOf(/** @type {unknown} */ address) {
    try {
      return new URL(String(address)).host
    } catch {
      return ''
    }
  }

  function update() {
    const content = before?.Content
    const host = hostOf(url.value)
    const isMoved = Boolean(content) && hostOf(content?.Url) !== host
    for (const [field, input, isShown] of /** @type {[HTMLElement, HTMLInputElement, boolean][]} */ ([
      [urlField, url, !isFunction()],
      [arnField, arn, isFunction()],
      [headerField, header, chosen() === 'header'],
      [serviceField, service, chosen() === 'sigv4'],
      [regionField, region, chosen() === 'sigv4'],
      [audienceField, audience, chosen() === 'caller'],
    ])) {
      field.hidden = !isShown
      input.required = isShown
      // A hidden field must not keep the form from being sent.
      input.disabled = !isShown
    }
    authentication.hidden = isFunction()
    secretField.hidden = !hasSecret(chosen())
    const hadSecret = hasSecret(/** @type {any} */ (content?.Authentication)?.Scheme)
    secret.required = hasSecret(chosen()) && (!hadSecret || isMoved)
    secret.placeholder = secret.required ? '' : 'Leave empty to keep the stored one'
    secretHint.textContent = isMoved ? `The stored secret belongs to ${hostOf(content?.Url)}. Enter it again for ${host || 'the new host'}.` : `Sent to ${host || 'this server'} only. Nobody can read it again.`
    const isListed = !isHttp() && !isFunction()
    offers.hidden = !isListed
    // A server with a list says itself what its tools are.
    if (isListed) for (const empty of fields.filter((one) => one.name() === '')) drop(empty)
    else if (fields.length === 0 && !before) append(newTool(), true)
    for (const one of fields) one.update()
  }

  function changed() {
    update()
    onChange()
  }
  node.addEventListener('input', changed)

  return {
    node,
    errors,
    offers,
    isHttp,
    isValid: () => node.reportValidity(),
    focus: () => name.focus(),
    name: () => name.value.trim(),
    secret: () => (hasSecret(chosen()) ? secret.value : ''),
    forgetSecret: () => (secret.value = ''),
    /** @param {boolean} isReadOnly */
    setReadOnly(isReadOnly) {
      for (const group of node.querySelectorAll('fieldset')) group.disabled = isReadOnly
    },
    /** @param {Context | undefined} context the stored connection; absent for a new one */
    show(context) {
      before = context
      const content = /** @type {any} */ (context?.Content ?? {})
      name.value = content.Name ?? ''
      url.value = content.Url ?? ''
      arn.value = content.FunctionArn ?? ''
      const protocol = content.Protocol ?? 'http'
      const isListed = choices.some((label) => label.querySelector('input')?.value === protocol)
      fill(protocols, choices, !isListed && choice(protocol, protocol, 'See the advanced view'))
      protocolField().value = protocol
      scheme.value = content.Authentication?.Scheme ?? 'none'
      header.value = content.Authentication?.Header ?? ''
      service.value = content.Authentication?.Service ?? ''
      region.value = content.Authentication?.Region ?? ''
      audience.value = content.Authentication?.Audience ?? ''
      secret.value = ''
      fields = []
      fill(tools)
      const all = /** @type {Tool[]} */ (content.Tools ?? (context ? [] : [newTool()]))
      for (const tool of all) append(tool, all.length === 1)
      fill(errors)
      update()
    },
    /** @param {unknown} error */
    showError(error) {
      const { errors: all = [] } = /** @type {{ errors?: { Message: string }[] }} */ (error)
      if (all.length < 2) fill(errors, errorMessage(error))
      else fill(errors, el('div', { class: 'error', role: 'alert' }, el('ul', {}, all.map(({ Message }) => el('li', {}, Message)))))
      errors.scrollIntoView({ block: 'nearest' })
    },
    /**
     * Returns the document. Members that the form doesn't show stay as they are.
     * @param {string} id
     */
    document(id) {
      const { Url: _, FunctionArn: __, ...rest } = /** @type {Partial<import('./context-page.js').Content>} */ (before?.Content ?? {})
      return {
        ...rest,
        Kind: 'connection',
        Id: id,
        Name: name.value.trim(),
        Protocol: protocolField().value,
        ...(isFunction() ? { FunctionArn: arn.value.trim() } : { Url: url.value.trim() }),
        Authentication: {
          Scheme: chosen(),
          ...(chosen() === 'header' && { Header: header.value.trim() }),
          ...(chosen() === 'sigv4' && { Service: service.value.trim(), Region: region.value.trim() }),
          ...(chosen() === 'caller' && { Audience: audience.value.trim() }),
        },
        Tools: fields.map((one) => one.value()),
      }
    },
  }
}
