/**
 * Where the API is, who calls it, and what a local cloud tells beside it.
 *
 * @module
 */

import { Aptix, AptixError } from '../javascript/src/index.js'

/**
 * @typedef {{ Api?: string, Tokens: 'local' | 'given' | 'typed', IsLocal: boolean, IsMock: boolean }} Config
 * @typedef {{ Org: string, User: string, Operator: boolean }} Identity
 */

const WHO = 'aptix-console:who'
const TOKEN = 'aptix-console:token'
/** Whom a local cloud takes the page for until the user says otherwise. An operator reads traces. */
const ADA = { Org: 'acme', User: 'ada', Operator: true }

export class Connection {
  /** @param {Config} config */
  constructor(config) {
    this.config = config
    const api = new URL(config.Api ?? '/', location.href)
    if (!api.pathname.endsWith('/')) api.pathname += '/'
    this.api = api.href
    this.aptix = new Aptix({ baseUrl: this.api, token: () => this.token(), keep: sessionStorage })
  }

  static async open() {
    return new Connection(await consoleApi('GET', 'config'))
  }

  /**
   * Whom a local cloud makes tokens for.
   * @returns {Identity}
   */
  get identity() {
    return { ...ADA, ...JSON.parse(sessionStorage.getItem(WHO) ?? '{}') }
  }

  /**
   * Somebody else from now on. The page begins anew.
   * @param {Identity} identity
   */
  become(identity) {
    sessionStorage.setItem(WHO, JSON.stringify(identity))
    location.reload()
  }

  /**
   * The token that the user typed in. The page begins anew.
   * @param {string} token
   */
  use(token) {
    sessionStorage.setItem(TOKEN, token.trim())
    location.reload()
  }

  /** Whether there is nobody to call as. */
  get isUnknown() {
    return this.config.Tokens === 'typed' && !sessionStorage.getItem(TOKEN)
  }

  /** @returns {Promise<string>} */
  async token() {
    if (this.config.Tokens === 'typed') return sessionStorage.getItem(TOKEN) ?? ''
    const { Token } = await consoleApi('POST', 'token', this.identity)
    return Token
  }

  /**
   * What the API answers to a read that the SDK has no name for.
   * @param {string} path relative to the API's base
   * @returns {Promise<any>}
   */
  async read(path) {
    const headers = { accept: 'application/json', authorization: `Bearer ${await this.token()}` }
    return result(await fetch(new URL(path, this.api), { headers, cache: 'no-store' }))
  }

  /**
   * What the token says of its user. It is the API that checks it.
   * @returns {Promise<Record<string, unknown>>}
   */
  async claims() {
    try {
      const [, payload = ''] = (await this.token()).split('.')
      const bytes = Uint8Array.from(atob(payload.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0))
      return JSON.parse(new TextDecoder().decode(bytes))
    } catch {
      return {}
    }
  }
}

/**
 * What the console's own server answers.
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body] a text goes as it is
 * @returns {Promise<any>}
 */
export async function consoleApi(method, path, body) {
  const headers = { 'x-aptix-console': '1', ...(body === undefined ? {} : { 'content-type': 'application/json' }) }
  const text = body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body)
  return result(await fetch(`/console/api/${path}`, { method, headers, body: text }))
}

/** @param {Response} response */
async function result(response) {
  const envelope = await response.json().catch(() => ({ Successful: false, Errors: [] }))
  if (!envelope.Successful) throw AptixError.of(envelope, response)
  return envelope.Result
}
