/** Browser tests of dead links, and of a server that is gone. */

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'

import { skip as noBrowser } from '../../javascript/test/chromium.js'
import { Cloud, skip as noCloud } from '../../javascript/test/cloud.js'
import { proxy } from '../../javascript/test/proxy.js'
import { script } from '../../javascript/src/testing.js'
import { ConsolePage, isIdle, newestTurn } from './pages.js'

/** @type {Cloud} */
let cloud
/** @type {ConsolePage} */
let ui

suite('dead ends', { skip: noCloud || noBrowser }, () => {
  before(async () => {
    ;[cloud, ui] = await Promise.all([Cloud.start(), ConsolePage.open()])
    ui.key = cloud.consoleKey
  })
  after(async () => {
    await Promise.all([ui?.end(), cloud?.end()])
  })

  test('link to an unknown session says so and leads on', async () => {
    const { page } = ui
    await ui.visit(cloud.api, '#/chat/no-such-session')
    await page.until(`document.querySelector('main h1').textContent === 'Session not found'`)
    assert.match(await page.run(`document.querySelector('main').textContent`), /No session with the id no-such-session is visible to you/)
    assert.equal(await page.run(`document.querySelector('.composer').checkVisibility()`), false)
    assert.deepEqual(await ui.violations(), [])
    await page.run(`[...document.querySelectorAll('.chat a')].find((link) => link.textContent === 'New chat').click()`)
    await page.until(isIdle)
    assert.deepEqual(page.errors, [])
  })

  test('link to an unknown turn or comparison says so and leads on', async () => {
    const { page } = ui
    await ui.visit(cloud.api, '#/compare/no-such-session/one/two')
    await page.until(`/No session with the id no-such-session is visible to you/.test(document.querySelector('main').textContent)`)
    await ui.visit(cloud.api, '#/trace/no-such-session/no-such-turn')
    await page.until(`document.querySelector('main h1')?.textContent === 'Turn not found'`)
    assert.match(await page.run(`document.querySelector('main').textContent`), /No turn with the id no-such-turn of the session no-such-session is visible to you/)
    assert.deepEqual(await ui.violations(), [])
    await page.run(`[...document.querySelectorAll('main a')].find((link) => link.textContent === 'All sessions').click()`)
    await page.until(`document.querySelector('main h1')?.textContent === 'Sessions'`)
  })

  test('server that is gone is named, and the page continues once it is back', async () => {
    const { page } = ui
    let isDown = false
    const gate = await proxy(cloud.api, () => (isDown ? 0 : undefined))
    await ui.visit(gate.url)
    await ui.send(script().say('First.'))
    await page.until(`${newestTurn}?.querySelector('.answer').textContent === 'First.' && ${isIdle}`)
    isDown = true
    gate.breakAll()
    await ui.send(script().say('Second.'))
    const banner = `document.querySelector('.unreachable')`
    await page.until(`${banner}.checkVisibility()`)
    assert.match(await page.run(`${banner}.textContent`), /^The local cloud at http:\/\/127\.0\.0\.1:\d+ doesn't respond\. Start it again with aptix up/)
    assert.deepEqual(await ui.violations(), [])
    isDown = false
    await page.until(`!${banner}.checkVisibility()`)
    await page.until(`${newestTurn}?.querySelector('.answer').textContent === 'Second.' && ${isIdle}`)
    gate.end()
  })
})
