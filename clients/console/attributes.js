/**
 * Attributes of documents, as a user writes them.
 *
 * @module
 */

/** @typedef {{ Key: string, Values: (string | number | boolean)[] }} Attribute */

/**
 * Reads attributes, a `KEY=VALUE` per line. Whole numbers and `true` or `false` are values of their type.
 * @param {string} text
 * @returns {Attribute[]}
 */
export function parseAttributes(text) {
  /** @type {Map<string, (string | number | boolean)[]>} */
  const values = new Map()
  for (const line of text.split('\n').filter((each) => each.trim())) {
    const [key = '', ...rest] = line.split('=')
    if (rest.length === 0) throw new Error(`The attribute ${line.trim()} needs the form KEY=VALUE.`)
    const value = rest.join('=').trim()
    const typed = /^-?\d{1,15}$/.test(value) ? Number(value) : value === 'true' || value === 'false' ? value === 'true' : value
    values.set(key.trim(), [...(values.get(key.trim()) ?? []), typed])
  }
  return [...values].map(([Key, Values]) => ({ Key, Values }))
}
