/** Browser tests of the page *Webhooks*: status, secret, test event, and deliveries. */

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'

import { skip as noBrowser } from '../../javascript/test/chromium.js'
import { Cloud, skip as noCloud } from '../../javascript/test/cloud.js'
import { listen } from './listen.js'
import { ConsolePage } from './pages.js'

suite('webhooks in the console', { skip: noCloud || noBrowser }, () => {
  /** @type {Cloud} */
  let cloud
  /** @type {ConsolePage} */
  let ui
  /** @type {Awaited<ReturnType<typeof listen>>} */
  let receiver
  before(async () => {
    const answer = (/** @type {import('node:http').IncomingMessage} */ request, /** @type {import('node:http').ServerResponse} */ response) => request.on('end', () => response.end()).resume()
    ;[cloud, ui, receiver] = await Promise.all([Cloud.start(), ConsolePage.open(), listen(answer)])
    ui.key = cloud.consoleKey
  })
  after(() => {
    receiver?.end()
    return Promise.all([ui?.end(), cloud?.end()])
  })

  test('a webhook gets a secret and a test event, and its deliveries lead to their sessions', async () => {
    const { page } = ui
    await ui.visit(cloud.api, '#/webhooks')
    await page.until(`document.querySelector('.contexts-list a')?.hash === '#/webhooks/documents'`)
    const document = { Kind: 'webhook', Id: 'hook', Name: 'Receiver', Url: `${receiver.url}/hook`, Events: ['turn.completed'] }
    await page.run(`(async () => {
      const { Connection } = await import('/console/connection.js')
      const connection = await Connection.open()
      await connection.send('PUT', 'api/ai/agent/webhooks/hook', ${JSON.stringify(JSON.stringify(document))})
    })()`)
    await ui.visit(cloud.api, '#/webhooks')
    await page.until(`document.querySelector('main').textContent.includes('No secret, so nothing is sent.')`)
    await ui.press('New secret')
    await ui.press('Create', 'dialog')
    await page.until(`document.querySelector('main [role=status] code')?.textContent.startsWith('whsec_')`)
    await ui.press('Send test event')
    await page.until(`/Delivered with status 200/.test(document.querySelector('main [role=status]').textContent)`)
    const session = cloud.client().session()
    await session.send('Hello').final()
    await page.until(`([...document.querySelectorAll('button')].find(({ textContent }) => textContent === 'Refresh').click(), document.querySelector('tbody .tag.completed')?.textContent === 'delivered')`)
    assert.deepEqual(await ui.violations(), [])
    await page.run(`document.querySelector('tbody a').click()`)
    await page.until(`location.hash === '#/chat/${session.id}' && document.querySelector('h1').textContent === 'Hello'`)
    await page.run(`sessionStorage.setItem('aptix-console:identity', JSON.stringify({ Operator: false }))`)
    for (const hash of ['#/webhooks', '#/webhooks/documents']) {
      await ui.visit(cloud.api, hash)
      await page.until(`document.querySelector('main [role=alert]')?.textContent.startsWith('Only operators of your org can see')`)
      assert.equal(await page.run(`[...document.querySelectorAll('main :is(button, .button)')].filter((element) => element.checkVisibility()).length`), 0, hash)
    }
    assert.deepEqual(page.errors, [])
  })
})
