/**
 * Returns a new session or turn id: 128 random bits. Works without `crypto.randomUUID`, which pages served over plain HTTP
 * don't have.
 * @returns {string} 32 hexadecimal digits
 */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
