/** A page of another site in a browser on the machine of a local cloud: it must not read or change anything. */

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'

import { Page, serve, skip as noBrowser } from './chromium.js'
import { Cloud, skip as noCloud } from './cloud.js'

/** Name of the site. The browser resolves it to this machine, as its owner can after the page has loaded. */
const SITE = 'evil.example'

/** @type {Cloud} */
let cloud
/** @type {Page} */
let page
/** @type {Awaited<ReturnType<typeof serve>>} */
let files

suite('page of another site', { skip: noCloud || noBrowser }, () => {
  before(async () => {
    const browser = Page.open(`--host-resolver-rules=MAP ${SITE} 127.0.0.1`)
    ;[cloud, page, files] = await Promise.all([Cloud.start(), browser, serve()])
  })
  after(async () => {
    files?.end()
    await Promise.all([page?.end(), cloud?.end()])
  })

  test('services, API and console refuse it', async () => {
    await page.visit(files.url.replace('127.0.0.1', SITE) + 'none.html')
    const outcomes = await page.run(`(async () => {
      const outcomes = []
      const urls = ${JSON.stringify([...cloud.services, cloud.api, `${cloud.api}/console/api/token`, `${cloud.api}/openapi.yaml`])}
      const plain = { 'content-type': 'text/plain' }
      const signed = { ...plain, 'x-amz-target': 'DynamoDB_20120810.Scan', authorization: 'AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=host, Signature=c' }
      const body = JSON.stringify({ TableName: 'agent-sessions' })
      for (const url of urls) {
        for (const request of [{}, { method: 'POST', headers: plain, body }, { method: 'POST', headers: signed, body }]) {
          outcomes.push(await fetch(url, request).then((response) => url + ' was read: ' + response.status, () => 'refused'))
        }
      }
      return outcomes
    })()`)
    assert.deepEqual(new Set(outcomes), new Set(['refused']))
  })

  test('name that it has rebound to this machine is refused', async () => {
    for (const url of [...cloud.services, cloud.api]) {
      await page.visit(url.replace('127.0.0.1', SITE))
      assert.match(await page.run(`document.body.innerText`), /Check the Host header/)
      const status = await page.run(`fetch('/console/api/token', { method: 'POST', headers: { 'x-aptix-console': '1' } }).then(({ status }) => status)`)
      assert.equal(status, 403)
    }
  })

  test("console's key opens the console, and no other does", async () => {
    await page.visit(`${cloud.api}/#key=0000`)
    await page.until(`document.querySelector('main h1')?.textContent === 'Open the console with its link'`)
    await page.run(`location.hash = ${JSON.stringify(`#key=${cloud.consoleKey}`)}`)
    await page.until(`document.querySelectorAll('nav a').length > 2`)
    assert.equal(await page.run('location.hash'), '#/', 'the address does not show the key')
    await page.reload()
    await page.until(`document.querySelectorAll('nav a').length > 2`)
  })
})
