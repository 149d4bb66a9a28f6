/**
 * Syntax highlighting. The highlighter is loaded with the first code block that names a language. It returns a tree of scopes,
 * from which elements are created, so that code never becomes markup.
 *
 * @module
 */

import { el, fill } from './dom.js'

/** Longer code is shown plain. */
const MAX_CHARS = 100_000
/** Highlighted texts that are kept, since a streaming answer is rendered again and again. */
const MAX_CACHED = 60
/** Languages that models name differently. */
const ALIASES = new Map([
  ['toml', 'ini'],
  ['jsonc', 'json'],
  ['console', 'shell'],
  ['text', 'plaintext'],
  ['svelte', 'xml'],
  ['vue', 'xml'],
  ['dockerfile', 'bash'],
])

/**
 * A scope of the highlighter's tree.
 * @typedef {{ scope?: string, children: (string | Scope)[] }} Scope
 */

/** @type {Promise<any> | undefined} */
let library
/** @type {any} */
let loaded
/** @type {Map<string, Scope>} */
const cache = new Map()

const load = () =>
  (library ??= import(new URL('./vendor/highlight.min.js', import.meta.url).href).then((module) => (loaded = module.default)))

/**
 * Highlights the text of an element, at once if the highlighter is loaded.
 * @param {HTMLElement} element
 * @param {string} text
 * @param {string} language as in the code fence
 */
export function highlight(element, text, language) {
  const name = ALIASES.get(language.toLowerCase()) ?? language.toLowerCase()
  if (name === '' || text.length > MAX_CHARS) return
  const show = () => {
    const tree = scopes(text, name)
    if (tree) fill(element, tree.children.map(node))
  }
  if (loaded) show()
  else load().then(show, () => {})
}

/**
 * @param {string} text
 * @param {string} language
 * @returns {Scope | undefined} undefined if the language is unknown
 */
function scopes(text, language) {
  const key = `${language}\n${text}`
  const cached = cache.get(key)
  if (cached) return cached
  if (!loaded.getLanguage(language)) return undefined
  const tree = loaded.highlight(text, { language, ignoreIllegals: true })._emitter.rootNode
  if (cache.size >= MAX_CACHED) cache.delete(cache.keys().next().value ?? '')
  cache.set(key, tree)
  return tree
}

/**
 * @param {string | Scope} part
 * @returns {Node | string}
 */
function node(part) {
  if (typeof part === 'string') return part
  const [scope = ''] = (part.scope ?? '').split('.')
  return el('span', { class: scope && `hl-${scope}` }, part.children.map(node))
}
