/**
 * An OpenID Connect provider for tests: the authorization code flow with PKCE, refresh tokens that are used once, revocation
 * and sign-out. Its page signs in at once.
 *
 * @module
 */

import { createHash, randomUUID } from 'node:crypto'

import { listen } from './listen.js'

const base64 = (/** @type {unknown} */ value) => Buffer.from(JSON.stringify(value)).toString('base64url')
const CORS = { 'access-control-allow-origin': '*', 'cache-control': 'no-store' }

export class IdentityProvider {
  /** Requests to the endpoints, by their path. @type {Record<string, Record<string, string>[]>} */
  requests = {}
  /** Changes of the next responses. @type {{ deny?: boolean, state?: string, nonce?: string, refuseRefresh?: boolean, isGone?: boolean }} */
  faults = {}
  /** @type {Map<string, Record<string, string>>} */
  #codes = new Map()
  #refreshToken = ''
  url = ''
  end = () => {}

  /** @param {() => string} accessToken returns the token that the API accepts */
  static async start(accessToken) {
    const provider = new IdentityProvider()
    Object.assign(
      provider,
      await listen(async (request, response) => {
        const url = new URL(request.url ?? '/', provider.url)
        let body = ''
        for await (const part of request) body += part
        const sent = Object.fromEntries(body ? new URLSearchParams(body) : url.searchParams)
        ;(provider.requests[url.pathname] ??= []).push(sent)
        if (provider.faults.isGone) return request.socket.destroy()
        const redirect = (/** @type {string} */ to, /** @type {Record<string, string>} */ query) => {
          const target = new URL(to)
          for (const [name, value] of Object.entries(query)) target.searchParams.set(name, value)
          response.writeHead(302, { location: target.href }).end()
        }
        const json = (/** @type {number} */ status, /** @type {unknown} */ value) => response.writeHead(status, { ...CORS, 'content-type': 'application/json' }).end(JSON.stringify(value))
        switch (url.pathname) {
          case '/.well-known/openid-configuration':
            return json(200, provider.metadata)
          case '/authorize': {
            const { redirect_uri = '', state = '' } = sent
            const { deny, state: other } = provider.faults
            if (deny) return redirect(redirect_uri, { error: 'access_denied', error_description: 'You have no access', state })
            const code = randomUUID()
            provider.#codes.set(code, sent)
            return redirect(redirect_uri, { code, state: other ?? state })
          }
          case '/token':
            return json(...provider.#exchange(sent, accessToken()))
          case '/revoke':
            provider.#refreshToken = ''
            return json(200, {})
          case '/logout':
            return redirect(sent.post_logout_redirect_uri ?? sent.logout_uri ?? '', {})
          default:
            return json(404, {})
        }
      }),
    )
    return provider
  }

  get metadata() {
    const at = (/** @type {string} */ path) => `${this.url}/${path}`
    return { issuer: this.url, authorization_endpoint: at('authorize'), token_endpoint: at('token'), revocation_endpoint: at('revoke'), end_session_endpoint: at('logout'), id_token_signing_alg_values_supported: ['ES256'] }
  }

  /**
   * @param {Record<string, string>} form
   * @param {string} accessToken
   * @returns {[number, unknown]}
   */
  #exchange(form, accessToken) {
    const asked = this.#codes.get(form.code ?? '')
    this.#codes.delete(form.code ?? '')
    if (form.grant_type === 'authorization_code') {
      const challenge = createHash('sha256').update(form.code_verifier ?? '').digest('base64url')
      if (challenge !== asked?.code_challenge || form.redirect_uri !== asked.redirect_uri) return [400, { error: 'invalid_grant' }]
    } else if (this.faults.refuseRefresh || form.refresh_token !== this.#refreshToken) {
      return [400, { error: 'invalid_grant' }]
    }
    this.#refreshToken = randomUUID()
    const now = Math.floor(Date.now() / 1000)
    const nonce = this.faults.nonce ?? asked?.nonce
    const claims = { iss: this.url, aud: form.client_id, sub: 'ada', name: 'Ada Lovelace', iat: now, exp: now + 3600, nonce }
    const id_token = `${base64({ alg: 'ES256' })}.${base64(claims)}.${base64('signature')}`
    return [200, { token_type: 'Bearer', access_token: accessToken, id_token, refresh_token: this.#refreshToken, expires_in: 3600 }]
  }
}
