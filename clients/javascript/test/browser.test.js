/** The SDK in a page as it is, and the example of a page. */

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { after, before, suite, test } from 'node:test'

import { script } from '../src/testing.js'
import { Page, serve, skip as noBrowser } from './chromium.js'
import { Cloud, skip as noCloud } from './cloud.js'
import { proxy, seeded } from './proxy.js'

/** @type {Cloud} */
let cloud
/** @type {Page} */
let page
/** @type {Awaited<ReturnType<typeof serve>>} */
let files

suite('in a browser', { skip: noCloud || noBrowser }, () => {
  before(async () => {
    ;[cloud, page, files] = await Promise.all([Cloud.start(), Page.open(), serve()])
  })
  after(async () => {
    files?.end()
    await Promise.all([page?.end(), cloud?.end()])
  })

  test('the SDK shows what is stored and runs each call once, over connections that are cut', async () => {
    const random = seeded(1)
    let left = 5
    const between = await proxy(cloud.api, () => (left-- > 0 ? Math.floor(random() * 1500) : undefined))
    await page.visit(`${files.url}none.html`)
    const asked = script().say('Looking. ').call('workspace_read_file', { path: 'ü' }).afterTools().pace(5).say('🦀 ').words(40)
    const came = await page.run(`(async () => {
      const { Aptix } = await import('/clients/javascript/src/index.js')
      const tokens = ['stale', ${JSON.stringify(cloud.token('ada'))}]
      const aptix = new Aptix({
        baseUrl: ${JSON.stringify(between.url)},
        token: () => tokens.length > 1 ? tokens.shift() : tokens[0],
        keep: localStorage,
        patience: { backoffMs: 5, retries: 100 },
      })
      const session = aptix.session()
      const ran = []
      const files = [new File(['dropped'], 'notes.txt', { type: 'text/plain' })]
      const turn = session.send(${JSON.stringify(String(asked))}, { files, tools: { workspace_read_file: ({ path }) => void ran.push(path) } })
      let text = ''
      let retries = 0
      for await (const event of turn) {
        if (event.type === 'delta') text += event.text
        if (event.type === 'reset') text = ''
        if (event.type === 'retry') retries += 1
      }
      const listed = []
      for await (const { Id } of aptix.sessions.list()) listed.push(Id)
      const { AgentAnswerSummary } = await session.summary(turn.id)
      return { text, ran, retries, kept: localStorage.length, isListed: listed.includes(session.id), AgentAnswerSummary }
    })()`)
    between.end()
    const text = `🦀 ${Array.from({ length: 40 }, (_, n) => `word${n + 1}`).join(' ')}`
    assert.deepEqual({ ...came, retries: came.retries > 0 }, {
      text,
      ran: ['ü'],
      retries: true,
      kept: 0,
      isListed: true,
      AgentAnswerSummary: text,
    })
  })

  const answer = `[...document.querySelectorAll('article.answer')].at(-1)?.textContent`
  const say = async (/** @type {unknown} */ text) => {
    await page.run(`(() => {
      const say = document.getElementById('say')
      say.text.value = ${JSON.stringify(String(text))}
      say.requestSubmit(say.send)
    })()`)
  }

  test('the page of one file holds a conversation, which a reload shows again', async () => {
    await page.visit(`${files.url}examples/page/`)
    await page.run(`(() => {
      const where = document.getElementById('where')
      where.url.value = ${JSON.stringify(cloud.api)}
      where.token.value = ${JSON.stringify(cloud.token('ada'))}
      where.requestSubmit()
    })()`)
    await page.until(`!document.getElementById('say').hidden`)
    const seen = await page.run(`[...document.forms].map((form) => form.checkVisibility())`)
    assert.deepEqual(seen, [false, true])
    await say(script().say('<b>Hello</b> & welcome.'))
    await page.until(`${answer} === '<b>Hello</b> & welcome.'`)
    assert.equal(await page.run(`document.querySelector('article b')`), null, 'text is no markup')
    await say(script().pace(20).words(500))
    await page.until(`${answer}?.startsWith('word1 word2')`)
    // In the middle of an answer.
    await page.reload()
    await page.until(`${answer}?.startsWith('word1 word2')`)
    assert.equal(await page.run(`document.querySelector('article.answer').textContent`), '<b>Hello</b> & welcome.')
    await page.run(`document.getElementById('say').stop.click()`)
    await page.until(`${answer}?.endsWith('(stopped)')`)
    await say(script().call('workspace_read_file', { path: 'a' }).afterTools().echo())
    await page.until(`${answer}?.includes('This client has no tool workspace_read_file.')`)
    assert.deepEqual(page.complaints, [])
  })

  const isBuilt = existsSync(new URL('../../../examples/react-chat/bundle.js', import.meta.url))

  test('the chat in React runs tools, stops, and goes on after a reload', { skip: !isBuilt && 'it is not built' }, async () => {
    page.complaints.length = 0
    const enter = async () => {
      await page.until(`!!document.getElementById('where')`)
      await page.run(`(() => {
        const where = document.getElementById('where')
        where.baseUrl.value = ${JSON.stringify(cloud.api)}
        where.token.value = ${JSON.stringify(cloud.token('ada'))}
        where.requestSubmit()
      })()`)
      await page.until(`!!document.getElementById('say')`)
    }
    const newest = `[...document.querySelectorAll('article.assistant')].at(-1)?.textContent`
    const tell = (/** @type {unknown} */ text) =>
      page.run(`(() => {
        const say = document.getElementById('say')
        say.text.value = ${JSON.stringify(String(text))}
        say.requestSubmit()
      })()`)
    const idle = `!document.querySelector('#say button').disabled`

    await page.visit(`${files.url}examples/react-chat/`)
    await enter()
    const asked = script().say('Looking. ').call('workspace_read_file', { path: 'a.txt' }).afterTools().say('<i>Done.</i>')
    await tell(asked)
    await page.until(`${newest}?.endsWith('<i>Done.</i>') && ${idle}`)
    assert.equal(await page.run(newest), 'workspace_read_file a.txta.txt is not in the folder<i>Done.</i>')
    await tell(script().pace(20).words(400))
    await page.until(`${newest}?.startsWith('word1 word2')`)
    await page.reload()
    await enter()
    await page.until(`${newest}?.startsWith('word1 word2')`)
    assert.equal(await page.run(`document.querySelectorAll('article').length`), 4)
    await page.run(`document.querySelector('#say button[type=button]').click()`)
    await page.until(idle)
    await tell(script().say('Next.'))
    await page.until(`${newest} === 'Next.' && ${idle}`)
    await tell(script().status(401))
    await page.until(`!!document.querySelector('[role=alert]')`)
    assert.deepEqual(page.complaints, [])
  })
})
