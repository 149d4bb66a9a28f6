/** Browser tests of calls with an unknown outcome on the page *Operations*: the list, a resolution, and callers without the role. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { after, before, suite, test } from 'node:test'

import { skip as noBrowser } from '../../javascript/test/chromium.js'
import { Cloud, skip as noCloud } from '../../javascript/test/cloud.js'
import { script } from '../../javascript/src/testing.js'
import { ConsolePage } from './pages.js'

const section = `document.querySelector('[aria-label="Unknown outcomes"]')`
const rows = `[...${section}.querySelectorAll('tbody tr')].map((row) => row.textContent)`

suite('unknown outcomes in the console', { skip: noCloud || noBrowser }, () => {
  /** @type {Cloud} */
  let cloud
  /** @type {ConsolePage} */
  let ui
  /** Keys of the refunds that the shop got. Each is answered with an error, after which nobody knows whether it was performed. */
  const keys = /** @type {unknown[]} */ ([])
  const shop = createServer((request, response) => {
    keys.push(request.headers['idempotency-key'])
    response.writeHead(500).end()
  })
  before(async () => {
    ;[cloud, ui] = await Promise.all([Cloud.start(), ConsolePage.open(), once(shop.listen(0, '127.0.0.1'), 'listening')])
    ui.key = cloud.consoleKey
  })
  after(async () => {
    shop.close()
    await Promise.all([ui?.end(), cloud?.end()])
  })

  test('call with an unknown outcome is listed and resolved, and then an equal call is sent', async () => {
    const { page } = ui
    const { port } = /** @type {import('node:net').AddressInfo} */ (shop.address())
    const Parameters = { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] }
    const refund = { Name: 'refund', Description: 'Refunds an order.', Class: 'keyed', Method: 'POST', Path: '/refunds', Parameters }
    await ui.visit(cloud.api, '#/operations')
    await page.until(`${section}?.textContent.includes('No call has an unknown outcome.')`)
    await page.run(`(async () => {
      const { Connection } = await import('/console/connection.js')
      const connection = await Connection.open()
      const put = (path, document) => connection.send('PUT', 'api/ai/agent/' + path, JSON.stringify(document))
      await put('connections/shop', ${JSON.stringify({ Kind: 'connection', Id: 'shop', Name: 'Shop', Protocol: 'http', Url: `http://127.0.0.1:${port}`, Tools: [refund] })})
      await put('agents/clerk', ${JSON.stringify({ Kind: 'agent', Id: 'clerk', Name: 'Clerk', Tools: ['shop'] })})
    })()`)
    const session = cloud.client().session(undefined, { agent: 'clerk' })
    const ask = () => session.send(script().call('shop__refund', { order: '1' }).afterTools().say('Done.')).final()
    await ask()
    await ask()
    assert.equal(keys.length, 1, 'an equal call needs a person')

    for (let tries = 0; tries < 100 && !(await page.run(rows)).length; tries += 1) {
      await ui.visit(cloud.api, '#/operations')
      await page.until(`!!${section}?.querySelector('table, .notice')`)
    }
    const [row, ...others] = await page.run(rows)
    assert.deepEqual(others, [])
    for (const text of ['shop__refund', 'version 1', session.id, keys[0]]) assert.ok(row.includes(text), `${text}: ${row}`)
    assert.deepEqual(await ui.violations(), [])
    await page.show({ width: 360, height: 740, scheme: 'dark' })
    assert.deepEqual(await ui.violations(), [])
    assert.ok((await ui.overflow) <= 0)
    await page.show({})

    await ui.press('Resolve the call of shop__refund')
    await page.run(`document.querySelector('dialog form').requestSubmit()`)
    assert.equal(await page.run(`document.querySelector('dialog [name=Outcome]').validity.valueMissing`), true, 'a person chooses')
    await page.run(`(() => {
      const { elements } = document.querySelector('dialog form')
      elements.Outcome.value = 'not_performed'
      elements.Note.value = 'T-17'
    })()`)
    assert.deepEqual(await ui.violations(), [])
    await page.run(`document.querySelector('dialog form').requestSubmit()`)
    await page.until(`!document.querySelector('dialog') && ${section}.textContent.includes('No call has an unknown outcome.')`)
    await ask()
    assert.equal(keys.length, 2)
    assert.deepEqual(page.errors, [])
  })

  test('usage lists the tool with its calls', async () => {
    const { page } = ui
    const cells = `[...document.querySelectorAll('[aria-label=Tools] tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent))`
    for (let tries = 0; tries < 100 && !(await page.run(cells)).length; tries += 1) {
      await ui.visit(cloud.api, '#/usage')
      await page.until(`!!document.querySelector('.usage tfoot')`)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    const [[tool, calls, cost]] = await page.run(cells)
    assert.deepEqual([tool, cost], ['shop__refund', '–'])
    assert.match(calls, /^[12]$/, 'the newest turn counts soon')
    assert.deepEqual(await ui.violations(), [])
    assert.ok((await ui.overflow) <= 0)
  })

  test('callers without the role see no list', async () => {
    const { page } = ui
    await page.run(`sessionStorage.setItem('aptix-console:identity', JSON.stringify({ Operator: false }))`)
    await ui.visit(cloud.api, '#/operations')
    await page.until(`document.querySelector('main .notice[role=alert]')?.textContent.includes('operators') || !!document.querySelector('main table, main .notice')`)
    assert.notEqual(await page.run(`${section}?.checkVisibility()`), true)
    await page.run(`sessionStorage.clear()`)
  })
})
