/** Browser tests of the agents page: one form, a test beside it, and callers without the role. */

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'

import { skip as noBrowser } from '../../javascript/test/chromium.js'
import { Cloud, skip as noCloud } from '../../javascript/test/cloud.js'
import { script } from '../../javascript/src/testing.js'
import { ConsolePage } from './pages.js'

/** @type {Cloud} */
let cloud
/** @type {ConsolePage} */
let ui

const choices = `[...document.querySelectorAll('.choice')].map((element) => element.textContent)`

suite('agents page', { skip: noCloud || noBrowser }, () => {
  before(async () => {
    ;[cloud, ui] = await Promise.all([Cloud.start(), ConsolePage.open()])
    ui.key = cloud.consoleKey
  })
  after(async () => {
    await Promise.all([ui?.end(), cloud?.end()])
  })

  /** @param {Record<string, string>} values */
  const fillIn = (values) =>
    ui.page.run(`(() => {
      for (const [name, value] of Object.entries(${JSON.stringify(values)})) {
        const field = document.querySelector('.agent-form').elements[name]
        field.value = value
        field.dispatchEvent(new Event('input', { bubbles: true }))
      }
    })()`)

  test('new agent has one form, and its test runs its tools', async () => {
    const { page } = ui
    await ui.visit(cloud.api, '#/agents')
    await ui.press('New agent')
    await fillIn({ name: 'Café helper', system: 'You help in a café.', tokens: '500' })
    await page.run(`(() => {
      const data = new DataTransfer()
      data.items.add(new File(['espresso'], 'menu.txt', { type: 'text/plain' }))
      const field = document.querySelector('input[name=files][type=file]')
      field.files = data.files
      document.querySelector('textarea[name=instruction]').value = ${JSON.stringify(String(script().call('workspace_read_file', { path: 'menu.txt' }).afterTools().echo()))}
    })()`)
    await ui.press('Save and send')
    await ui.press('Run', '.test-turns')
    await page.until(`document.querySelector('.test-turns textarea')?.value.includes('espresso')`)
    await ui.press('Send result', '.test-turns')
    await page.until(`document.querySelector('.test-turns .tool .tag')?.textContent === 'done' && document.querySelector('.test-foot').textContent.includes('tokens')`)
    assert.match(await page.run(`document.querySelector('.test-turns .answer').textContent`), /espresso/)
    assert.ok((await page.run(choices)).includes('Café helpercafe-helper'))
    assert.deepEqual(await ui.violations(), [])

    // Both documents have the derived id.
    await ui.visit(cloud.api, '#/agents/advanced')
    await page.until(`${choices}.includes('Café helperagent · cafe-helper') && ${choices}.includes('Café helperconversation · cafe-helper')`)
    await page.run(`[...document.querySelectorAll('.choice')].find((choice) => choice.textContent === 'Café helperconversation · cafe-helper').click()`)
    await page.until(`document.querySelector('.code-input').value.includes('You help in a café.')`)
    const content = JSON.parse(await page.run(`document.querySelector('.code-input').value`))
    assert.deepEqual([content.MaxOutputTokens, content.StoreRawPayloads], [500, false])
    await ui.press('New conversation')
    assert.ok(!(await page.run(`document.querySelector('.code-input').value`)).includes('StoreRawPayloads'), 'raw payloads are off unless somebody asks')

    // A change keeps what the form doesn't show, and an equal name gets another id.
    await ui.visit(cloud.api, '#/agents')
    await page.until(`document.querySelector('.agent-form').elements.name.value === 'Café helper'`)
    await fillIn({ system: 'You help in a café, briefly.' })
    await ui.press('Save')
    await page.until(`document.querySelector('.editor-head small').textContent === 'Version 1'`)
    await ui.press('New agent')
    await fillIn({ name: 'Cafe helper', system: 'Another one.' })
    await ui.press('Save')
    await page.until(`${choices}.includes('Cafe helpercafe-helper-2')`)

    // Both documents are deleted.
    await ui.press('Delete', '.editor-head')
    await ui.press('Delete', 'dialog')
    await page.until(`!${choices}.includes('Cafe helpercafe-helper-2') && document.querySelector('.editor-head h2').textContent === 'New agent'`)
    await ui.visit(cloud.api, '#/agents/advanced')
    await page.until(`${choices}.includes('Café helperconversation · cafe-helper')`)
    assert.ok(!(await page.run(choices)).some((/** @type {string} */ text) => text.endsWith('cafe-helper-2')))
    assert.deepEqual(page.errors, [])
  })

  test('caller without the role sees what they may do', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    await page.run(`sessionStorage.setItem('aptix-console:identity', JSON.stringify({ Operator: false }))`)
    for (const hash of ['#/agents', '#/agents/advanced', '#/modes']) {
      await ui.visit(cloud.api, hash)
      await page.until(`document.querySelector('main [role=alert]')?.textContent.startsWith('Only operators and agent editors of your org can')`)
      assert.equal(await page.run(`document.querySelectorAll('main button').length`), 0, hash)
      assert.deepEqual(await ui.violations(), [])
    }
    await page.run(`sessionStorage.removeItem('aptix-console:identity')`)
  })
})
