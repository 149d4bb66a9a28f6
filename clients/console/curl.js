/**
 * Requests as curl commands. Tokens and keys are shell variables, so that a command is safe to share.
 *
 * @module
 */

import { button, announce } from './dom.js'

/** @param {string} text */
const shellQuote = (text) => `'${text.replaceAll("'", "'\\''")}'`

/**
 * Returns the curl command of a request to the API.
 * @param {string} api
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 */
export function curl(api, method, path, body) {
  const parts = [`curl -sS -X ${method} ${shellQuote(new URL(path, api).href)}`, `-H "Authorization: Bearer $TOKEN"`]
  if (body !== undefined) parts.push(`-H 'Content-Type: application/json'`, `-d ${shellQuote(JSON.stringify(body))}`)
  return parts.join(' \\\n  ')
}

/**
 * Returns the curl command of a request to the model provider.
 * @param {string} body
 */
export function providerCurl(body) {
  const parts = [`curl -sS -N "$OPENAI_BASE_URL/responses"`, `-H "Authorization: Bearer $OPENAI_API_KEY"`]
  return [...parts, `-H 'Content-Type: application/json'`, `-d ${shellQuote(body)}`].join(' \\\n  ')
}

/**
 * Creates a button that copies a text to the clipboard.
 * @param {string} label
 * @param {() => string | Promise<string>} text
 */
export function copyButton(label, text) {
  return button(label, async () => {
    try {
      await navigator.clipboard.writeText(await text())
      announce('Copied.')
    } catch {
      announce("Can't access the clipboard.")
    }
  })
}
