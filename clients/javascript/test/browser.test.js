/** The unbundled SDK in a browser, and the page examples. */

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

suite('browser', { skip: noCloud || noBrowser }, () => {
  before(async () => {
    ;[cloud, page, files] = await Promise.all([Cloud.start(), Page.open(), serve()])
  })
  after(async () => {
    files?.end()
    await Promise.all([page?.end(), cloud?.end()])
  })

  test('SDK over cut connections shows stored answer and runs calls once', async () => {
    const random = seeded(1)
    let left = 5
    const flakyProxy = await proxy(cloud.api, () => (left-- > 0 ? Math.floor(random() * 1500) : undefined))
    await page.visit(`${files.url}none.html`)
    const instruction = script().say('Looking. ').call('workspace_read_file', { path: 'ü' }).afterTools().pace(5).say('🦀 ').words(40)
    const outcome = await page.run(`(async () => {
      const { Aptix } = await import('/clients/javascript/src/index.js')
      const tokens = ['stale', ${JSON.stringify(cloud.token('ada'))}]
      const aptix = new Aptix({
        baseUrl: ${JSON.stringify(flakyProxy.url)},
        token: () => tokens.length > 1 ? tokens.shift() : tokens[0],
        resumeStore: localStorage,
        retry: { initialBackoffMs: 5, maxRetries: 100 },
      })
      const session = aptix.session(undefined, { agent: 'workspace' })
      const ran = []
      const files = [new File(['dropped'], 'notes.txt', { type: 'text/plain' })]
      const turn = session.send(${JSON.stringify(String(instruction))}, { files, tools: { workspace_read_file: ({ path }) => void ran.push(path) } })
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
      return { text, ran, retries, storedItems: localStorage.length, isListed: listed.includes(session.id), AgentAnswerSummary }
    })()`)
    flakyProxy.end()
    const text = `🦀 ${Array.from({ length: 40 }, (_, n) => `word${n + 1}`).join(' ')}`
    assert.deepEqual({ ...outcome, retries: outcome.retries > 0 }, {
      text,
      ran: ['ü'],
      retries: true,
      storedItems: 0,
      isListed: true,
      AgentAnswerSummary: text,
    })
  })

  test('request with headers of other libraries passes the preflight', async () => {
    await page.visit(`${files.url}none.html`)
    const headers = {
      authorization: `Bearer ${cloud.token('ada')}`,
      baggage: 'a=b',
      'cache-control': 'no-cache',
      'sentry-trace': '0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      'user-agent': 'ai/7.0.173',
      'x-requested-with': 'XMLHttpRequest',
      'x-stainless-custom-poll-interval': '1',
    }
    const url = `${cloud.api}/api/ai/agent/sessions`
    const outcome = await page.run(`fetch(${JSON.stringify(url)}, { headers: ${JSON.stringify(headers)} }).then(({ status }) => status, String)`)
    assert.equal(outcome, 200)
  })

  const answer = `[...document.querySelectorAll('article.answer')].at(-1)?.textContent`
  const send = async (/** @type {unknown} */ text) => {
    await page.run(`(() => {
      const form = document.getElementById('message-form')
      form.text.value = ${JSON.stringify(String(text))}
      form.requestSubmit(form.send)
    })()`)
  }

  test('single-file page holds conversation and restores it after reload', async () => {
    await page.visit(`${files.url}examples/page/`)
    await page.run(`(() => {
      const form = document.getElementById('connect-form')
      form.url.value = ${JSON.stringify(cloud.api)}
      form.token.value = ${JSON.stringify(cloud.token('ada'))}
      form.requestSubmit()
    })()`)
    await page.until(`!document.getElementById('message-form').hidden`)
    const visible = await page.run(`[...document.forms].map((form) => form.checkVisibility())`)
    assert.deepEqual(visible, [false, true])
    await send(script().say('<b>Hello</b> & welcome.'))
    await page.until(`${answer} === '<b>Hello</b> & welcome.'`)
    assert.equal(await page.run(`document.querySelector('article b')`), null, 'text is not parsed as markup')
    await send(script().pace(20).words(500))
    await page.until(`${answer}?.startsWith('word1 word2')`)
    // Reload during an answer.
    await page.reload()
    await page.until(`${answer}?.startsWith('word1 word2')`)
    assert.equal(await page.run(`document.querySelector('article.answer').textContent`), '<b>Hello</b> & welcome.')
    await page.run(`document.getElementById('message-form').stop.click()`)
    await page.until(`${answer}?.endsWith('(stopped)')`)
    await send(script().call('workspace_read_file', { path: 'a' }).afterTools().echo())
    await page.until(`${answer}?.includes('There is no such tool in this turn')`)
    assert.deepEqual(page.errors, [])
  })

  const isBuilt = existsSync(new URL('../../../examples/react-chat/bundle.js', import.meta.url))

  test('React chat runs tools, stops and resumes after reload', { skip: !isBuilt && 'bundle.js is not built' }, async () => {
    page.errors.length = 0
    const connect = async () => {
      await page.until(`!!document.getElementById('connect-form')`)
      await page.run(`(() => {
        const form = document.getElementById('connect-form')
        form.baseUrl.value = ${JSON.stringify(cloud.api)}
        form.token.value = ${JSON.stringify(cloud.token('ada'))}
        form.requestSubmit()
      })()`)
      await page.until(`!!document.getElementById('message-form')`)
    }
    const newest = `[...document.querySelectorAll('article.assistant')].at(-1)?.textContent`
    const sendMessage = (/** @type {unknown} */ text) =>
      page.run(`(() => {
        const form = document.getElementById('message-form')
        form.text.value = ${JSON.stringify(String(text))}
        form.requestSubmit()
      })()`)
    const idle = `!document.querySelector('#message-form button').disabled`

    await page.visit(`${files.url}examples/react-chat/`)
    await connect()
    const instruction = script().say('Looking. ').call('workspace_read_file', { path: 'a.txt' }).afterTools().say('<i>Done.</i> **Well.** ![dot](https://a.b/x.png)')
    await sendMessage(instruction)
    await page.until(`${newest}?.endsWith('Well. dot') && ${idle}`)
    assert.equal(await page.run(newest), 'workspace_read_file a.txta.txt is not in the folder<i>Done.</i> Well. dot')
    assert.deepEqual(await page.run(`['strong', 'i', 'img'].map((name) => document.querySelectorAll('article ' + name).length)`), [1, 0, 0])
    await sendMessage(script().pace(20).words(400))
    await page.until(`${newest}?.startsWith('word1 word2')`)
    await page.reload()
    await connect()
    await page.until(`${newest}?.startsWith('word1 word2')`)
    assert.equal(await page.run(`document.querySelectorAll('article').length`), 4)
    await page.run(`document.querySelector('#message-form button[type=button]').click()`)
    await page.until(idle)
    await sendMessage(script().say('Next.'))
    await page.until(`${newest} === 'Next.' && ${idle}`)
    await sendMessage(script().status(401))
    await page.until(`!!document.querySelector('[role=alert]')`)
    assert.deepEqual(page.errors, [])
  })
})
