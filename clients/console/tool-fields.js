/**
 * The fields of one tool of a connection: what it is, how it is called, its arguments, and what a second call would do.
 *
 * @module
 */

import { escapeInvisible } from '../javascript/src/patch.js'
import { argumentRows } from './argument-rows.js'
import { button, el, labelledField } from './dom.js'

/**
 * @typedef {{ Name: string, Description: string, Parameters: import('./argument-rows.js').Schema, Class?: string, Method?: string, Path?: string,
 *   RemoteName?: string, [member: string]: unknown }} Tool
 */

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
/** What a second call would do: the class, its answer in plain words, what follows, and a word for the list. */
const CLASSES = [
  ['effect', 'It acts again', 'As for “file a ticket”. The call is sent at most once. If nobody knows whether it arrived, it isn’t repeated, and the model is told.', 'acts'],
  ['read', 'Nothing, it only reads', 'The call may be sent again after a failure.', 'only reads'],
  ['repeatable', 'Nothing more, the state is the same', 'As for “set the status to closed”. The call may be sent again after a failure.', 'may be repeated'],
  ['keyed', 'Nothing more, the server knows the key', 'Each call has a key. After a failure it is sent again under the same key, which the server must recognize.', 'acts once per key'],
]

/** @returns {Tool} */
export const newTool = () => ({ Name: '', Description: '', Parameters: { type: 'object', properties: {}, required: [] } })

/**
 * @param {Tool} tool
 * @param {boolean} isOpen
 * @param {{ onChange: () => void, onRemove: (fields: any) => void, isHttp: () => boolean }} options
 */
export function toolFields(tool, isOpen, { onChange, onRemove, isHttp }) {
  const name = el('input', { name: 'tool', value: tool.Name, required: true, pattern: '[A-Za-z0-9_\\-]{1,62}', title: 'Letters, digits, _ and -', autocomplete: 'off', placeholder: 'create_ticket' })
  const description = el('textarea', { name: 'about', rows: 2, required: true, maxlength: 4000, placeholder: 'Files a ticket with the help desk.' }, tool.Description)
  const method = el('select', { name: 'method' }, METHODS.map((value) => el('option', { value, selected: value === (tool.Method ?? 'POST') }, value)))
  const path = el('input', { name: 'path', value: tool.Path ?? '', maxlength: 1024, autocomplete: 'off', placeholder: '/projects/{project}/tickets' })
  const remote = el('input', { name: 'remote', value: tool.RemoteName ?? '', maxlength: 256, autocomplete: 'off', placeholder: 'The same' })
  const effect = el('select', { name: 'class' }, CLASSES.map(([value, label]) => el('option', { value, selected: value === (tool.Class ?? 'effect') }, label ?? '')))
  const consequence = el('small', {})
  const http = el('div', { class: 'request-line' }, labelledField('Method', method), labelledField('Path after the URL; {name} is an argument', path))
  const mcp = labelledField('Name at the server, if it differs', remote)
  const args = argumentRows(tool.Parameters, onChange)
  const summary = el('summary', {})
  const remove = button('Remove the tool', () => onRemove(fields), { class: 'ghost danger' })
  const node = el(
    'details',
    { class: 'tool-fields', open: isOpen },
    summary,
    el('div', { class: 'tool-body' }, labelledField('Name, for the model', name), labelledField('What it does, for the model', description), http, mcp, args.node, el('div', {}, labelledField('What a second call would do', effect), consequence), el('div', { class: 'row end' }, remove)),
  )

  function update() {
    const [, , text, word] = CLASSES.find(([value]) => value === effect.value) ?? []
    consequence.textContent = text ?? ''
    summary.replaceChildren(el('strong', {}, escapeInvisible(name.value) || 'New tool'), el('span', { class: 'tag' }, word ?? ''))
    http.hidden = !isHttp()
    mcp.hidden = isHttp()
    path.required = isHttp()
  }

  node.addEventListener('input', update)
  path.addEventListener('change', () => args.need([...path.value.matchAll(/\{([\w-]+)\}/g)].map(([, argument = '']) => argument)))
  // A field that is hidden can't show what is wrong.
  node.addEventListener('invalid', () => (node.open = true), true)
  update()
  const fields = {
    node,
    update,
    name: () => name.value.trim(),
    focus: () => name.focus(),
    /** @returns {Tool} the tool, with the members that the form doesn't show as they were */
    value() {
      const { Method: _, Path: __, RemoteName: ___, ...rest } = tool
      const own = isHttp() ? { Method: method.value, Path: path.value.trim() } : { ...(remote.value.trim() && { RemoteName: remote.value.trim() }) }
      return { ...rest, ...own, Name: name.value.trim(), Description: description.value.trim(), Parameters: args.value(), Class: effect.value }
    },
  }
  return fields
}
