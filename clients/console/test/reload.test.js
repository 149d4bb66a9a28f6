/** Browser tests of the console's chat page after a reload: it shows the conversation as it was. */

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
const cards = `[...document.querySelectorAll('.tool')].map((card) => card.textContent)`
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

suite('reloaded chat', { skip: noCloud || noBrowser }, () => {
  before(async () => {
    ;[cloud, ui] = await Promise.all([Cloud.start(), ConsolePage.open()])
    ui.key = cloud.consoleKey
  })
  after(async () => {
    await Promise.all([ui?.end(), cloud?.end()])
  })

  test('attachments and tool cards are shown again', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    await page.run(`(() => {
      const bytes = Uint8Array.from(atob('${PIXEL}'), (c) => c.charCodeAt(0))
      const data = new DataTransfer()
      data.items.add(new File([bytes], 'shot.png', { type: 'image/png' }))
      data.items.add(new File([bytes], 'shot.png', { type: 'image/png' }))
      data.items.add(new File(['remember the milk'], 'notes.txt', { type: 'text/plain' }))
      document.querySelector('.chat').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }))
    })()`)
    const calls = script().say('Looking.').call('workspace_read_file', { path: 'notes.txt' }).call('workspace_list_files', { path: '' })
    await ui.send(calls.afterTools().say('Seen.'))
    await ui.press('Run')
    await page.until(`document.querySelector('.tool textarea').value !== ''`)
    await ui.press('Send result')
    await page.run(
      `[...document.querySelectorAll('.tool')[1].querySelectorAll('button')].find((element) => element.textContent === 'Refuse').click()`,
    )
    await page.until(`${answer} === 'Seen.' && ${isIdle}`)
    const shown = `(() => {
      const chips = [...document.querySelectorAll('.instruction .chips li')]
      return chips.map((chip) => [chip.textContent, chip.querySelector('img')?.naturalWidth])
    })()`
    const hasThumbnails = `[...document.querySelectorAll('.thumbnail')].filter((image) => image.naturalWidth === 1).length === 2`
    await page.until(hasThumbnails)
    assert.deepEqual(await page.run(shown), [['notes.txt', null], ['shot.png', 1], ['shot.png', 1]])
    await page.reload()
    await page.until(`${answer} === 'Seen.' && document.querySelectorAll('.tool').length === 2 && ${hasThumbnails}`)
    assert.deepEqual(await page.run(shown), [['notes.txt', null], ['shot.png', 1], ['image-2', 1]])
    assert.equal(await page.run(`document.querySelector('.interim').textContent`), 'Looking.')
    const [read = '', refused = ''] = await page.run(cards)
    assert.match(read, /workspace_read_file.*remember the milk.*Result sent after/s)
    assert.match(refused, /workspace_list_files.*The user declined this call.*Refused after/s)
    assert.deepEqual(page.errors, [])
  })

  test('results that are ready survive a reload, with the files that the tools read', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    await page.run(`(() => {
      const data = new DataTransfer()
      data.items.add(new File(['milk\\nbread\\n'], 'list.txt', { type: 'text/plain' }))
      document.querySelector('.chat').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }))
    })()`)
    const patch = '--- a/list.txt\n+++ b/list.txt\n@@ -1,2 +1,2 @@\n milk\n-bread\n+butter\n'
    await ui.send(script().call('workspace_write_patch', { path: 'list.txt', patch }).call('workspace_read_file', { path: 'list.txt' }).afterTools().echo())
    const card = (/** @type {number} */ at) => `document.querySelectorAll('.tool')[${at}]`
    const tag = (/** @type {number} */ at) => `${card(at)}.querySelector('.tag').textContent`
    await ui.press('Apply')
    await page.until(`${card(0)}.querySelector('textarea').value !== ''`)
    await ui.press('Send result')
    await page.until(`${tag(0)} === 'ready'`)
    assert.match(await page.run(`${card(0)}.textContent`), /The result is ready\. It is sent with the results of the other calls\./)
    await page.reload()
    await page.until(`document.querySelectorAll('.tool').length === 2 && ${tag(0)} === 'ready' && ${tag(1)} === 'needs approval'`)
    await ui.press('Run')
    await page.until(`${card(1)}.querySelector('textarea').value.includes('butter')`)
    await ui.press('Send result')
    await page.until(`${answer}.includes('applied') && ${answer}.includes('butter') && ${isIdle}`)
    assert.deepEqual(await page.run(`[${tag(0)}, ${tag(1)}]`), ['done', 'done'])
    assert.deepEqual(page.errors, [])
  })

  test('card says that its result was not sent when the API refused it', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    await ui.send(script().call('workspace_list_files', { path: '' }).afterTools().say('Done.'))
    await ui.press('Run')
    await page.until(`document.querySelector('.tool textarea').value !== ''`)
    const [, id = ''] = (await page.run('location.hash')).split('/chat/')
    const session = cloud.client().session(id)
    await session.cancel((await session.turn('last')).Id)
    await ui.press('Send result')
    await page.until(`document.querySelector('.tool .tag').textContent === 'not sent' && ${isIdle}`)
    assert.match(await page.run(`document.querySelector('.tool').textContent`), /No result was sent\./)
  })

  test('reload between tool rounds keeps the first round', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    await ui.send(script().call('workspace_list_files', { path: '' }).afterTools().say('More.').call('workspace_search_text', { pattern: 'x', path: '' }).afterTools().say('Done.'))
    await page.until(`document.querySelectorAll('.tool').length === 1`)
    await ui.press('Refuse')
    await page.until(`document.querySelectorAll('.tool').length === 2`)
    await page.reload()
    await page.until(`document.querySelectorAll('.tool').length === 2`)
    const names = `[...document.querySelectorAll('.tool h2')].map((name) => name.textContent)`
    assert.deepEqual(await page.run(names), ['workspace_list_files', 'workspace_search_text'])
    await page.until(`document.querySelectorAll('.interim').length === 1`)
    await ui.press('Refuse')
    await page.until(`${answer} === 'Done.' && ${isIdle}`)
    assert.deepEqual(page.errors, [])
  })

  test('stopped answer keeps its length and is no error', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    await ui.send(script().pace(20).words(600))
    await page.until(`${answer}?.includes('word60 ')`)
    await ui.press('Stop')
    await page.until(`${newestTurn}.textContent.includes('Stopped.') && ${isIdle}`)
    const before = await page.run(answer)
    await page.reload()
    await page.until(`${answer}?.startsWith('word1 word2 ')`)
    assert.equal(await page.run(answer), before)
    assert.ok(await page.run(`${newestTurn}.textContent.includes('Stopped.') && !${newestTurn}.querySelector('.error')`))
  })

  test('long instruction and answer are shown in full', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    const comment = 'x'.repeat(5_000)
    await ui.send(`${script().words(3_000)} ${comment}`)
    await page.until(`${answer}?.endsWith('word3000') && ${isIdle}`)
    await page.reload()
    await page.until(`${answer}?.endsWith('word3000')`)
    await page.until(`${newestTurn}.querySelector('.instruction').textContent.endsWith('${comment}')`)
  })

  test('earlier turns are shown page by page, and load their texts when they are near', async () => {
    const { page } = ui
    const session = cloud.client().session()
    const long = 'word '.repeat(600).trim()
    await session.send(`First ${script().say(long)}`).final()
    for (let turn = 2; turn <= 24; turn += 1) await session.send(`Turn ${turn} ${script().say(`Answer ${turn}\n\n`.repeat(30))}`).final()
    await ui.visit(cloud.api, `#/chat/${session.id}`)
    const count = `document.querySelectorAll('article.turn').length`
    await page.until(`${count} === 20`)
    await ui.press('Earlier turns')
    await page.until(`${count} === 24 && !document.body.textContent.includes('Earlier turns')`)
    const first = `document.querySelector('article.turn .answer').textContent.length`
    assert.ok((await page.run(first)) < long.length, 'a turn that is far away shows its excerpt')
    // The page may still move while earlier turns are laid out.
    await page.until(`scrollTo(0, 0), document.querySelector('article.turn .answer').textContent.trim() === ${JSON.stringify(long)}`)
    assert.deepEqual(page.errors, [])
  })
})
