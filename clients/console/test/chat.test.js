/** Browser tests of the console's chat page, failures included. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'

import { skip as noBrowser } from '../../javascript/test/chromium.js'
import { Cloud, skip as noCloud } from '../../javascript/test/cloud.js'
import { proxy } from '../../javascript/test/proxy.js'
import { script, MockModel } from '../../javascript/src/testing.js'
import { ConsolePage, isIdle, newestTurn } from './pages.js'

/** @type {Cloud} */
let cloud
/** @type {ConsolePage} */
let ui

const words = (/** @type {number} */ count) => Array.from({ length: count }, (_, n) => `word${n + 1}`).join(' ')
const answer = `${newestTurn}?.querySelector('.answer').textContent`
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

suite('chat page', { skip: noCloud || noBrowser }, () => {
  before(async () => {
    ;[cloud, ui] = await Promise.all([Cloud.start(), ConsolePage.open()])
    ui.key = cloud.consoleKey
  })
  after(async () => {
    await Promise.all([ui?.end(), cloud?.end()])
  })

  test('reasoning is folded above the answer, is Markdown, and survives a reload', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    await ui.send(script().think('Let me **look** at <b>it</b>.').say('It is 7.'))
    await page.until(`${answer} === 'It is 7.'`)
    await page.until(isIdle)
    const blocks = `[...document.querySelectorAll('.reasoning')].map((block) => [block.open, block.querySelector('p').textContent, block.querySelector('strong').textContent])`
    const expected = [[false, 'Let me look at <b>it</b>.', 'look']]
    assert.deepEqual(await page.run(blocks), expected)
    const isAbove = `${newestTurn}.querySelector('.reasoning').compareDocumentPosition(${newestTurn}.querySelector('.answer')) & Node.DOCUMENT_POSITION_FOLLOWING`
    assert.ok(await page.run(isAbove))
    await page.reload()
    await page.until(`${answer} === 'It is 7.' && !!document.querySelector('.reasoning')`)
    assert.deepEqual(await page.run(blocks), expected)
    assert.ok(await page.run(isAbove))
  })

  test('a message that the API refuses comes back with its files', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    await page.run(`import('/console/handoff.js').then(({ setHandoff }) => setHandoff('contexts', { agent: 'no-such-agent' }))`)
    await ui.visit(cloud.api, '#/sessions')
    await ui.visit(cloud.api)
    await ui.drop([{ name: 'a.txt', type: 'text/plain', text: 'apples' }])
    await page.until(`document.querySelectorAll('.composer .chips li').length === 1`)
    await ui.send('What is in a.txt?')
    await page.until(`/no such agent/.test(document.querySelector('.chat > div > .error')?.textContent) && ${isIdle}`)
    assert.equal(await page.run(`document.querySelector('.composer textarea').value`), 'What is in a.txt?')
    assert.equal(await page.run(`document.querySelectorAll('.composer .chips li').length`), 1)
    assert.equal(await page.run(`document.querySelectorAll('article.turn').length`), 0)
    assert.match(await page.run(`location.hash`), /\/new$/)
    // The choice of the agent is open again.
    await page.reload()
    await page.until(`document.querySelector('h1').textContent === 'New conversation' && ${isIdle}`)
    assert.equal(await page.run(`document.querySelector('.composer textarea').value`), 'What is in a.txt?')
    await ui.send('Hello')
    await page.until(`!!${newestTurn} && ${isIdle}`)
  })

  test('files that can’t be read are named and not sent', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    await ui.drop([{ name: 'shot.png', type: 'image/png', text: 'no image' }, { name: 'a.txt', type: 'text/plain', text: 'apples' }])
    await page.until(`document.querySelector('.composer .error')?.textContent === 'shot.png was not attached. It is no image that can be read.'`)
    const folder = mkdtempSync(join(tmpdir(), 'aptix-console-'))
    const path = join(folder, 'gone.txt')
    writeFileSync(path, 'gone')
    const { root } = await page.send('DOM.getDocument')
    const { nodeId } = await page.send('DOM.querySelector', { nodeId: root.nodeId, selector: '.composer input[type=file]' })
    await page.send('DOM.setFileInputFiles', { nodeId, files: [path] })
    await page.until(`document.querySelectorAll('.composer .chips li').length === 2`)
    rmSync(folder, { recursive: true })
    await ui.send('What is in them?')
    await page.until(`document.querySelector('.composer .error')?.textContent.startsWith('gone.txt can’t be read any more')`)
    assert.equal(await page.run(`document.querySelector('.composer textarea').value`), 'What is in them?')
    assert.equal(await page.run(`document.querySelectorAll('article.turn').length`), 0)
    await ui.send('What is in it?')
    await page.until(`!!${newestTurn} && ${isIdle}`)
    assert.equal(await page.run(`${newestTurn}.querySelector('.instruction .chips').textContent`), 'a.txt')
  })

  test('chat without entered token runs tool round and renders safe Markdown', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    assert.match(await page.run(`document.getElementById('identity').textContent`), /ada · acme/)
    await ui.send(
      script()
        .say('I will look at both.')
        .call('workspace_read_file', { path: 'a.txt' })
        .call('workspace_write_patch', { path: 'b', patch: '' })
        .afterTools()
        .echo(),
    )
    await page.until(`document.querySelectorAll('.tool').length === 2`)
    assert.equal(await page.run(`document.activeElement.textContent`), 'Run', 'the first card is focused')
    await ui.press('Run')
    await page.until(
      `document.querySelector('.tool [role=status]').textContent.includes('is not attached to this conversation')`,
    )
    await page.until(`!!document.querySelectorAll('.tool')[1].querySelector('[role=alert]')`)
    await page.run(`document.querySelector('.tool textarea').value = '{"text":"by hand"}'`)
    await ui.press('Send result', '.tool')
    await page.run(`document.querySelectorAll('.tool')[1].querySelector('textarea').value = 'Not today.'`)
    await page.run(
      `[...document.querySelectorAll('.tool')[1].querySelectorAll('button')].find((element) => element.textContent === 'Refuse').click()`,
    )
    await page.until(`${answer}.includes('by hand') && ${answer}.includes('Not today.')`)
    assert.deepEqual(await page.run(`[...document.querySelectorAll('.interim')].map((element) => element.textContent)`), ['I will look at both.'])
    await ui.send(
      script().say(
        '# Title\n\n**Bold** <b>no markup</b> [link](https://example.com) [none](javascript:alert(1))\n\n```js\nlet a\n```',
      ),
    )
    await page.until(`${newestTurn}.querySelector('.answer pre')?.textContent === 'let a'`)
    const rendered = await page.run(`(() => {
      const answer = ${newestTurn}.querySelector('.answer')
      return [answer.querySelector('h2').textContent, answer.querySelector('strong').textContent, answer.querySelector('b'), [...answer.querySelectorAll('a')].map((a) => a.href + ' ' + a.rel)]
    })()`)
    assert.deepEqual(rendered, ['Title', 'Bold', null, ['https://example.com/ noopener noreferrer']])
    assert.deepEqual(page.errors, [])
  })

  test('answer over cut connection is complete', async () => {
    const { page } = ui
    const flakyProxy = await proxy(cloud.api, () => undefined)
    await ui.visit(flakyProxy.url)
    await ui.send(script().pace(10).words(300))
    for (const word of ['word40', 'word120']) {
      await page.until(`${answer}?.includes('${word} ')`)
      flakyProxy.breakAll()
    }
    await page.until(`${answer} === ${JSON.stringify(words(300))} && ${isIdle}`)
    flakyProxy.end()
  })

  test('reload during answer resumes it, and Stop ends it', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    await ui.send(script().say('First.'))
    await page.until(`${answer} === 'First.' && ${isIdle}`)
    await ui.send(script().pace(20).words(600))
    await page.until(`${answer}?.startsWith('word1 word2 ')`)
    await page.reload()
    await page.until(`${answer}?.startsWith('word1 word2 ')`)
    assert.equal(await page.run(`document.querySelector('.turn .answer').textContent`), 'First.')
    await ui.press('Stop')
    await page.until(`${newestTurn}.textContent.includes('Stopped.') && ${isIdle}`)
    await page.run(`window.isOld = true`)
    await ui.send(script().say('Next.'))
    await page.until(`${answer} === 'Next.'`)
  })

  test('answer is found again after visiting another page', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    await ui.send(script().pace(10).words(400))
    await page.until(`${answer}?.startsWith('word1 word2 ')`)
    const hash = await page.run('location.hash')
    await page.run(`location.hash = '#/sessions'`)
    await page.until(`!!document.querySelector('.filters')`)
    await page.run(`location.hash = ${JSON.stringify(hash)}`)
    await page.until(`${answer} === ${JSON.stringify(words(400))} && ${isIdle}`)
    // The end of the answer is visible.
    await page.until('innerHeight + scrollY >= document.documentElement.scrollHeight - 2')
    assert.deepEqual(page.errors, [])
  })

  test('reload during pending tool call shows the call again', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    await ui.send(script().call('workspace_read_file', { path: 'x' }).afterTools().say('Done.'))
    await page.until(`document.querySelectorAll('.tool').length === 1`)
    await page.reload()
    await page.until(`document.querySelectorAll('.tool').length === 1`)
    await ui.press('Refuse')
    await page.until(`${answer} === 'Done.' && ${isIdle}`)
  })

  test('pasted image and dropped file reach the model', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    await page.run(`(() => {
      const bytes = Uint8Array.from(atob('${PIXEL}'), (c) => c.charCodeAt(0))
      const transfer = (file) => { const data = new DataTransfer(); data.items.add(file); return data }
      const field = document.querySelector('.composer textarea')
      const image = transfer(new File([bytes], 'shot.png', { type: 'image/png' }))
      field.dispatchEvent(new ClipboardEvent('paste', { clipboardData: image, bubbles: true, cancelable: true }))
      const notes = transfer(new File(['remember the milk'], 'notes.txt', { type: 'text/plain' }))
      document.querySelector('.chat').dispatchEvent(new DragEvent('drop', { dataTransfer: notes, bubbles: true, cancelable: true }))
    })()`)
    const chips = `[...document.querySelectorAll('.composer .chips li')].map((element) => element.firstChild.textContent)`
    await page.until(`${chips}.join() === 'shot.png,notes.txt'`)
    await ui.send(script().call('workspace_read_file', { path: 'notes.txt' }).afterTools().say('Seen.'))
    await ui.press('Run')
    await page.until(`document.querySelector('.tool textarea').value.includes('remember the milk')`)
    await ui.press('Send result')
    await page.until(`${answer} === 'Seen.'`)
    const { requests } = await new MockModel(cloud.model).requests()
    const sent = JSON.stringify(requests.at(-2)?.body)
    assert.ok(sent.includes(`data:image/png;base64,${PIXEL}`) && sent.includes('remember the milk'))
    assert.deepEqual(await page.run(chips), [])
  })

  test('attached files are listed, searched and patched in the page', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    await page.run(`(() => {
      const data = new DataTransfer()
      data.items.add(new File(['milk\\nbread\\n'], 'list.txt', { type: 'text/plain' }))
      data.items.add(new File(['Bread is baked.\\n'], 'notes.md', { type: 'text/markdown' }))
      document.querySelector('.chat').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }))
    })()`)
    const patch = '--- a/list.txt\n+++ b/list.txt\n@@ -1,2 +1,2 @@\n milk\n-bread\n+butter\n'
    await ui.send(
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
        page.run(`[...${card(at)}.querySelectorAll('button')].find((element) => element.textContent === '${label}').click()`)
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
    assert.deepEqual(await ui.violations(), [])
    const captureBlobs = `(window.captureBlobs ??= (() => {
      const blobs = []
      const createObjectURL = URL.createObjectURL
      URL.createObjectURL = (blob) => { blobs.push(blob); return createObjectURL.call(URL, blob) }
      return blobs
    })())`
    await page.run(captureBlobs)
    assert.deepEqual(await run(2, 'Apply'), { applied: true })
    await ui.press('Download list.txt')
    assert.equal(await page.run(`window.captureBlobs.at(-1).text()`), 'milk\nbutter\n')
    assert.deepEqual(await run(3), { text: 'milk\nbutter\n' })
    await page.until(`${answer} === 'Bought.' && ${isIdle}`)
  })

  test('forged patch is shown escaped with a warning', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    const patch = '--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+evil \u202egood\u200b\r+x\n'
    await ui.send(script().call('workspace_write_patch', { path: 'a\u202etxt', patch }).afterTools().say('Done.'))
    await page.until(`!!document.querySelector('.tool ins')`)
    const shown = await page.run(`document.querySelector('.tool').textContent`)
    assert.ok(!/[\u202e\u200b\r]/.test(shown), JSON.stringify(shown))
    assert.equal(await page.run(`document.querySelector('.tool ins').textContent`), '+ evil \\u{202e}good\\u{200b}\\u{d}+x\n')
    assert.match(shown, /Contains 4 control or invisible characters/)
    await ui.press('Refuse')
    await page.until(`${answer} === 'Done.' && ${isIdle}`)
    // Text behind a hunk is not applied, and therefore refused.
    await ui.send(script().call('workspace_write_patch', { path: 'b', patch: patch + '+more\n' }).afterTools().say('Done.'))
    await page.until(`[...document.querySelectorAll('.tool [role=alert]')].at(-1)?.textContent.includes('belongs to no hunk')`)
    await ui.press('Refuse')
    await page.until(`${answer} === 'Done.' && ${isIdle}`)
  })

  test('empty result is refused and Apply is primary and in view', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    const lines = Array.from({ length: 200 }, (_, n) => `+line ${n}\n`).join('')
    const patch = `--- /dev/null\n+++ b/x\n@@ -0,0 +1,200 @@\n${lines}`
    await ui.send(script().call('workspace_write_patch', { path: 'long.txt', patch }).afterTools().say('Done.'))
    await page.until(`document.querySelectorAll('.tool ins').length === 200`)
    const primary = `[...document.querySelectorAll('.tool button.primary')].map((element) => element.textContent)`
    assert.deepEqual(await page.run(primary), ['Apply'])
    const isVisible = `(() => {
      const button = document.querySelector('.tool button.primary')
      const { left, top, width, height } = button.getBoundingClientRect()
      return document.elementFromPoint(left + width / 2, top + height / 2) === button
    })()`
    await page.until(isVisible)
    await ui.press('Send result')
    await page.until(`document.querySelector('.tool [role=status]').textContent.includes('The result is empty')`)
    assert.ok(await page.run(`!document.querySelector('.tool textarea').disabled`), 'the call still waits')
    await ui.press('Apply')
    await page.until(`document.querySelector('.tool textarea').value !== ''`)
    assert.deepEqual(await page.run(primary), ['Send result'])
    await ui.press('Send result')
    await page.until(`${answer} === 'Done.' && ${isIdle}`)
  })

  test('truncated answer shows its partial text after reload', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    await ui.send(script().say('Half an answer that breaks off.').cut(6))
    await page.until(`${newestTurn}.querySelector('.error')?.textContent && ${isIdle}`)
    await page.reload()
    await page.until(`${answer}?.startsWith('Half')`)
    assert.ok(await page.run(`!!${newestTurn}.querySelector('.error')`))
  })
})
