/**
 * Claims of a token.
 *
 * @module
 */

/**
 * Returns the claims of a token, unverified. The API verifies the token.
 * @param {string} token
 * @returns {Record<string, unknown>}
 */
export function claimsOf(token) {
  try {
    const [, payload = ''] = token.split('.')
    const bytes = Uint8Array.from(atob(payload.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0))
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return {}
  }
}
