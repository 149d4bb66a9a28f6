/**
 * Values in a JSON document, by path.
 *
 * @module
 */

/** @typedef {(string | number)[]} Path */

/**
 * Returns the value at a path.
 * @param {any} document
 * @param {Path} path
 * @returns {any}
 */
export const valueAt = (document, path) => path.reduce((value, key) => value?.[key], document)

/**
 * Returns a copy of a document with another value at a path. Without a value, the member or item is removed, and so are objects that
 * become empty by it.
 * @param {any} document
 * @param {Path} path
 * @param {unknown} value
 * @returns {any}
 */
export function withValue(document, [key, ...rest], value) {
  if (key === undefined) return value
  const changed = rest.length === 0 ? value : withValue(document?.[key], rest, value)
  const copy = Array.isArray(document) || typeof key === 'number' ? [...(document ?? [])] : { ...document }
  if (changed !== undefined) copy[key] = changed
  else if (Array.isArray(copy)) copy.splice(Number(key), 1)
  else delete copy[key]
  return pruned(copy)
}

/**
 * Returns undefined for an object without members.
 * @param {any} value
 */
const pruned = (value) => (!Array.isArray(value) && Object.keys(value).length === 0 ? undefined : value)

/**
 * Formats a path as the API does in errors: `ClientTools[0].Name`.
 * @param {Path} path
 */
export const pathText = (path) => path.map((key, at) => (typeof key === 'number' ? `[${key}]` : at === 0 ? key : `.${key}`)).join('')
