/** The chat of the console in headless Chromium, and what may go wrong on the way. */

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'

import { skip as noBrowser } from '../../javascript/test/chromium.js'
import { Cloud, skip as noCloud } from '../../javascript/test/cloud.js'
import { proxy } from '../../javascript/test/proxy.js'
import { script, MockModel } from '../../javascript/src/testing.js'
import { Console, idle, newest } from './pages.js'

/** @type {Cloud} */
let cloud
/** @type {Console} */
let shown

const words = (/** @type {number} */ count) => Array.from({ length: count }, (_, n) => `word${n + 1}`).join(' ')
const answer = `${newest}?.querySelector('.answer').textContent`
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

suite('the chat of the console', { skip: noCloud || noBrowser }, () => {
  before(async () => {
    ;[cloud, shown] = await Promise.all([Cloud.start(), Console.open()])
  })
  after(async () => {
    await Promise.all([shown?.end(), cloud?.end()])
  })

  test('a chat begins without typing a token, runs a tool round, and shows Markdown that is no markup', async () => {
    const { page } = shown
    await shown.visit(cloud.api)
    assert.match(await page.run(`document.getElementById('who').textContent`), /ada · acme/)
    await shown.say(
      script()
        .say('Looking.')
        .call('workspace_read_file', { path: 'a.txt' })
        .call('workspace_write_patch', { path: 'b', patch: '' })
        .afterTools()
        .echo(),
    )
    await page.until(`document.querySelectorAll('.tool').length === 2`)
    assert.equal(await page.run(`document.activeElement.textContent`), 'Run', 'the first card has the focus')
    await shown.press('Run')
    await page.until(
      `document.querySelector('.tool [role=status]').textContent.includes('did not come with this conversation')`,
    )
    await page.until(`!!document.querySelectorAll('.tool')[1].querySelector('[role=alert]')`)
    await page.run(`document.querySelector('.tool textarea').value = '{"text":"by hand"}'`)
    await shown.press('Send result', '.tool')
    await page.run(`document.querySelectorAll('.tool')[1].querySelector('textarea').value = 'Not today.'`)
    await page.run(
      `[...document.querySelectorAll('.tool')[1].querySelectorAll('button')].find((one) => one.textContent === 'Refuse').click()`,
    )
    await page.until(`${answer}.includes('by hand') && ${answer}.includes('Not today.')`)
    assert.deepEqual(await page.run(`[...document.querySelectorAll('.aside')].map((one) => one.textContent)`), ['Looking.'])
    await shown.say(
      script().say(
        '# Title\n\n**Bold** <b>no markup</b> [link](https://example.com) [none](javascript:alert(1))\n\n```js\nlet a\n```',
      ),
    )
    await page.until(`${newest}.querySelector('.answer pre')?.textContent === 'let a'`)
    const seen = await page.run(`(() => {
      const answer = ${newest}.querySelector('.answer')
      return [answer.querySelector('h2').textContent, answer.querySelector('strong').textContent, answer.querySelector('b'), [...answer.querySelectorAll('a')].map((a) => a.href + ' ' + a.rel)]
    })()`)
    assert.deepEqual(seen, ['Title', 'Bold', null, ['https://example.com/ noopener noreferrer']])
    assert.deepEqual(page.complaints, [])
  })

  test('an answer whose connection is cut goes on and is whole', async () => {
    const { page } = shown
    const between = await proxy(cloud.api, () => undefined)
    await shown.visit(between.url)
    await shown.say(script().pace(10).words(300))
    for (const word of ['word40', 'word120']) {
      await page.until(`${answer}?.includes('${word} ')`)
      between.breakAll()
    }
    await page.until(`${answer} === ${JSON.stringify(words(300))} && ${idle}`)
    between.end()
  })

  test('a reload in the middle of an answer shows the rest, and Stop ends it', async () => {
    const { page } = shown
    await shown.visit(cloud.api)
    await shown.say(script().say('First.'))
    await page.until(`${answer} === 'First.' && ${idle}`)
    await shown.say(script().pace(20).words(600))
    await page.until(`${answer}?.startsWith('word1 word2 ')`)
    await page.reload()
    await page.until(`${answer}?.startsWith('word1 word2 ')`)
    assert.equal(await page.run(`document.querySelector('.turn .answer').textContent`), 'First.')
    await shown.press('Stop')
    await page.until(`${newest}.textContent.includes('Stopped.') && ${idle}`)
    await page.run(`window.isOld = true`)
    await shown.say(script().say('Next.'))
    await page.until(`${answer} === 'Next.'`)
  })

  test('who goes to another page in the middle of an answer finds it again', async () => {
    const { page } = shown
    await shown.visit(cloud.api)
    await shown.say(script().pace(10).words(400))
    await page.until(`${answer}?.startsWith('word1 word2 ')`)
    const hash = await page.run('location.hash')
    await page.run(`location.hash = '#/sessions'`)
    await page.until(`!!document.querySelector('.filters')`)
    await page.run(`location.hash = ${JSON.stringify(hash)}`)
    await page.until(`${answer} === ${JSON.stringify(words(400))} && ${idle}`)
    // Its end is in sight.
    await page.until('innerHeight + scrollY >= document.documentElement.scrollHeight - 2')
    assert.deepEqual(page.complaints, [])
  })

  test('a reload while a tool is waited for shows the call again', async () => {
    const { page } = shown
    await shown.visit(cloud.api)
    await shown.say(script().call('workspace_read_file', { path: 'x' }).afterTools().say('Done.'))
    await page.until(`document.querySelectorAll('.tool').length === 1`)
    await page.reload()
    await page.until(`document.querySelectorAll('.tool').length === 1`)
    await shown.press('Refuse')
    await page.until(`${answer} === 'Done.' && ${idle}`)
  })

  test('an image that is pasted and a file that is dropped reach the model', async () => {
    const { page } = shown
    await shown.visit(cloud.api)
    await page.run(`(() => {
      const bytes = Uint8Array.from(atob('${PIXEL}'), (c) => c.charCodeAt(0))
      const held = (file) => { const data = new DataTransfer(); data.items.add(file); return data }
      const field = document.querySelector('.composer textarea')
      const image = held(new File([bytes], 'shot.png', { type: 'image/png' }))
      field.dispatchEvent(new ClipboardEvent('paste', { clipboardData: image, bubbles: true, cancelable: true }))
      const notes = held(new File(['remember the milk'], 'notes.txt', { type: 'text/plain' }))
      document.querySelector('.chat').dispatchEvent(new DragEvent('drop', { dataTransfer: notes, bubbles: true, cancelable: true }))
    })()`)
    const chips = `[...document.querySelectorAll('.composer .chips li')].map((one) => one.firstChild.textContent)`
    assert.deepEqual(await page.run(chips), ['shot.png', 'notes.txt'])
    await shown.say(script().call('workspace_read_file', { path: 'notes.txt' }).afterTools().say('Seen.'))
    await shown.press('Run')
    await page.until(`document.querySelector('.tool textarea').value.includes('remember the milk')`)
    await shown.press('Send result')
    await page.until(`${answer} === 'Seen.'`)
    const { requests } = await new MockModel(cloud.model).asked()
    const sent = JSON.stringify(requests.at(-2)?.body)
    assert.ok(sent.includes(`data:image/png;base64,${PIXEL}`) && sent.includes('remember the milk'))
    assert.deepEqual(await page.run(chips), [])
  })

  test('the files that came along are listed and searched, and a patch changes the copy of the page', async () => {
    const { page } = shown
    await shown.visit(cloud.api)
    await page.run(`(() => {
      const data = new DataTransfer()
      data.items.add(new File(['milk\\nbread\\n'], 'list.txt', { type: 'text/plain' }))
      data.items.add(new File(['Bread is baked.\\n'], 'notes.md', { type: 'text/markdown' }))
      document.querySelector('.chat').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }))
    })()`)
    const patch = '--- a/list.txt\n+++ b/list.txt\n@@ -1,2 +1,2 @@\n milk\n-bread\n+butter\n'
    await shown.say(
      script()
        .call('workspace_list_files', { path: '' })
        .call('workspace_search_text', { pattern: '(?i)^bread', path: '' })
        .call('workspace_write_patch', { path: 'list.txt', patch })
        .afterTools()
        .call('workspace_read_file', { path: 'list.txt' })
        .afterTools()
        .say('Bought.'),
    )
    const card = (/** @type {number} */ at) => `document.querySelectorAll('.tool')[${at}]`
    const run = async (/** @type {number} */ at, /** @type {string} */ verb = 'Run') => {
      await page.until(`!!${card(at)}`)
      const press = (/** @type {string} */ label) =>
        page.run(`[...${card(at)}.querySelectorAll('button')].find((one) => one.textContent === '${label}').click()`)
      await press(verb)
      await page.until(`${card(at)}.querySelector('textarea').value !== ''`)
      const result = JSON.parse(await page.run(`${card(at)}.querySelector('textarea').value`))
      await press('Send result')
      return result
    }
    assert.deepEqual(await run(0), { files: ['list.txt', 'notes.md'], more: false })
    assert.deepEqual(await run(1), {
      matches: [
        { path: 'list.txt', line: 2, text: 'bread' },
        { path: 'notes.md', line: 1, text: 'Bread is baked.' },
      ],
      more: false,
    })
    await page.until(`${card(2)}.querySelector('ins')?.textContent === '+ butter\\n'`)
    assert.equal(await page.run(`${card(2)}.querySelector('del').textContent`), '- bread\n')
    assert.deepEqual(await shown.violations(), [])
    const saved = `(window.saved ??= (() => {
      const made = []
      const make = URL.createObjectURL
      URL.createObjectURL = (blob) => { made.push(blob); return make.call(URL, blob) }
      return made
    })())`
    await page.run(saved)
    assert.deepEqual(await run(2, 'Apply'), { applied: true })
    await shown.press('Download list.txt')
    assert.equal(await page.run(`window.saved.at(-1).text()`), 'milk\nbutter\n')
    assert.deepEqual(await run(3), { text: 'milk\nbutter\n' })
    await page.until(`${answer} === 'Bought.' && ${idle}`)
  })

  test('an answer that broke off shows what there was of it after a reload', async () => {
    const { page } = shown
    await shown.visit(cloud.api)
    await shown.say(script().say('Half an answer that breaks off.').cut(6))
    await page.until(`${newest}.querySelector('.failure')?.textContent && ${idle}`)
    await page.reload()
    await page.until(`${answer}?.startsWith('Half')`)
    assert.ok(await page.run(`!!${newest}.querySelector('.failure')`))
  })
})
