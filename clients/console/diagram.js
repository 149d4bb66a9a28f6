/**
 * Mermaid diagrams as images. A hidden frame draws them: it has an origin of its own, so it reaches neither the console nor
 * the API. It is created with the first diagram.
 *
 * @module
 */

import { el } from './dom.js'

/** Longer diagrams are shown as source. */
const MAX_CHARS = 20_000
const MAX_SVG_CHARS = 3_000_000
/** Time in which the library is loaded and the diagram drawn. */
const TIMEOUT_MS = 10_000
/** Drawings that are kept, since a streaming answer is rendered again and again. */
const MAX_CACHED = 40
const COLORS = ['card', 'text', 'muted', 'accent', 'accent-soft', 'code', 'hover', 'line-strong', 'warn', 'warn-soft', 'good', 'danger']

/**
 * @typedef {{ svg: string, title: string } | { error: string }} Result what the frame answers
 *
 * @typedef {{ image?: { src: string, alt: string, width?: string, height?: string }, error?: string }} Drawing
 */

/** @type {Promise<HTMLIFrameElement> | undefined} */
let frame
/** @type {Map<string, Drawing & { done: Promise<Drawing> }>} */
const drawings = new Map()
/** Sources of the diagrams on the page. @type {WeakMap<Element, string>} */
const sources = new WeakMap()

/**
 * Creates an element that shows a diagram.
 * @param {string} text
 * @param {(reason: string) => void} onError called if it can't be drawn
 */
export function diagram(text, onError) {
  const element = el('div', { class: 'diagram', tabindex: 0, role: 'group', 'aria-label': 'Diagram' })
  sources.set(element, text)
  show(element, onError)
  return element
}

/** Draws the page's diagrams again, in the colors of the current theme. */
export function redrawDiagrams() {
  for (const element of document.querySelectorAll('.diagram')) show(element, () => {})
}

const prefersDark = matchMedia('(prefers-color-scheme: dark)')
prefersDark.addEventListener('change', redrawDiagrams)

/**
 * Shows a diagram, at once if it has been drawn before.
 * @param {Element} element
 * @param {(reason: string) => void} onError
 */
function show(element, onError) {
  const drawing = draw(sources.get(element) ?? '')
  const update = ({ image, error = '' } = /** @type {Drawing} */ (drawing)) => {
    if (image) element.replaceChildren(el('img', { ...image, decoding: 'sync' }))
    else onError(error)
  }
  if (drawing.image) update()
  else drawing.done.then(update)
}

/** @param {string} text */
function draw(text) {
  const theme = document.documentElement.dataset.theme ?? (prefersDark.matches ? 'dark' : 'light')
  const key = `${theme}\n${text}`
  const known = drawings.get(key)
  if (known) return known
  const done = request(text, theme === 'dark').then(toDrawing, (error) => ({ error: String(error) }))
  /** @type {Drawing & { done: Promise<Drawing> }} */
  const drawing = { done }
  done.then((result) => Object.assign(drawing, result))
  drawings.set(key, drawing)
  const [oldest, { image = undefined } = {}] = drawings.entries().next().value ?? []
  if (drawings.size > MAX_CACHED && oldest !== undefined) {
    drawings.delete(oldest)
    if (image) URL.revokeObjectURL(image.src)
  }
  return drawing
}

/**
 * Lets the frame draw a diagram.
 * @param {string} text
 * @param {boolean} isDark
 * @returns {Promise<Result>}
 */
async function request(text, isDark) {
  if (text.length > MAX_CHARS) return { error: `It has more than ${MAX_CHARS} characters.` }
  const { contentWindow } = await (frame ??= createFrame())
  const { port1, port2 } = new MessageChannel()
  return new Promise((resolve) => {
    const end = (/** @type {Result} */ result) => (clearTimeout(timer), port1.close(), resolve(result))
    const timer = setTimeout(() => (removeFrame(), end({ error: 'It takes too long.' })), TIMEOUT_MS)
    port1.onmessage = ({ data }) => end(data)
    contentWindow?.postMessage({ text, isDark, colors: colors() }, '*', [port2])
  })
}

/** @returns {Promise<HTMLIFrameElement>} */
function createFrame() {
  const src = new URL('./diagram-frame.html', import.meta.url).href
  const element = el('iframe', { src, sandbox: 'allow-scripts', class: 'diagram-frame', title: 'Diagrams', 'aria-hidden': 'true', tabindex: -1 })
  const loaded = new Promise((resolve) => element.addEventListener('load', () => resolve(element)))
  document.body.append(element)
  return /** @type {Promise<HTMLIFrameElement>} */ (loaded)
}

/** Removes a frame that may still be drawing. The next diagram gets a new one. */
function removeFrame() {
  frame?.then((element) => element.remove())
  frame = undefined
}

/** Returns the theme's colors, in a form without functions of CSS. */
function colors() {
  const probe = el('i', { hidden: true })
  document.body.append(probe)
  const entries = COLORS.map((name) => {
    probe.style.color = `var(--${name})`
    return [name, getComputedStyle(probe).color]
  })
  probe.remove()
  return Object.fromEntries(entries)
}

/**
 * @param {Result} result
 * @returns {Drawing}
 */
function toDrawing(result) {
  if ('error' in result) return { error: String(result.error).split('\n', 1)[0] }
  const { svg, title } = result
  if (svg.length > MAX_SVG_CHARS) return { error: 'It is too large.' }
  const [, width, height] = /viewBox="\S+ \S+ ([\d.]+) ([\d.]+)"/.exec(svg) ?? []
  const src = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }))
  return { image: { src, alt: title || 'Diagram', width: width && Math.ceil(Number(width)).toString(), height: height && Math.ceil(Number(height)).toString() } }
}
