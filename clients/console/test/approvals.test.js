/** Browser tests of calls that wait for an approval: the asker's chat in one browser, the approver's page in another. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { after, before, suite, test } from 'node:test'

import { skip as noBrowser } from '../../javascript/test/chromium.js'
import { Cloud, skip as noCloud } from '../../javascript/test/cloud.js'
import { script } from '../../javascript/src/testing.js'
import { ConsolePage, isIdle, newestTurn } from './pages.js'

const cards = `[...document.querySelectorAll('[role=group][aria-label^="Approval:"]')]`
const texts = `${cards}.map((card) => card.textContent)`

/**
 * Sets the field of a card as a user does.
 * @param {ConsolePage} ui
 * @param {string} selector
 * @param {string} value
 */
const type = (ui, selector, value) =>
  ui.page.run(`(() => {
    const field = ${cards}[0].querySelector(${JSON.stringify(selector)})
    field.value = ${JSON.stringify(value)}
    field.dispatchEvent(new Event('input', { bubbles: true }))
  })()`)

suite('approvals in the console', { skip: noCloud || noBrowser }, () => {
  /** @type {Cloud} */
  let cloud
  /** @type {ConsolePage} */
  let asker
  /** @type {ConsolePage} */
  let approver
  /** The refunds that the shop performed. */
  const performed = /** @type {string[]} */ ([])
  const shop = createServer(async (request, response) => {
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    performed.push(JSON.parse(Buffer.concat(chunks).toString()).order)
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"status":"refunded"}')
  })
  const ask = (/** @type {string} */ order) => asker.send(script().call('shop__refund', { order }).afterTools().say(`Done with ${order}.`))
  const isDone = (/** @type {string} */ order) => asker.page.until(`${newestTurn}.querySelector('.answer').textContent.includes('Done with ${order}.') && ${isIdle}`)

  before(async () => {
    ;[cloud, asker, approver] = await Promise.all([Cloud.start(), ConsolePage.open(), ConsolePage.open(), once(shop.listen(0, '127.0.0.1'), 'listening')])
    asker.key = approver.key = cloud.consoleKey
    const { port } = /** @type {import('node:net').AddressInfo} */ (shop.address())
    const Parameters = { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] }
    const Approval = { Policy: 'always', Roles: ['operator'], MayEdit: true }
    const refund = { Name: 'refund', Description: 'Refunds an order.', Class: 'effect', Method: 'POST', Path: '/refunds', Parameters, Approval }
    await approver.visit(cloud.api, '#/approvals')
    await approver.page.until(`document.querySelector('main .notice')?.textContent.includes('No call waits for you.')`)
    await approver.page.run(`(async () => {
      sessionStorage.setItem('aptix-console:identity', JSON.stringify({ User: 'olga', Operator: true }))
      const { Connection } = await import('/console/connection.js')
      const connection = await Connection.open()
      const put = (path, document) => connection.send('PUT', 'api/ai/agent/' + path, JSON.stringify(document))
      await put('connections/shop', ${JSON.stringify({ Kind: 'connection', Id: 'shop', Name: 'Shop', Protocol: 'http', Url: `http://127.0.0.1:${port}`, Tools: [refund] })})
      await put('agents/clerk', ${JSON.stringify({ Kind: 'agent', Id: 'clerk', Name: 'Clerk', Tools: ['shop'] })})
    })()`)
    await asker.visit(cloud.api)
    await asker.page.run(`sessionStorage.setItem('aptix-console:identity', JSON.stringify({ User: 'ada', Operator: false }))`)
    const session = cloud.client().session(undefined, { agent: 'clerk' })
    await session.send(script().say('Hello.')).final()
    await asker.visit(cloud.api, `#/chat/${session.id}`)
    await asker.page.until(`!!${newestTurn}?.querySelector('.answer').textContent && ${isIdle}`)
  })
  after(async () => {
    shop.close()
    await Promise.all([asker?.end(), approver?.end(), cloud?.end()])
  })

  test('call that waits stands in the chat, and an operator approves it with other arguments', async () => {
    await ask('1')
    await asker.page.until(`${cards}.length === 1`)
    const [waiting] = await asker.page.run(texts)
    for (const text of ['shop__refund', 'needs approval', '"1"', 'Somebody else has to answer.']) assert.ok(waiting.includes(text), `${text}: ${waiting}`)
    assert.equal(await asker.page.run(`${cards}[0].querySelectorAll('button').length && ${cards}[0].querySelector('.row').checkVisibility()`), false)
    assert.deepEqual(await asker.violations(), [])

    await approver.visit(cloud.api, '#/approvals')
    await approver.page.until(`${cards}.length === 1`)
    assert.deepEqual(await approver.violations(), [])
    await approver.page.show({ width: 390, height: 844, scheme: 'dark' })
    assert.deepEqual(await approver.violations(), [])
    assert.ok((await approver.overflow) <= 0)
    await approver.page.show({})
    await approver.press('Edit')
    await approver.page.until(`!!${cards}[0].querySelector('textarea')`)
    await type(approver, 'textarea', '{"order":')
    assert.equal(await approver.page.run(`${cards}[0].querySelector('button.primary').disabled`), true, 'no valid JSON')
    await type(approver, 'textarea', '{"order":"7"}')
    await approver.press('Approve the call of shop__refund')
    await approver.page.until(`${cards}[0].textContent.includes('Approved with other arguments by')`)
    await isDone('1')
    assert.deepEqual(performed, ['7'])
    await asker.page.until(`${cards}[0].textContent.includes('approved')`)
  })

  test('link of an approval opens it, and the model gets the reason of a denial', async () => {
    await ask('2')
    await approver.visit(cloud.api, '#/approvals')
    await approver.page.until(`${cards}.length === 1`)
    const id = await approver.page.run(`${cards}[0].querySelector('input').id.replace('reason-', '')`)
    await approver.visit(cloud.api, `#/approvals/${id}`)
    await approver.page.until(`${cards}.length === 1 && document.querySelector('h1').textContent === 'Approval'`)
    await type(approver, 'input', 'It was refunded in May.')
    await approver.press('Deny the call of shop__refund')
    await approver.page.until(`${cards}[0].textContent.includes('The reason: It was refunded in May.')`)
    await isDone('2')
    assert.deepEqual(performed, ['7'])
    const { requests } = await (await fetch(`${cloud.model}/scripted/requests`)).json()
    assert.match(JSON.stringify(requests.at(-1)), /It was refunded in May\./)
    await approver.visit(cloud.api, '#/approvals/00000000000000000000000000000000')
    await approver.page.until(`document.querySelector('main .error')?.textContent.includes('ApprovalNotFound')`)
    assert.deepEqual(approver.page.errors, [])
    assert.deepEqual(asker.page.errors, [])
  })
})
