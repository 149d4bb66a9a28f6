/**
 * A fresh id of a session or a turn: 128 random bits. `crypto.randomUUID` is not there in a page that came over plain
 * HTTP; this is.
 * @returns {string} 32 hexadecimal digits
 */
export function mint() {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
