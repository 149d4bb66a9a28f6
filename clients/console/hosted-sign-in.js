/**
 * Sign-in of a page without a server of its own: the authorization code flow with PKCE, in the browser. The tokens stay in
 * this tab's session storage.
 *
 * @module
 */

import { AptixError } from '../javascript/src/index.js'
import { claimsOf } from './claims.js'
import { THEME_KEY } from './saved-theme.js'

/**
 * `Provider` has the members of the provider's metadata (RFC 8414).
 * @typedef {{ Provider: Record<string, any> & { issuer: string }, ClientId: string, Scope: string, Audiences: string[], IsPool: boolean }} SignIn
 * @typedef {{ token: string, isAccessToken: boolean, idToken?: string, refreshToken?: string, expiresAt: number }} Session
 * @typedef {{ state: string, nonce: string, verifier: string, hash: string }} Attempt
 */

const SESSION_KEY = 'aptix-console:session'
const ATTEMPT_KEY = 'aptix-console:sign-in'
/** A token is renewed this long before it expires. */
const MARGIN_MS = 60_000
/** Lifetime of a token that names none. */
const DEFAULT_LIFETIME_MS = 5 * 60_000
const AGAIN = 'Sign in again.'

export class HostedSignIn {
  /** @type {Promise<string> | undefined} */
  #renewal

  /**
   * @param {SignIn} config
   * @param {any} oauth The module oauth4webapi
   */
  constructor(config, oauth) {
    this.config = config
    this.oauth = oauth
    this.client = { client_id: config.ClientId }
    this.redirect = `${location.origin}/`
    // Only providers on this machine may do without TLS; the program that wrote the configuration has checked that.
    this.options = { [oauth.allowInsecureRequests]: location.protocol === 'http:', signal: () => AbortSignal.timeout(20_000) }
    /** The reason that the last sign-in failed. */
    this.problem = ''
    /** Called once the session has ended. */
    this.onEnd = () => {}
  }

  /**
   * Completes a sign-in that the provider has sent back, if there is one.
   * @param {SignIn} config
   */
  static async open(config) {
    const oauth = await import(new URL('./vendor/oauth4webapi.js', import.meta.url).href)
    const signIn = new HostedSignIn(config, oauth)
    const url = new URL(location.href)
    if (url.searchParams.has('state') || url.searchParams.has('error')) {
      await signIn.#complete(url).catch((error) => (signIn.problem = signIn.#explain(error)))
    }
    return signIn
  }

  /** Host of the provider's page, for texts. */
  get host() {
    return new URL(this.config.Provider.authorization_endpoint).host
  }

  /** @returns {Session | undefined} */
  get #session() {
    try {
      return JSON.parse(sessionStorage.getItem(SESSION_KEY) ?? 'null') ?? undefined
    } catch {
      return undefined
    }
  }

  get isSignedIn() {
    return this.#session !== undefined
  }

  /** The token whose claims name the user. */
  get shownToken() {
    return this.#session?.idToken ?? this.#session?.token ?? ''
  }

  /** Leads to the provider's page, which leads back to the current page. */
  async start() {
    const { oauth } = this
    const [state, nonce, verifier] = [oauth.generateRandomState(), oauth.generateRandomNonce(), oauth.generateRandomCodeVerifier()]
    sessionStorage.setItem(ATTEMPT_KEY, JSON.stringify({ state, nonce, verifier, hash: location.hash }))
    const url = new URL(this.config.Provider.authorization_endpoint)
    const query = {
      response_type: 'code',
      client_id: this.config.ClientId,
      redirect_uri: this.redirect,
      scope: this.config.Scope,
      state,
      nonce,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    location.assign(url)
  }

  /**
   * Exchanges the code for tokens. An attempt is used once, whatever comes of it.
   * @param {URL} url
   */
  async #complete(url) {
    const stored = sessionStorage.getItem(ATTEMPT_KEY)
    sessionStorage.removeItem(ATTEMPT_KEY)
    const attempt = /** @type {Attempt | undefined} */ (stored ? JSON.parse(stored) : undefined)
    history.replaceState(null, '', `/${attempt?.hash ?? ''}`)
    if (!attempt || url.searchParams.get('state') !== attempt.state) {
      throw new Error(`This sign-in was not started in this tab, or it was already used. ${AGAIN}`)
    }
    const { oauth, client, options } = this
    const { Provider } = this.config
    const parameters = oauth.validateAuthResponse(Provider, client, url, attempt.state)
    const response = await oauth.authorizationCodeGrantRequest(Provider, client, oauth.None(), parameters, this.redirect, attempt.verifier, options)
    const tokens = await oauth.processAuthorizationCodeResponse(Provider, client, response, { expectedNonce: attempt.nonce, requireIdToken: true })
    this.#keep(tokens)
  }

  /**
   * Returns a valid token, and renews it before it expires.
   * @returns {Promise<string>}
   */
  async token() {
    const session = this.#session
    if (!session) throw this.#ended()
    if (Date.now() < session.expiresAt - MARGIN_MS) return session.token
    this.#renewal ??= this.#renew(session).finally(() => (this.#renewal = undefined))
    return this.#renewal
  }

  /** @param {Session} session */
  async #renew(session) {
    const { oauth, client, options } = this
    if (!session.refreshToken) throw this.#ended()
    try {
      const response = await oauth.refreshTokenGrantRequest(this.config.Provider, client, oauth.None(), session.refreshToken, options)
      return this.#keep(await oauth.processRefreshTokenResponse(this.config.Provider, client, response), session)
    } catch (error) {
      if (isUnreachable(error)) {
        // The token may be valid for another moment.
        if (Date.now() < session.expiresAt) return session.token
        throw AptixError.unreachable(new URL(this.config.Provider.token_endpoint).origin, error)
      }
      throw this.#ended()
    }
  }

  /**
   * Stores the tokens of a response.
   * @param {{ access_token: string, id_token?: string, refresh_token?: string }} tokens
   * @param {Session} [before] the session that they renew
   */
  #keep(tokens, before) {
    const { Audiences } = this.config
    const isAccepted = (/** @type {string} */ token) => Audiences.length === 0 || Audiences.some((name) => audiences(token).includes(name))
    /** @type {[string | undefined, boolean][]} */
    const candidates = [
      [tokens.id_token, false],
      [tokens.access_token, true],
    ]
    const same = candidates.filter(([, isAccessToken]) => before === undefined || isAccessToken === before.isAccessToken)
    const [token, isAccessToken] = same.find(([candidate]) => candidate && isAccepted(candidate)) ?? []
    if (!token) throw new Error(`${this.host} issued no token for this API (${Audiences.join(', ')}). Tell your operator.`)
    const { exp } = claimsOf(token)
    const session = {
      token,
      isAccessToken,
      idToken: tokens.id_token ?? before?.idToken,
      refreshToken: tokens.refresh_token ?? before?.refreshToken,
      expiresAt: typeof exp === 'number' ? exp * 1000 : Date.now() + DEFAULT_LIFETIME_MS,
    }
    sessionStorage.setItem(SESSION_KEY, JSON.stringify(session))
    return token
  }

  #ended() {
    sessionStorage.removeItem(SESSION_KEY)
    this.onEnd()
    return new AptixError(`Your sign-in has ended. ${AGAIN}`, { code: 'Unauthenticated', status: 401 })
  }

  /**
   * Deletes the tokens and what the page keeps for this user, revokes the tokens, and ends the session at the provider, if it
   * has a page for that.
   */
  async signOut() {
    const session = this.#session
    sessionStorage.clear()
    for (const key of Object.keys(localStorage)) if (key !== THEME_KEY) localStorage.removeItem(key)
    const { oauth, client, options } = this
    const { Provider, ClientId, IsPool } = this.config
    if (session?.refreshToken && Provider.revocation_endpoint) {
      // The tokens are gone from this tab in any case, and expire by themselves.
      await oauth.revocationRequest(Provider, client, oauth.None(), session.refreshToken, options).catch(() => {})
    }
    if (!Provider.end_session_endpoint) return location.assign(this.redirect)
    const url = new URL(Provider.end_session_endpoint)
    url.searchParams.set('client_id', ClientId)
    url.searchParams.set(IsPool ? 'logout_uri' : 'post_logout_redirect_uri', this.redirect)
    if (!IsPool && session?.idToken) url.searchParams.set('id_token_hint', session.idToken)
    location.assign(url)
  }

  /**
   * Returns the words for a failed sign-in.
   * @param {any} error
   */
  #explain(error) {
    const reason = error.error_description ?? error.error
    if (error.code === this.oauth.AUTHORIZATION_RESPONSE_ERROR && error.error === 'access_denied') return `The sign-in was denied (${reason}).`
    if (reason) return `${this.host} refused the sign-in: ${reason}. ${AGAIN}`
    if (isUnreachable(error)) return `Can't reach ${new URL(this.config.Provider.token_endpoint).host}. Check your connection, then sign in again.`
    if (error.code?.startsWith('OAUTH_')) return `The response of ${this.host} doesn't belong to this sign-in, or has a mistake (${error.message}). ${AGAIN}`
    return error.message
  }
}

/**
 * True for a request without a response.
 * @param {any} error
 */
const isUnreachable = (error) => error?.name === 'TimeoutError' || (error instanceof TypeError && !('code' in error))

/** @param {string} token */
const audiences = (token) => /** @type {unknown[]} */ ([claimsOf(token).aud]).flat()
