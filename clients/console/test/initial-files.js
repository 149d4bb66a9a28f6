/**
 * The console's files that the page loads at once, and those that it loads on demand.
 *
 * @module
 */

import { readdirSync, readFileSync } from 'node:fs'

const folder = new URL('../', import.meta.url)
const LIBRARY = new URL('vendor/markdown-it.min.js', folder).href
/** The page that draws diagrams, which is loaded with the first one. */
const FRAME = 'diagram-frame.html'

/** @returns {string[]} URLs: the page, its styles, what its scripts import, and the library that they need from the start */
export function initialFiles() {
  const others = readdirSync(folder).filter((name) => /\.(css|html|svg)$/.test(name) && name !== FRAME)
  const files = new Set(['main.js', 'saved-theme.js', ...others].map((name) => new URL(name, folder).href))
  // A set also yields what is added meanwhile: the modules that a module imports.
  for (const file of files) {
    for (const [, path = ''] of readFileSync(new URL(file), 'utf8').matchAll(/^(?:import|export) [^'(]*from '(\.[^']+)'/gm)) files.add(new URL(path, file).href)
  }
  return [...files, LIBRARY]
}

/** @returns {string[]} URLs of the files that the page loads when something needs them */
export function laterFiles() {
  const initial = new Set(initialFiles())
  const all = ['./', 'vendor/'].flatMap((path) => readdirSync(new URL(path, folder)).filter((name) => /\.(js|html)$/.test(name)).map((name) => new URL(path + name, folder).href))
  return all.filter((file) => !initial.has(file))
}
