/**
 * Formulas in TeX as MathML, in a font that the browser loads with the first formula (chat.css). KaTeX is loaded with the first formula and
 * creates elements itself; until then, and for a formula that it refuses, the TeX is shown.
 *
 * @module
 */

import { el } from './dom.js'

const MAX_CHARS = 5_000
const OPTIONS = { output: 'mathml', throwOnError: true, trust: false, strict: 'ignore', maxExpand: 500, maxSize: 20 }

/** Alphabets that MathML names and browsers no longer apply: the code points of A, a and 0. */
const ALPHABETS = /** @type {Record<string, number[]>} */ ({
  'double-struck': [0x1d538, 0x1d552, 0x1d7d8],
  script: [0x1d49c, 0x1d4b6],
  fraktur: [0x1d504, 0x1d51e],
  bold: [0x1d400, 0x1d41a, 0x1d7ce],
})
/** Letters that Unicode had before the alphabets. */
const OLDER = /** @type {Record<string, Record<string, string>>} */ ({
  'double-struck': { C: 'ℂ', H: 'ℍ', N: 'ℕ', P: 'ℙ', Q: 'ℚ', R: 'ℝ', Z: 'ℤ' },
  script: { B: 'ℬ', E: 'ℰ', F: 'ℱ', H: 'ℋ', I: 'ℐ', L: 'ℒ', M: 'ℳ', R: 'ℛ', e: 'ℯ', g: 'ℊ', o: 'ℴ' },
  fraktur: { C: 'ℭ', H: 'ℌ', I: 'ℑ', R: 'ℜ', Z: 'ℨ' },
})

/**
 * Returns a text in the letters of an alphabet.
 * @param {string} text
 * @param {string} alphabet
 */
export function inAlphabet(text, alphabet) {
  const starts = ALPHABETS[alphabet]
  if (!starts) return text
  return text.replaceAll(/[A-Za-z0-9]/g, (letter) => {
    const at = letter <= '9' ? 2 : letter <= 'Z' ? 0 : 1
    const start = starts[at]
    return OLDER[alphabet]?.[letter] ?? (start === undefined ? letter : String.fromCodePoint(start + letter.charCodeAt(0) - 'Aa0'.charCodeAt(at)))
  })
}

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
      for (const letters of target.querySelectorAll('[mathvariant]')) {
        if (letters.childElementCount === 0) letters.textContent = inAlphabet(letters.textContent ?? '', letters.getAttribute('mathvariant') ?? '')
      }
      element.replaceChildren(...target.childNodes)
    })
    .catch(() => element.classList.add('refused'))
  return element
}
