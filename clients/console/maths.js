/**
 * Formulas in TeX as MathML, in a font that the browser loads with the first formula (chat.css). KaTeX is loaded with the first formula and
 * creates elements itself; until then, and for a formula that it refuses, the TeX is shown.
 *
 * @module
 */

import { el } from './dom.js'

const MAX_CHARS = 5_000
const OPTIONS = { output: 'mathml', throwOnError: true, trust: false, strict: 'ignore', maxExpand: 500, maxSize: 20 }

/** @type {Promise<any> | undefined} */
let library

const load = () =>
  (library ??= import(new URL('./vendor/katex.min.js', import.meta.url).href).then(() => /** @type {any} */ (globalThis).katex))

/**
 * @param {string} tex
 * @param {boolean} isBlock
 */
export function formula(tex, isBlock) {
  const element = el(isBlock ? 'div' : 'span', { class: isBlock ? 'formula block' : 'formula' }, el('code', {}, tex))
  if (tex.length > MAX_CHARS) return element
  load()
    .then((katex) => {
      const target = el('span')
      katex.render(tex, target, { ...OPTIONS, displayMode: isBlock })
      element.replaceChildren(...target.childNodes)
    })
    .catch(() => element.classList.add('refused'))
  return element
}
