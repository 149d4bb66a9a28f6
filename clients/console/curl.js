/**
 * Requests as command lines. Tokens and keys stand in variables, so that a line can be shown to others.
 *
 * @module
 */

import { button, tell } from './dom.js'

/** @param {string} text */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`

/**
 * A request to the API.
 * @param {string} api
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 */
export function curl(api, method, path, body) {
  const parts = [`curl -sS -X ${method} ${quoted(new URL(path, api).href)}`, `-H "Authorization: Bearer $TOKEN"`]
  if (body !== undefined) parts.push(`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(body))}`)
  return parts.join(' \\\n  ')
}

/**
 * A request to the model's provider, as it was sent.
 * @param {string} body
 */
export function modelCurl(body) {
  const parts = [`curl -sS -N "$OPENAI_BASE_URL/responses"`, `-H "Authorization: Bearer $OPENAI_API_KEY"`]
  return [...parts, `-H 'Content-Type: application/json'`, `-d ${quoted(body)}`].join(' \\\n  ')
}

/**
 * A button that puts a text into the clipboard.
 * @param {string} label
 * @param {() => string | Promise<string>} text
 */
export function copying(label, text) {
  return button(label, async () => {
    try {
      await navigator.clipboard.writeText(await text())
      tell('It is copied.')
    } catch {
      tell('It could not be copied.')
    }
  })
}
