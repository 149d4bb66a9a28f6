/** Browser tests of models and instructions that are compared from one message. */

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

suite('comparison of variants', { skip: noCloud || noBrowser }, () => {
  before(async () => {
    ;[cloud, ui] = await Promise.all([Cloud.start(), ConsolePage.open()])
    ui.key = cloud.consoleKey
    const conversation = { Kind: 'conversation', Id: 'two', Name: 'Two', System: 'You help.', ModelName: 'first-model', Fallbacks: [{ ModelName: 'second-model' }] }
    cloud.contexts([conversation, { Kind: 'agent', Id: 'two', Name: 'Two', DefaultConversationContextId: 'two', ClientTools: [] }])
  })
  after(async () => {
    await Promise.all([ui?.end(), cloud?.end()])
  })

  test('variants of a message run after each other beside it, and a session continues from the chosen one', async () => {
    const { page } = ui
    await page.show({})
    const session = cloud.client().session(undefined, { agent: 'two' })
    await session.send(`Name a fruit ${script().say('An apple.')}`).final()
    await ui.visit(cloud.api, `#/chat/${session.id}`)
    await page.until(`${newestTurn}?.querySelector('.answer').textContent === 'An apple.' && ${isIdle}`)
    await ui.press('Rerun')
    await ui.press('Compare with another model or instruction', 'dialog')
    await ui.press('Compare with another model or instruction', 'dialog')
    assert.deepEqual(await ui.violations(), [])
    const variant = (/** @type {number} */ at, /** @type {Record<string, string>} */ values) =>
      page.run(`Object.entries(${JSON.stringify(values)}).forEach(([name, value]) => { document.querySelectorAll('.variants fieldset')[${at}].querySelector('[name=' + name + ']').value = value })`)
    await variant(0, { model: 'second-model' })
    await variant(1, { text: `Name another ${script().say('A pear.')}` })
    await variant(2, { model: 'unknown-model' })
    await ui.press('Run 3 and compare', 'dialog')
    const answers = `[...document.querySelectorAll('.sides .answer')].map((node) => node.textContent)`
    await page.until(`${answers}.length === 4 && ${answers}.slice(0, 3).join() === 'An apple.,An apple.,A pear.' && /Model must be one of/.test(${answers}[3])`)
    const row = (/** @type {string} */ name) => page.run(`[...[...document.querySelectorAll('.compare tbody tr')].find((row) => row.firstChild.textContent === ${JSON.stringify(name)}).querySelectorAll('td')].map((cell) => cell.textContent)`)
    assert.deepEqual(await row('Model'), ['first-model', 'second-model', 'first-model', '–'])
    assert.deepEqual(await row('Instruction'), ['Name a fruit', 'Name a fruit', 'Name another', '–'])
    assert.equal(await page.run(`document.querySelectorAll('details.card').length`), 2)
    for (const width of [390, 800, 1000, 1440]) {
      await page.show({ width, height: 844 })
      assert.ok((await ui.overflow) <= 0, `${width}`)
    }
    assert.deepEqual(await ui.violations(), [])
    // A reload shows what is stored, and starts nothing.
    await page.reload()
    await page.until(`${answers}[2] === 'A pear.' && ${answers}[3] === 'This rerun was not started.'`)
    await ui.press('Continue from this answer', '.card:nth-child(2)')
    await page.until(`document.querySelector('.branch')?.textContent.includes('Forked from')`)
    assert.deepEqual(page.errors, [])
  })

  test('tool call of a variant waits for the user on its card', async () => {
    const { page } = ui
    await page.show({})
    await ui.visit(cloud.api)
    await ui.send(script().say('Before.'))
    await page.until(`${newestTurn}?.querySelector('.answer').textContent === 'Before.' && ${isIdle}`)
    await ui.press('Rerun')
    await ui.press('Compare with another model or instruction', 'dialog')
    const call = String(script().call('workspace_list_files', { path: '' }).afterTools().say('Listed.'))
    await page.run(`document.querySelector('.variants [name=text]').value = ${JSON.stringify(call)}`)
    await ui.press('Run 2 and compare', 'dialog')
    await page.until(`!!document.querySelector('.sides .tool')`)
    await ui.press('Run', '.sides .tool')
    await page.until(`document.querySelector('.sides .tool').textContent.includes('Review the result')`)
    await ui.press('Send result', '.sides .tool')
    const answers = `[...document.querySelectorAll('.sides .answer')].map((node) => node.textContent)`
    await page.until(`${answers}.join() === 'Before.,Listed.,Before.'`)
    assert.deepEqual(page.errors, [])
  })
})
