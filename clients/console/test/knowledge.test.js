/** Browser tests of the page *Knowledge*: upload by drop, status, and deletion. */

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'

import { skip as noBrowser } from '../../javascript/test/chromium.js'
import { Cloud, skip as noCloud } from '../../javascript/test/cloud.js'
import { ConsolePage } from './pages.js'

suite('knowledge in the console', { skip: noCloud || noBrowser }, () => {
  /** @type {Cloud} */
  let cloud
  /** @type {ConsolePage} */
  let ui
  before(async () => {
    ;[cloud, ui] = await Promise.all([Cloud.start(), ConsolePage.open()])
    ui.key = cloud.consoleKey
  })
  after(() => Promise.all([ui?.end(), cloud?.end()]))

  /** @param {string} name */
  const row = (name) => `document.querySelector(${JSON.stringify(`tr[data-name="${name}"]`)})`

  test('dropped files are listed with their status and reason, and deleted', async () => {
    await ui.visit(cloud.api, '#/knowledge')
    await ui.page.until(`!!document.querySelector('tbody td')`)
    await ui.page.run(`(() => {
      document.querySelector('details').open = true
      document.querySelector('textarea').value = 'Team=facilities'
      const dropped = new DataTransfer()
      dropped.items.add(new File(['# Doors\\n\\nBlue badges open the north door.\\n'], 'doors.md'))
      dropped.items.add(new File([new Uint8Array([0x89, 0x50, 0, 0])], 'picture.png'))
      dropped.items.add(new File([], 'empty.txt'))
      dropped.items.add(new File([new Uint8Array(3_500_000)], 'large.txt'))
      document.getElementById('knowledge-files').parentElement.dispatchEvent(new DragEvent('drop', { dataTransfer: dropped, bubbles: true, cancelable: true }))
    })()`)
    await ui.page.until(`${row('doors.md')}?.textContent.includes('ready')`)
    await ui.page.until(`${row('picture.png')}?.textContent.includes('It is not text.')`)
    assert.deepEqual(await ui.page.run(`[...document.querySelectorAll('main ul.error li')].map(({ textContent }) => textContent)`), ['empty.txt: It is empty.', 'large.txt: It has 3.5 MB, at most 3 MB are allowed.'])
    assert.deepEqual(await ui.page.run(`[${row('doors.md')}, ${row('picture.png')}].map((row) => row.querySelector('.tag').className)`), ['tag completed', 'tag failed'])
    assert.match(await ui.page.run(`${row('doors.md')}.textContent`), /Team: facilities/)
    await ui.page.run(`${row('doors.md')}.querySelector('button').click()`)
    await ui.page.until(`!!document.querySelector('dialog form')`)
    await ui.page.run(`document.querySelector('dialog form').requestSubmit()`)
    await ui.page.until(`!${row('doors.md')}`)
  })
})
