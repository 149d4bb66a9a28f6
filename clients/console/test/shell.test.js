/** Browser tests of what surrounds the chat: theme, sidebar, palette, drafts, picker and the empty conversation. */

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

const answer = `${newestTurn}?.querySelector('.answer').textContent`
const item = (/** @type {string} */ title) => `[...document.querySelectorAll('.sidebar li')].find((item) => item.querySelector('a').textContent === ${JSON.stringify(title)})`
const key = (/** @type {string} */ name, /** @type {string} */ more = '') =>
  `document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: ${JSON.stringify(name)}, bubbles: true, cancelable: true, ${more} }))`

/**
 * Writes into a field as a user does.
 * @param {string} selector
 * @param {string} text
 */
const write = (selector, text) =>
  ui.page.run(`(() => {
    const field = document.querySelector(${JSON.stringify(selector)})
    field.focus()
    field.value = ${JSON.stringify(text)}
    field.dispatchEvent(new Event('input', { bubbles: true }))
  })()`)

suite('console around the chat', { skip: noCloud || noBrowser }, () => {
  before(async () => {
    ;[cloud, ui] = await Promise.all([Cloud.start(), ConsolePage.open()])
    ui.key = cloud.consoleKey
    await ui.page.show({})
    const fast = { Kind: 'conversation', Id: 'fast', Name: 'Fast', ModelName: 'scripted', System: 'You help.' }
    cloud.contexts([fast, { Kind: 'agent', Id: 'helper', Name: 'Helper', ClientTools: [] }])
  })
  after(async () => {
    await Promise.all([ui?.end(), cloud?.end()])
  })

  test('empty conversation explains the mock model and a suggestion answers', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    await page.until(`document.querySelectorAll('.suggestions button').length === 4`)
    assert.match(await page.run(`document.querySelector('.welcome .notice').textContent`), /This is a mock model.*OPENAI_API_KEY/s)
    assert.deepEqual(await ui.violations(), [])
    await page.run(`document.querySelector('.suggestions button').click()`)
    await page.until(`${answer}?.includes('the expected wait is') && ${isIdle}`)
    assert.equal(await page.run(`document.querySelector('.welcome').hidden`), true)
    assert.equal(await page.run(`document.querySelector('.instruction p').textContent`), 'Show code, a table and a diagram')
    assert.deepEqual(page.errors, [])
  })

  test('theme switch changes the theme and survives a reload', async () => {
    const { page } = ui
    await page.show({ scheme: 'light' })
    await ui.visit(cloud.api)
    const background = () => page.run(`getComputedStyle(document.documentElement).backgroundColor`)
    const light = await background()
    await page.run(`document.getElementById('theme').click()`)
    assert.equal(await background(), light, 'the second position is light, like the system')
    await page.run(`document.getElementById('theme').click()`)
    const dark = await background()
    assert.notEqual(dark, light)
    await page.reload()
    await page.until(`!!document.querySelector('.composer')`)
    assert.equal(await background(), dark)
    assert.match(await page.run(`document.getElementById('theme').ariaLabel`), /Theme: dark/)
    await page.run(`document.getElementById('theme').click()`)
    assert.equal(await background(), light)
  })

  test('sidebar lists, searches, renames, pins and deletes sessions', async () => {
    const { page } = ui
    const client = cloud.client()
    for (const title of ['Bake bread', 'Milk the cow']) await client.session().send(`${title} ${script().say(`${title} now.`)}`).final()
    await ui.visit(cloud.api)
    await page.until(`!!${item('Bake bread')} && !!${item('Milk the cow')}`)
    assert.equal(await page.run(`document.querySelector('.sidebar h2').textContent`), 'Today')
    await write('.sidebar input', 'COW')
    await page.until(`document.querySelectorAll('.sidebar li').length === 1 && document.querySelector('.sidebar mark').textContent.toLowerCase() === 'cow'`)
    await write('.sidebar input', '')
    await page.until(`!!${item('Bake bread')}`)
    const act = async (/** @type {string} */ title, /** @type {string} */ action) => {
      await ui.press(`Actions for ${title}`)
      await page.until(`document.activeElement.role === 'menuitem'`)
      assert.deepEqual(await ui.violations(), [])
      await ui.press(action, '.menu')
    }
    await act('Bake bread', 'Pin')
    await page.until(`document.querySelector('.sidebar h2').textContent === 'Pinned' && document.querySelector('.sidebar li a').textContent === 'Bake bread'`)
    await act('Bake bread', 'Rename')
    await page.run(`document.querySelector('dialog input').value = 'Bake cake'`)
    await page.run(`document.querySelector('dialog form').requestSubmit()`)
    await page.until(`!!${item('Bake cake')} && !${item('Bake bread')}`)
    await page.reload()
    await page.until(`document.querySelector('.sidebar h2')?.textContent === 'Pinned' && !!${item('Bake cake')}`)
    await act('Milk the cow', 'Delete')
    await ui.press('Delete', 'dialog')
    await page.until(`!${item('Milk the cow')}`)
    await page.run(`${item('Bake cake')}.querySelector('a').click()`)
    await page.until(`${answer} === 'Bake bread now.' && ${item('Bake cake')}.classList.contains('current')`)
    await page.until(`document.querySelector('h1').textContent === 'Bake cake'`)
    assert.deepEqual(page.errors, [])
  })

  test('sidebar is a drawer on a phone', async () => {
    const { page } = ui
    await page.show({ width: 390, height: 844 })
    await ui.visit(cloud.api)
    const isShown = `document.querySelector('.sidebar').checkVisibility()`
    assert.equal(await page.run(isShown), false)
    await ui.press('Show or hide sessions')
    await page.until(`${isShown} && !!${item('Bake cake')}`)
    assert.deepEqual(await ui.violations(), [])
    assert.ok((await ui.overflow) <= 0)
    const isOnTop = `(() => { const { left, top } = ${item('Bake cake')}.getBoundingClientRect(); return !!document.elementFromPoint(left + 20, top + 10).closest('.sidebar') })()`
    assert.ok(await page.run(isOnTop), 'the drawer is above what it covers')
    await ui.press('Actions for Bake cake')
    await page.until(`document.activeElement.role === 'menuitem'`)
    assert.ok(await page.run(`document.querySelector('.menu').getBoundingClientRect().right <= document.body.clientWidth`), 'the menu is in the window')
    await page.run(`document.querySelector('.menu').hidePopover()`)
    await page.run(`document.querySelector('.scrim').click()`)
    assert.equal(await page.run(isShown), false)
    await page.show({})
    await page.until(isShown)
    await page.show({ width: 390, height: 844 })
    await page.until(`!${isShown}`)
    await page.show({})
  })

  test('pages are in a menu on a phone', async () => {
    const { page } = ui
    await page.show({ width: 390, height: 844 })
    await ui.visit(cloud.api)
    await ui.press('Pages: Chat')
    await page.until(`document.activeElement.role === 'menuitem'`)
    const items = `[...document.querySelectorAll('.menu button')]`
    const labels = await page.run(`${items}.map((element) => element.textContent)`)
    assert.deepEqual(labels, ['Chat', 'Sessions', 'Approvals', 'Usage', 'Agents', 'Connections', 'Webhooks', 'Knowledge', 'Modes', 'Operations', 'Playground', 'Local', 'API'])
    assert.deepEqual(await ui.violations(), [])
    await ui.press('Operations', '.menu')
    await page.until(`location.hash === '#/operations' && document.querySelector('#pages').textContent === 'Operations'`)
    assert.ok((await ui.overflow) <= 0)
    await page.show({ width: 1360, height: 800 })
    await page.until(`!document.querySelector('#pages').checkVisibility() && document.querySelector('nav').checkVisibility()`)
    assert.deepEqual(page.errors, [])
  })

  test('palette finds commands and sessions with the keyboard', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    await page.until(`!!${item('Bake cake')}`)
    await page.run(key('k', 'ctrlKey: true'))
    await page.until(`document.activeElement.matches('.palette input')`)
    assert.deepEqual(await ui.violations(), [])
    await write('.palette input', 'cake')
    await page.until(`document.querySelectorAll('.palette li').length === 1`)
    await page.press('Enter', '\r')
    await page.until(`!document.querySelector('dialog') && ${answer} === 'Bake bread now.'`)
    await page.run(key('o', 'ctrlKey: true, shiftKey: true'))
    await page.until(`location.hash.endsWith('/new') && document.querySelector('h1').textContent === 'New conversation'`)
    await page.run(`document.activeElement.blur()`)
    await page.run(`document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '?', shiftKey: true, bubbles: true }))`)
    await page.until(`document.querySelector('dialog')?.textContent.includes('Keyboard shortcuts')`)
    assert.deepEqual(await ui.violations(), [])
    await page.press('Escape')
    await page.until(`!document.querySelector('dialog')`)
    await page.run(`document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '/', bubbles: true, cancelable: true }))`)
    await page.until(`document.activeElement.matches('.composer textarea')`)
    // A character that is typed into a field is no shortcut.
    await page.run(key('?'))
    assert.equal(await page.run(`document.querySelector('dialog')`), null)
  })

  test('rename from the palette keeps description and category', async () => {
    const { page } = ui
    const session = cloud.client().session()
    await session.send(`Pack ${script().say('Packed.')}`).final()
    await session.update({ description: 'For the trip', category: 'travel' })
    await ui.visit(cloud.api, `#/chat/${session.id}`)
    await page.until(`${answer} === 'Packed.'`)
    await page.run(key('k', 'ctrlKey: true'))
    await page.until(`document.activeElement.matches('.palette input')`)
    await write('.palette input', 'rename this')
    await page.press('Enter', '\r')
    await page.until(`document.querySelector('dialog form [name=name]')?.value === 'Pack'`)
    await page.run(`(() => { const form = document.querySelector('dialog form'); form.querySelector('[name=name]').value = 'Pack bags'; form.requestSubmit() })()`)
    await page.until(`document.querySelector('h1').textContent === 'Pack bags' && !!${item('Pack bags')}`)
    const { Name, Description, Category } = await session.read()
    assert.deepEqual([Name, Description, Category], ['Pack bags', 'For the trip', 'travel'])
  })

  test('draft survives a reload and another page', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    await write('.composer textarea', 'Not finished')
    await page.reload()
    await page.until(`document.querySelector('.composer textarea')?.value === 'Not finished'`)
    await page.run(`location.hash = '#/sessions'`)
    await page.until(`!!document.querySelector('.filters')`)
    await page.run(`location.hash = '#/chat'`)
    await page.until(`document.querySelector('.composer textarea')?.value === 'Not finished'`)
    await ui.send(script().say('Sent.'))
    await page.until(`${answer} === 'Sent.' && ${isIdle}`)
    await ui.visit(cloud.api)
    await page.until(`!!document.querySelector('.composer')`)
    assert.equal(await page.run(`document.querySelector('.composer textarea').value`), '')
  })

  test('picker offers the agents and models of the org', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    await page.until(`document.querySelectorAll('#agents option').length === 2`)
    const summary = `document.querySelector('.contexts summary').textContent`
    assert.equal(await page.run(summary), 'workspace · mock model')
    await page.run(`document.querySelector('.contexts').open = true`)
    assert.deepEqual(await ui.violations(), [])
    await write('.contexts input[list=agents]', 'helper')
    await write('.contexts input[list=conversations]', 'fast')
    assert.equal(await page.run(summary), 'helper · scripted')
    await ui.send(script().say('Helped.'))
    await page.until(`${answer} === 'Helped.' && document.querySelector('.about').textContent.includes('Helper · Fast')`)
    assert.match(await page.run(`document.querySelector('.about').textContent`), /\d tokens/)
  })
})
