/** Browser tests of the first run: a model that is set in the console, and a first agent. */

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'

import { skip as noBrowser } from '../../javascript/test/chromium.js'
import { Cloud, skip as noCloud } from '../../javascript/test/cloud.js'
import { script } from '../../javascript/src/testing.js'
import { ConsolePage, isIdle, newestTurn } from './pages.js'

/** @type {Cloud} */
let cloud
/** A cloud whose mock model is the provider. @type {Cloud} */
let provider
/** @type {ConsolePage} */
let ui

suite('first run', { skip: noCloud || noBrowser }, () => {
  before(async () => {
    ;[cloud, provider, ui] = await Promise.all([Cloud.start(), Cloud.start(), ConsolePage.open()])
    ui.key = cloud.consoleKey
  })
  after(async () => {
    await Promise.all([ui?.end(), cloud?.end(), provider?.end()])
  })

  test('first agent is created in three steps and answers', async () => {
    const { page } = ui
    await page.show({ width: 390, height: 844 })
    await ui.visit(cloud.api)
    await ui.press('Create an agent')
    await page.until(`document.querySelector('dialog h2').textContent === 'What is it for?'`)
    assert.deepEqual(await ui.violations(), [])
    await page.run(`[...document.querySelectorAll('.wizard-choice')].find((choice) => choice.textContent.startsWith('Write texts')).querySelector('input').click()`)
    await ui.press('Next', 'dialog')
    await page.until(`document.querySelector('dialog [name=name]').value === 'Writer'`)
    await page.run(`document.querySelector('dialog [name=name]').value = ''`)
    await ui.press('Next', 'dialog')
    assert.equal(await page.run(`document.querySelector('dialog h2').textContent`), 'What does it do?', 'a name is missing')
    await page.run(`document.querySelector('dialog [name=name]').value = 'Tone of ours'`)
    assert.deepEqual(await ui.violations(), [])
    await ui.press('Next', 'dialog')
    await ui.press('Back', 'dialog')
    await ui.press('Next', 'dialog')
    assert.deepEqual(await page.run(`[...document.querySelectorAll('dialog [type=checkbox]')].map((box) => box.checked)`), [false, false])
    assert.deepEqual(await ui.violations(), [])
    await ui.press('Create and open in chat', 'dialog')
    await page.until(`document.querySelector('.contexts summary')?.textContent.startsWith('tone-of-ours')`)
    await ui.send(script().say('Hello.'))
    await page.until(`${newestTurn}?.querySelector('.answer').textContent === 'Hello.' && ${isIdle}`)
    await page.until(`document.querySelector('.about').textContent.startsWith('Tone of ours')`)
    // The trace has the exact input, without a setting of the agent.
    await page.run(`[...${newestTurn}.querySelectorAll('footer a')].find((link) => link.textContent === 'Trace').click()`)
    await page.until(`document.querySelectorAll('.step details').length > 0`)
    await page.run(`document.querySelectorAll('.step details').forEach((element) => (element.open = true))`)
    await page.until(`/Ask for the audience/.test(document.querySelector('.step .payload')?.textContent ?? '')`)
    await ui.visit(cloud.api)
    await page.until(`document.querySelectorAll('.suggestions button').length === 4`)
    await page.until(`!document.querySelector('.welcome').textContent.includes('first agent')`)
    assert.deepEqual(page.errors, [])
  })

  test('model is checked, saved and used after a restart, and the mock model comes back', async () => {
    const { page } = ui
    await page.show({})
    await ui.visit(cloud.api)
    const form = `document.querySelector('.model-form')`
    const fields = (/** @type {Record<string, string>} */ values) =>
      page.run(`Object.entries(${JSON.stringify(values)}).forEach(([name, value]) => { const field = ${form}.querySelector('[name=' + name + ']'); field.value = value; field.dispatchEvent(new Event('change', { bubbles: true })) })`)
    await fields({ Provider: 'vllm', BaseUrl: 'http://127.0.0.1:1/v1', Name: 'scripted' })
    assert.equal(await page.run(`${form}.querySelector('[name=ApiKey]').required`), false)
    assert.deepEqual(await ui.violations(), [])
    await ui.press('Check and use')
    await page.until(`/Can't reach the model provider/.test(${form}.textContent)`)
    await fields({ BaseUrl: `${provider.model}/v1`, ApiKey: 'secret-of-the-test' })
    await page.run('window.isOld = true')
    await ui.press('Check and use')
    await page.until(`!window.isOld && !!document.querySelector('.suggestions button') && !document.querySelector('.model-form')`)
    assert.equal(await page.run(`document.querySelector('.welcome').textContent.includes('mock model')`), false)
    await ui.send(script().say('From the provider.'))
    await page.until(`${newestTurn}?.querySelector('.answer').textContent === 'From the provider.' && ${isIdle}`)
    await ui.visit(cloud.api, '#/local')
    await page.until(`document.querySelector('[aria-label=Model]').textContent.includes('vLLM')`)
    assert.equal(await page.run(`document.body.textContent.includes('secret-of-the-test')`), false)
    assert.deepEqual(await ui.violations(), [])
    await page.run('window.isOld = true')
    await ui.press('Use the mock model')
    await page.until(`!window.isOld && document.querySelector('[aria-label=Model]')?.textContent.includes('The mock model')`)
    assert.deepEqual(page.errors, [])
  })
})
