/**
 * Measures the console in headless Chromium: first paint, size, and scrolling in a long session. Run by scripts/console figures. It fails
 * on nothing. Processor time counts what the main thread ran, so it says more than a rate on a busy machine.
 *
 * @module
 */

import { readFileSync, statSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

import { Cloud } from '../../javascript/test/cloud.js'
import { script } from '../../javascript/src/testing.js'
import { initialFiles, laterFiles } from './initial-files.js'
import { ConsolePage } from './pages.js'

/** Loads of the page. */
const LOADS = 15
/** Turns that are written. The page lists them again and again. */
const REAL_TURNS = 20
/** Time of a scroll. */
const SCROLL_MS = 10_000
/** A frame that takes longer than this missed a deadline at 60 frames per second. */
const LATE_MS = 1000 / 60 + 8

const turns = Number(process.argv[2] ?? 5000)

/** @param {number[]} values */
function quantiles(values) {
  const sorted = [...values].sort((one, other) => one - other)
  const at = (/** @type {number} */ share) => (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0).toFixed(1)
  return `p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, max ${at(1)} ms`
}

/** Prints the sizes of the files that the page loads at once, and of those that it loads on demand. */
function printSizes() {
  for (const [name, urls] of Object.entries({ 'At once': initialFiles(), 'On demand': laterFiles() })) {
    const files = urls.map((url) => new URL(url))
    const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0)
    const packed = files.reduce((sum, file) => sum + gzipSync(readFileSync(file)).length, 0)
    console.log(`${name}: ${files.length} files, ${(bytes / 1000).toFixed(0)} KB, gzip ${(packed / 1000).toFixed(0)} KB`)
  }
}

/**
 * Returns the processor time of the page's main thread so far, in milliseconds.
 * @param {ConsolePage} ui
 */
async function mainThreadMs({ page }) {
  const { metrics } = await page.send('Performance.getMetrics')
  return 1000 * metrics.find((/** @type {{ name: string }} */ { name }) => name === 'TaskDuration').value
}

/**
 * Prints the times from the navigation to the first paint and to the message field.
 * @param {ConsolePage} ui
 * @param {Cloud} cloud
 */
async function measurePaint(ui, cloud) {
  const { page } = ui
  await page.send('Page.addScriptToEvaluateOnNewDocument', {
    source: `new MutationObserver((_, observer) => {
      if (!document.querySelector('.composer textarea')) return
      observer.disconnect()
      window.usableAt = performance.now()
    }).observe(document, { childList: true, subtree: true })`,
  })
  for (const isCached of [false, true]) {
    /** @type {number[][]} */
    const [paints = [], usable = [], work = []] = [[], [], []]
    for (let load = 0; load < LOADS; load += 1) {
      if (!isCached) await page.send('Network.clearBrowserCache')
      await page.send('Page.navigate', { url: 'about:blank' })
      await page.until(`location.href === 'about:blank'`)
      const before = await mainThreadMs(ui)
      await page.visit(`${cloud.api}/#key=${cloud.consoleKey}/chat`)
      await page.until(`window.usableAt > 0 && performance.getEntriesByName('first-contentful-paint').length > 0`)
      const [paint, field] = await page.run(`[performance.getEntriesByName('first-contentful-paint')[0].startTime, window.usableAt]`)
      paints.push(paint)
      usable.push(field)
      work.push((await mainThreadMs(ui)) - before)
    }
    const cache = isCached ? 'warm cache' : 'empty cache'
    console.log(`First contentful paint, ${cache}: ${quantiles(paints)} (${LOADS} loads)`)
    console.log(`Message field usable, ${cache}: ${quantiles(usable)}; processor time of the main thread ${quantiles(work)}`)
  }
}

/**
 * Lists many turns in the page: those of a real session again and again, under ids of their own. Reads of a turn go to the real one.
 * @param {string} sessionId
 * @param {number} count
 */
function repeatTurns(sessionId, count) {
  const send = window.fetch
  /** @type {Promise<any> | undefined} */
  let real
  window.fetch = async (input, options) => {
    const url = new URL(String(input), location.href)
    const [, session, id, rest = ''] = url.pathname.match(/^(.*\/sessions\/[^/]+)(?:\/turns\/copy-(\d+)(.*))?$/) ?? []
    if (!session?.endsWith(sessionId) || (!id && !url.searchParams.has('order'))) return send(input, options)
    real ??= send(new URL(session, url), options).then((response) => response.json())
    const { Result } = await real
    const turn = (/** @type {number} */ number) => Result.Turns[number % Result.Turns.length]
    if (id) return send(new URL(`${session}/turns/${turn(Number(id)).Id}${rest}${url.search}`, url), options)
    const newest = Number(url.searchParams.get('continuationToken') ?? count)
    const Turns = Array.from({ length: Math.min(100, newest) }, (_, back) => ({ ...turn(newest - back), Id: `copy-${newest - back}`, SequenceNumber: newest - back }))
    const left = newest - Turns.length
    const page = { ...Result, Turns, ContinuationToken: left > 0 ? String(left) : undefined }
    return new Response(JSON.stringify({ Successful: true, Result: page, Errors: [], Warnings: [] }), { headers: { 'content-type': 'application/json' } })
  }
}

/**
 * Prints the frame times of a scroll through a session, after all of its turns are loaded.
 * @param {ConsolePage} ui
 * @param {Cloud} cloud
 */
async function measureScroll(ui, cloud) {
  const { page } = ui
  const session = cloud.client().session()
  const text = '## Turn\n\nSome text with `code` and a list:\n\n- one\n- two\n\n```js\nconst answer = 42\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |'
  for (let turn = 0; turn < REAL_TURNS; turn += 1) await session.send(`Question ${turn + 1} ${script().say(text)}`).final()
  await page.send('Page.addScriptToEvaluateOnNewDocument', { source: `(${repeatTurns})(${JSON.stringify(session.id)}, ${turns})` })
  await page.show({ width: 1440, height: 900 })
  await ui.visit(cloud.api, `#/chat/${session.id}`)
  const earlier = `[...document.querySelectorAll('.chat > .row button')].find((button) => button.textContent === 'Earlier turns')`
  const count = `document.querySelectorAll('article.turn').length`
  await page.until(`${count} > 0`)
  const loadedAt = performance.now()
  for (let shown = await page.run(count); shown < turns; shown = await page.run(count)) {
    await page.until(`${earlier} && !${earlier}.disabled`)
    await page.run(`${earlier}.click()`)
    await page.until(`${count} > ${shown}`)
  }
  console.log(`${await page.run(count)} turns loaded in ${((performance.now() - loadedAt) / 1000).toFixed(0)} s, page of ${await page.run('document.documentElement.scrollHeight')} px`)
  for (const pixelsPerSecond of [1_000, 4_000]) {
    await page.run('scrollTo(0, document.documentElement.scrollHeight / 2)')
    await new Promise((wait) => setTimeout(wait, 2_000))
    const before = await mainThreadMs(ui)
    const frames = await page.run(`new Promise((resolve) => {
      const frames = []
      const start = performance.now()
      let last
      const step = (now) => {
        if (last !== undefined) {
          frames.push(now - last)
          scrollBy({ top: -${pixelsPerSecond} * (now - last) / 1000, behavior: 'instant' })
        }
        last = now
        now - start < ${SCROLL_MS} ? requestAnimationFrame(step) : resolve(frames)
      }
      requestAnimationFrame(step)
    })`)
    const work = ((await mainThreadMs(ui)) - before) / frames.length
    const late = frames.filter((/** @type {number} */ ms) => ms > LATE_MS).length
    const rate = (1000 * frames.length) / frames.reduce((/** @type {number} */ sum, /** @type {number} */ ms) => sum + ms, 0)
    console.log(`Scroll of ${pixelsPerSecond} px per second: ${rate.toFixed(1)} frames per second, ${quantiles(frames)}, ${late} of ${frames.length} frames late; processor time of the main thread ${work.toFixed(1)} ms per frame`)
  }
}

printSizes()
const [cloud, ui] = await Promise.all([Cloud.start(), ConsolePage.open()])
ui.key = cloud.consoleKey
try {
  await ui.page.send('Network.enable')
  await ui.page.send('Performance.enable', { timeDomain: 'threadTicks' })
  await measurePaint(ui, cloud)
  if (turns > 0) await measureScroll(ui, cloud)
} finally {
  await Promise.all([ui.end(), cloud.end()])
}
