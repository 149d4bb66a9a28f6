/**
 * Connection to the API and to the console's own server.
 *
 * @module
 */

import { Aptix, AptixError } from '../javascript/src/index.js'
import { claimsOf } from './claims.js'
import { reach } from './reachability.js'

/**
 * @typedef {{ Api?: string, Tokens: 'local' | 'given' | 'typed' | 'signed-in', SignIn?: import('./hosted-sign-in.js').SignIn, IsLocal: boolean, IsMock: boolean, Command: string,
 *   Start?: string, Provider?: string, Providers?: { Name: string, NeedsKey: boolean, BaseUrl?: string }[] }} Config `Providers`: those that the page can
 *   set, if any
 * @typedef {{ Org: string, User: string, Operator: boolean }} Identity
 */

const IDENTITY_KEY = 'aptix-console:identity'
const TOKEN_KEY = 'aptix-console:token'
const CONSOLE_KEY = 'aptix-console:key'
/** The fragment of the link to the console: its key, and optionally a page. */
const KEY_FRAGMENT = /^#key=(\w+)(\/.*)?$/
/** The identity in a local cloud until the user chooses another one. Operators can read traces. */
const DEFAULT_IDENTITY = { Org: 'acme', User: 'ada', Operator: true }

export class Connection {
  /**
   * @param {Config} config
   * @param {import('./hosted-sign-in.js').HostedSignIn} [signIn] the sign-in of a page without a server of its own
   */
  constructor(config, signIn) {
    this.config = config
    this.signIn = signIn
    const api = new URL(config.Api ?? '/', location.href)
    if (!api.pathname.endsWith('/')) api.pathname += '/'
    this.api = api.href
    this.aptix = new Aptix({ baseUrl: this.api, token: () => this.token(), resumeStore: sessionStorage, fetch: (url, init) => reach(/** @type {URL} */ (url), init ?? {}) })
  }

  static async open() {
    const config = /** @type {Config} */ (await consoleApi('GET', 'config'))
    if (!config.SignIn) return new Connection(config)
    const { HostedSignIn } = await import('./hosted-sign-in.js')
    return new Connection(config, await HostedSignIn.open(config.SignIn))
  }

  /**
   * The identity that a local cloud issues tokens for.
   * @returns {Identity}
   */
  get identity() {
    return { ...DEFAULT_IDENTITY, ...JSON.parse(sessionStorage.getItem(IDENTITY_KEY) ?? '{}') }
  }

  /**
   * Switches to another identity and reloads the page.
   * @param {Identity} identity
   */
  setIdentity(identity) {
    sessionStorage.setItem(IDENTITY_KEY, JSON.stringify(identity))
    location.reload()
  }

  /**
   * Stores the token that the user entered and reloads the page.
   * @param {string} token
   */
  setToken(token) {
    sessionStorage.setItem(TOKEN_KEY, token.trim())
    location.reload()
  }

  /** True if the user has to sign in, or to enter a token, first. */
  get needsToken() {
    if (this.signIn) return !this.signIn.isSignedIn
    return this.config.Tokens === 'typed' && !sessionStorage.getItem(TOKEN_KEY)
  }

  /** @returns {Promise<string>} */
  async token() {
    if (this.signIn) return this.signIn.token()
    if (this.config.Tokens === 'typed') return sessionStorage.getItem(TOKEN_KEY) ?? ''
    const { Token } = await consoleApi('POST', 'token', this.identity)
    return Token
  }

  /**
   * Sends a GET request that the SDK has no method for.
   * @param {string} path relative to the API's base
   * @param {AbortSignal} [signal]
   * @returns {Promise<any>}
   */
  async read(path, signal) {
    const headers = { accept: 'application/json', authorization: `Bearer ${await this.token()}` }
    return readResult(await reach(new URL(path, this.api), { headers, cache: 'no-store', signal: signal ?? null }))
  }

  /**
   * Sends a GET request that the SDK has no method for, and returns the body.
   * @param {string} path relative to the API's base
   * @param {string} [accept] the media type
   */
  async readText(path, accept = '*/*') {
    const headers = { accept, authorization: `Bearer ${await this.token()}` }
    const response = await reach(new URL(path, this.api), { headers, cache: 'no-store' })
    return response.ok ? response.text() : readResult(response)
  }

  /**
   * Sends a request that changes something and that the SDK has no method for.
   * @param {string} method
   * @param {string} path relative to the API's base
   * @param {string} [body] JSON
   * @param {Record<string, string>} [more] further headers
   * @returns {Promise<any>}
   */
  async send(method, path, body, more = {}) {
    /** @type {Record<string, string>} */
    const headers = { accept: 'application/json', authorization: `Bearer ${await this.token()}`, ...more }
    if (body !== undefined) headers['content-type'] = 'application/json'
    return readResult(await reach(new URL(path, this.api), { method, headers, body: body ?? null }))
  }

  /**
   * Returns the token's claims, unverified. The API verifies the token.
   * @returns {Promise<Record<string, unknown>>}
   */
  async claims() {
    return claimsOf(await this.token().catch(() => ''))
  }
}

/**
 * Returns the console's key, with which its server recognizes the user. It comes from the link to the console, and is kept
 * for later tabs. The address then shows the page alone.
 * @returns {string}
 */
export function consoleKey() {
  const [, key, page = '/'] = KEY_FRAGMENT.exec(location.hash) ?? []
  if (key) {
    localStorage.setItem(CONSOLE_KEY, key)
    history.replaceState(null, '', `#${page}`)
  }
  return localStorage.getItem(CONSOLE_KEY) ?? ''
}

/**
 * Sends a request to the console's own server and returns the result.
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body] serialized as JSON unless it is a string
 * @returns {Promise<any>}
 */
export async function consoleApi(method, path, body) {
  const headers = { 'x-aptix-console': consoleKey(), ...(body === undefined ? {} : { 'content-type': 'application/json' }) }
  const text = body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body)
  return readResult(await reach(`/console/api/${path}`, { method, headers, body: text }))
}

/** @param {Response} response */
async function readResult(response) {
  const envelope = await response.json().catch(() => ({ Successful: false, Errors: [] }))
  if (!envelope.Successful) throw AptixError.fromEnvelope(envelope, response)
  return envelope.Result
}
