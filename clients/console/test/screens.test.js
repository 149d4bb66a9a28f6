/** Browser tests of narrow and touch screens, and of text in tables and other scripts. */

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'

import { skip as noBrowser } from '../../javascript/test/chromium.js'
import { Cloud, skip as noCloud } from '../../javascript/test/cloud.js'
import { script } from '../../javascript/src/testing.js'
import { ConsolePage, isIdle, newestTurn } from './pages.js'

/** @type {Cloud} */
let cloud
/** @type {ConsolePage} */
let ui

/** Visible controls that are smaller than a finger, with their sizes. A checkbox has its label's size. Links in text don't count. */
const small = `[...document.querySelectorAll(':is(header, main, dialog) :is(a, button, summary, select, textarea, input:not([type=hidden], [type=file]), [role=button], [role=tab], [role=switch])')]
  .filter((element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && element.getBoundingClientRect().right > 0 && element.getBoundingClientRect().left < innerWidth && !element.matches('.scrim, .answer a, p a, td a'))
  .map((element) => [element.ariaLabel ?? element.textContent, element.matches('[type=checkbox], [type=radio]') ? element.closest('label') ?? element : element])
  .map(([name, element]) => [name, Math.round(element.getBoundingClientRect().width), Math.round(element.getBoundingClientRect().height)])
  .filter(([, width, height]) => height < 44 || width < 44)`
const TABLE = '| Term | Explanation |\n|---|---|\n| internationalization | The preparation of software for many languages and regions, without a change of its code |\n| `misunderstandings` | What a translation avoids |'

suite('screens', { skip: noCloud || noBrowser }, () => {
  before(async () => {
    ;[cloud, ui] = await Promise.all([Cloud.start(), ConsolePage.open()])
    ui.key = cloud.consoleKey
  })
  after(async () => {
    await Promise.all([ui?.end(), cloud?.end()])
  })

  test('every control of a phone is large enough, and the navigation is whole at every width', async () => {
    const { page } = ui
    await page.show({ width: 390, height: 844 })
    await ui.visit(cloud.api)
    assert.deepEqual(await page.run(small), [], 'a new conversation')
    await ui.send(script().say('Hello. [A link](https://example.com)\n\n```js\n1\n```').call('workspace_list_files', { path: '' }).afterTools().say('Done.'))
    await page.until(`document.querySelectorAll('.tool').length === 1`)
    const unfold = `document.querySelectorAll('main details').forEach((details) => (details.open = true))`
    await page.run(unfold)
    assert.deepEqual(await page.run(small), [], 'a tool call')
    await ui.press('Refuse')
    await page.until(`${newestTurn}.querySelector('.answer').textContent.endsWith('Done.') && ${isIdle} && ${newestTurn}.querySelectorAll('footer button').length > 3`)
    await page.run(unfold)
    assert.deepEqual(await page.run(small), [], 'an answer')
    await ui.press('Show or hide sessions')
    await page.until(`!!document.querySelector('.sidebar-list .icon-button')?.checkVisibility()`)
    assert.deepEqual(await page.run(small), [], 'the list of sessions')
    for (const hash of ['#/agents', '#/agents/new', '#/sessions', '#/usage', '#/connections', '#/operations']) {
      await ui.visit(cloud.api, hash)
      await page.until(`document.querySelectorAll('main button').length > 1`)
      await page.run(unfold)
      assert.deepEqual(await page.run(small), [], hash)
      assert.ok((await ui.overflow) <= 0, hash)
    }
    for (const width of [640, 800, 1000, 1100, 1240, 1280, 1360, 1440, 1600, 1920]) {
      await page.show({ width, height: 800 })
      const cut = `[...document.querySelectorAll('body > header :is(a, button)')].filter((element) => element.checkVisibility() && (element.getBoundingClientRect().right > innerWidth || element.closest('nav')?.scrollWidth > element.closest('nav')?.clientWidth + 1)).map((element) => element.textContent)`
      assert.deepEqual(await page.run(cut), [], `${width}`)
    }
  })

  test('list of sessions keeps its actions in view beside a name without spaces', async () => {
    const { page } = ui
    await cloud.client().session().send('x'.repeat(200)).final()
    for (const width of [800, 1000, 1440]) {
      await page.show({ width, height: 800 })
      await ui.visit(cloud.api, '#/sessions')
      await page.until(`document.querySelector('.list tbody')?.textContent.includes('xxxx')`)
      assert.ok((await ui.overflow) <= 0, `${width}`)
    }
  })

  test('table keeps its words whole, and right-to-left text runs from the right', async () => {
    const { page } = ui
    await page.show({ width: 390, height: 844 })
    await ui.visit(cloud.api)
    await ui.send(script().say(`${TABLE}\n\nשלום עולם`))
    await page.until(`${newestTurn}?.querySelectorAll('td').length === 4 && ${isIdle}`)
    const lines = `['internationalization', 'misunderstandings'].map((word) => {
      const cell = [...document.querySelectorAll('.answer td')].find((candidate) => candidate.textContent === word)
      const range = document.createRange()
      range.selectNodeContents(cell)
      return new Set([...range.getClientRects()].map(({ top }) => Math.round(top / 8))).size
    })`
    assert.deepEqual(await page.run(lines), [1, 1])
    assert.ok((await page.run(`document.querySelector('.answer td.long').offsetWidth`)) >= 200, 'a long text has more than a word per line')
    assert.equal(await page.run(`getComputedStyle([...document.querySelectorAll('.answer p')].at(-1)).direction`), 'rtl')
    assert.ok((await ui.overflow) <= 0)
    assert.deepEqual(await ui.violations(), [])
  })

  test('photo that is too large for a request is scaled down', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    await page.run(`(async () => {
      const canvas = new OffscreenCanvas(2400, 1800)
      const context = canvas.getContext('2d')
      const pixels = context.createImageData(2400, 1800)
      for (let at = 0; at < pixels.data.length; at += 65536) crypto.getRandomValues(pixels.data.subarray(at, Math.min(at + 65536, pixels.data.length)))
      for (let at = 3; at < pixels.data.length; at += 4) pixels.data[at] = 255
      context.putImageData(pixels, 0, 0)
      const file = new File([await canvas.convertToBlob({ type: 'image/png' })], 'photo.png', { type: 'image/png' })
      window.photoBytes = file.size
      const data = new DataTransfer()
      data.items.add(file)
      document.querySelector('.chat').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }))
    })()`)
    assert.ok((await page.run('window.photoBytes')) > 3 << 20)
    await page.until(`document.querySelector('.composer .thumbnail')?.naturalWidth === 2048`)
    assert.equal(await page.run(`document.querySelector('.composer .chips .error')`), null)
    await ui.send(script().say('Seen.'))
    await page.until(`${newestTurn}?.querySelector('.answer').textContent === 'Seen.' && ${isIdle}`)
    assert.deepEqual(page.errors, [])
  })

  test('long conversation offers the way to its end', async () => {
    const { page } = ui
    await page.show({ width: 1000, height: 700 })
    await ui.visit(cloud.api)
    await ui.send(script().words(2_000))
    await page.until(`${newestTurn}?.querySelector('.answer').textContent.endsWith('word2000') && ${isIdle}`)
    const jump = `document.querySelector('.jump')`
    assert.equal(await page.run(`${jump}.checkVisibility()`), false)
    await page.run('scrollTo(0, 0)')
    await page.until(`${jump}.checkVisibility()`)
    assert.deepEqual(await ui.violations(), [])
    await page.run(`${jump}.click()`)
    await page.until(`!${jump}.checkVisibility() && innerHeight + scrollY >= document.documentElement.scrollHeight - 2`)
  })
})
