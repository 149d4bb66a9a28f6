/** The console's pages in headless Chromium, served by a local cloud as they are. */

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'

import { skip as noBrowser } from '../../javascript/test/chromium.js'
import { Cloud, skip as noCloud } from '../../javascript/test/cloud.js'
import { script, MockModel } from '../../javascript/src/testing.js'
import { Console, idle, newest } from './pages.js'

/** @type {Cloud} */
let cloud
/** @type {Console} */
let shown

const answer = `${newest}?.querySelector('.answer').textContent`

suite('the pages of the console', { skip: noCloud || noBrowser }, () => {
  before(async () => {
    ;[cloud, shown] = await Promise.all([Cloud.start(), Console.open()])
    const costly = {
      Kind: 'conversation',
      Id: 'traced',
      Name: 'Traced',
      System: 'You help.',
      StoreRawPayloads: true,
      Prices: { PromptPerMillion: '1', CompletionPerMillion: '2', Currency: 'USD' },
    }
    cloud.contexts([{ Kind: 'agent', Id: 'tracer', Name: 'Tracer', DefaultConversationContextId: 'traced' }, costly])
  })
  after(async () => {
    await Promise.all([shown?.end(), cloud?.end()])
  })

  test('sessions are found, renamed, deleted and restored, and tell what they cost', async () => {
    const { page } = shown
    const session = cloud.client().session(undefined, { agent: 'tracer' })
    await session.send(script().say('A costly answer.')).final()
    await shown.visit(cloud.api, '#/sessions')
    await page.until(`document.querySelectorAll('.list tbody tr').length >= 1`)
    const tops = await page.run(`['span', 'input, select'].map((part) => {
      const of = [...document.querySelectorAll('.filters > label')].map((one) => one.querySelector(part).getBoundingClientRect())
      const first = document.querySelector('.filters > label').getBoundingClientRect().top
      const rows = Map.groupBy(of, (box) => Math.round((box.top - first) / 50))
      return [...rows.values()].map((row) => new Set(row.map((box) => box.top)).size)
    })`)
    assert.ok(tops.flat().every((/** @type {number} */ places) => places === 1), 'labels and fields of a row stand in line')
    const mine = `[...document.querySelectorAll('.list tbody tr')].find((row) => row.querySelector('a').hash.endsWith('${session.id}'))`
    await page.until(`${mine}?.textContent.includes('USD')`)
    const name = await page.run(`${mine}.querySelector('a').textContent`)
    await shown.press(`Rename ${name}`)
    await page.run(`document.querySelector('dialog input').value = 'The milk'`)
    await page.run(`document.querySelector('dialog form').requestSubmit()`)
    await page.until(`!document.querySelector('dialog') && ${mine}?.textContent.includes('The milk')`)
    await page.run(
      `(() => { const form = document.querySelector('form.filters'); form.text.value = 'MILK'; form.requestSubmit() })()`,
    )
    await page.until(
      `document.querySelectorAll('.list tbody tr').length === 1 && document.querySelector('.list mark').textContent === 'milk'`,
    )
    await shown.press('Delete The milk')
    await page.until(`document.querySelector('dialog')?.open`)
    await shown.press('Delete', 'dialog')
    await page.until(
      `document.querySelectorAll('.list tbody tr').length === 0 && document.body.textContent.includes('No session is like that.')`,
    )
    await page.run(`document.querySelector('[name=deleted]').click()`)
    await shown.press('Restore The milk')
    await page.until(`${mine} && !${mine}.textContent.includes('deleted')`)
    assert.equal((await session.read()).Name, 'The milk')
  })

  test('a trace shows the rounds, and what was asked and answered beside the round before', async () => {
    const { page } = shown
    const session = cloud.client().session(undefined, { agent: 'tracer' })
    await session.send(script().say('One.')).final()
    const turn = session.send(script().say('Looking.').call('agent_list_modes').afterTools().say('Two.'))
    await turn.final()
    const until = async () => (await session.turn(turn.id)).Status.Id === 'completed'
    while (!(await until())) await new Promise((wait) => setTimeout(wait, 100))
    await shown.visit(cloud.api, `#/trace/${session.id}/${turn.id}`)
    const last = `[...document.querySelectorAll('.step')].at(-1)`
    await page.until(`${last}?.textContent.includes('Round 2')`)
    const text = await page.run(`document.querySelector('main').innerText.toLowerCase()`)
    for (const part of ['turn 2', 'completed', 'usd', 'the answer']) assert.ok(text.includes(part), part)
    const step = (/** @type {number} */ round) => `document.querySelectorAll('.step')[${round - 1}]`
    assert.equal(await page.run(`document.querySelectorAll('.step').length`), 2, 'both rounds of the turn')
    await page.run(`document.querySelectorAll('.step details').forEach((one) => (one.open = true))`)
    const payload = (/** @type {number} */ round, /** @type {number} */ at) =>
      page.run(`${step(round)}.querySelectorAll('.payload')[${at}].textContent`)
    for (const round of [1, 2]) await page.until(`${step(round)}.querySelectorAll('.payload').length === 2`)
    assert.doesNotMatch(await payload(1, 0), /function_call_output/)
    assert.match(await payload(1, 1), /agent_list_modes/)
    assert.match(await payload(2, 0), /function_call_output/)
    assert.match(await payload(2, 1), /Two\./)
    for (const [round, against] of [[1, 'the turn before'], [2, 'the round before']]) {
      const it = step(Number(round))
      assert.ok(await page.run(`${it}.querySelector('label.check').textContent.includes('${against}')`))
      await page.run(`${it}.querySelector('[type=checkbox]').click()`)
      await page.until(`[...${it}.querySelectorAll('.payload')].every((one) => one.querySelector('ins'))`)
    }
    // Beside each other: what the round before was asked and answered is marked as gone.
    const gone = (/** @type {number} */ at) =>
      page.run(`[...${step(2)}.querySelectorAll('.payload')[${at}].querySelectorAll('del')].map((one) => one.textContent).join('')`)
    assert.match(await gone(1), /agent_list_modes/)
    assert.deepEqual(await shown.violations(), [])
    await shown.press('Copy the turn as curl')
    assert.deepEqual(page.complaints, [])
  })

  test('a trace shows all of a long value when it is asked to', async () => {
    const { page } = shown
    const session = cloud.client().session(undefined, { agent: 'tracer' })
    const path = `${'long/'.repeat(5_000)}end`
    const tools = { workspace_read_file: () => ({ text: 'short' }) }
    const turn = session.send(script().call('workspace_read_file', { path }).afterTools().say('Read.'), { tools })
    await turn.final()
    await shown.visit(cloud.api, `#/trace/${session.id}/${turn.id}`)
    const shownArguments = `document.querySelector('.calls pre').textContent`
    await page.until(`document.querySelectorAll('.step').length === 2`)
    assert.ok(!(await page.run(shownArguments)).includes('/end'), 'a head')
    await shown.press('Show all of it')
    await page.until(`${shownArguments}.includes('/end')`)
    assert.equal(await page.run(`[...document.querySelectorAll('button')].some((one) => one.textContent === 'Show all of it')`), false)
  })

  test('the page of the machine tells of processes, queues, logs and who asks', async () => {
    const { page } = shown
    await shown.visit(cloud.api, '#/local')
    await page.until(`document.querySelector('.log').textContent.length > 100`)
    const text = await page.run(`document.querySelector('main').innerText`)
    for (const part of ['session-read', 'finalize', 'dead letters', 'custom:org', 'acme', 'DynamoDB'])
      assert.ok(text.includes(part), part)
  })

  test('a context is listed, edited, refused with every fault, and tried', async () => {
    const { page } = shown
    await shown.visit(cloud.api, '#/agents')
    await page.until(
      `[...document.querySelectorAll('.choice')].map((one) => one.textContent).join() === 'Traceragent · tracer,Tracedconversation · traced'`,
    )
    const write = (/** @type {unknown} */ context) =>
      page.run(`document.querySelector('.source').value = ${JSON.stringify(JSON.stringify(context))}`)
    await write({ Kind: 'conversation', Id: 'brief', Name: 7, System: 'You are brief.', Temperature: 9 })
    await shown.press('Save')
    await page.until(`document.querySelector('#faults [role=alert]')?.textContent.includes('Name')`)
    await write({ Kind: 'conversation', Id: 'brief', Name: 'Brief', System: 'You are brief.' })
    await shown.press('Save')
    await page.until(
      `document.querySelectorAll('.choice').length === 3 && document.querySelector('.choice[aria-pressed=true]').textContent.includes('brief')`,
    )
    await shown.press('Try')
    await page.until(
      `location.hash.endsWith('/new') && [...document.querySelectorAll('.contexts input')].at(-1)?.value === 'brief'`,
    )
    await shown.say(script().say('Short.'))
    await page.until(`${answer} === 'Short.' && ${idle}`)
    const { requests } = await new MockModel(cloud.model).asked()
    assert.ok(JSON.stringify(requests.at(-1)?.body).includes('You are brief.'))
  })

  test('a script is put together, run, stopped, and taken to the chat', async () => {
    const { page } = shown
    await shown.visit(cloud.api, '#/playground')
    await page.run(`document.querySelector('.source').value = 'say "One. "'`)
    await shown.press('+ words')
    await shown.press('Run')
    await page.until(
      `document.querySelector('.answer').textContent.endsWith('word100') && document.querySelector('.events').textContent.includes('result')`,
    )
    await page.run(`document.querySelector('.source').value = 'pace 30ms\\nwords 900'`)
    await shown.press('Run')
    await page.until(`document.querySelector('.answer').textContent.startsWith('word1 word2')`)
    await shown.press('Stop')
    await page.until(`document.querySelector('.events').textContent.includes('stopped')`)
    await shown.press('In the chat')
    await page.until(`document.querySelector('.composer textarea')?.value === '[[script: pace 30ms; words 900]]'`)
    assert.deepEqual(page.complaints, [])
  })

  test('the page of the document tries a request with the token of the console', async () => {
    const { page } = shown
    await page.visit(`${cloud.api}/docs#listSessions`)
    const form = `document.querySelector('#listSessions form.try')`
    await page.run(`[...document.querySelectorAll('#listSessions > details')].at(-1).open = true`)
    await page.until(`!!${form}`)
    await page.run(`(() => { ${form}.pageSize.value = '1'; ${form}.requestSubmit() })()`)
    await page.until(`${form}.querySelector('output').textContent.includes('"Successful": true')`)
    assert.match(await page.run(`${form}.querySelector('output').textContent`), /200 .*"PageSize": 1/s)
    assert.deepEqual(page.complaints, [])
  })

  test('the console of a deployment calls with the token of its environment, or with one that is typed in', async (context) => {
    const { page } = shown
    const given = await cloud.console(cloud.token('ada'))
    // Whatever fails: what is not ended is waited for.
    context.after(given.end)
    await shown.visit(given.url)
    await shown.say(script().say('From elsewhere.'))
    await page.until(`${answer} === 'From elsewhere.'`)
    assert.equal(await page.run(`[...document.querySelectorAll('nav a')].map((a) => a.textContent).join()`), 'Chat,Sessions')
    const typed = await cloud.console()
    context.after(typed.end)
    await page.visit(`${typed.url}/`)
    await page.until(`document.querySelector('dialog')?.open`)
    assert.deepEqual(await shown.violations(), [])
    await page.run(`(() => {
      const form = document.querySelector('dialog form')
      form.token.value = ${JSON.stringify(cloud.token('grace'))}
      form.requestSubmit()
    })()`)
    await page.until(`document.getElementById('who').textContent.includes('grace')`)
    await shown.say(script().say('Typed.'))
    await page.until(`${answer} === 'Typed.'`)
    assert.deepEqual(page.complaints, [])
  })

  test('whoever is somebody else sees what that one may see', async () => {
    const { page } = shown
    await shown.visit(cloud.api, '#/sessions')
    await page.run(`document.getElementById('who').click()`)
    await page.run(
      `(() => { const form = document.querySelector('dialog form'); form.Org.value = 'other'; form.User.value = 'eve'; form.Operator.checked = false; form.requestSubmit() })()`,
    )
    await page.until(
      `document.getElementById('who').textContent.includes('eve · other') && document.body.textContent.includes('No session is like that.')`,
    )
    await page.run(`sessionStorage.clear()`)
  })

  test('pages are reached and dialogs are left by keyboard', async () => {
    const { page } = shown
    await shown.visit(cloud.api, '#/local')
    await page.run(`document.querySelector('.skip').focus()`)
    await page.press('Enter', '\r')
    assert.equal(await page.run(`document.activeElement.id`), 'main')
    assert.ok(await page.run(`location.hash`), 'the skip link leads to the content of the same page')
    await shown.visit(cloud.api, '#/chat')
    await page.until(`document.activeElement.matches('.composer textarea')`)
    await page.run(`document.getElementById('who').focus()`)
    await page.press('Enter', '\r')
    await page.until(
      `document.querySelector('dialog')?.open && document.querySelector('dialog').contains(document.activeElement)`,
    )
    await page.press('Escape')
    await page.until(`!document.querySelector('dialog') && document.activeElement.id === 'who'`)
  })

  test('axe finds nothing on any page, dark and light, and a telephone is wide enough', async () => {
    const { page } = shown
    const session = cloud.client().session(undefined, { agent: 'tracer' })
    const all =
      '# A title\n\n- one\n- two\n\n> quote\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n`code` and [link](https://example.com)\n\n```rust\nfn main() {}\n```\n\n```rust\nlet a;\n```'
    const turn = session.send(script().say(all))
    await turn.final()
    await session
      .send(script().status(401))
      .final()
      .catch(() => {})
    await session.send(script().call('workspace_read_file', { path: 'a' })).final()
    const pages = [
      `#/chat/${session.id}`,
      '#/sessions',
      `#/trace/${session.id}/${turn.id}`,
      '#/agents',
      '#/playground',
      '#/local',
    ]
    for (const scheme of /** @type {const} */ (['light', 'dark'])) {
      for (const hash of pages) {
        await page.show({ scheme })
        await shown.visit(cloud.api, hash)
        await page.until(`!document.body.innerText.includes('Reading the turn.') && document.body.innerText.length > 300`)
        assert.deepEqual(await shown.violations(), [], `${hash}, ${scheme}`)
        await page.show({ width: 360, height: 740, scheme })
        assert.deepEqual(await shown.violations(), [], `${hash}, ${scheme}, 360 wide`)
        assert.ok((await shown.excess) <= 0, `${hash} is ${await shown.excess} too wide`)
      }
      await page.show({ scheme })
      await page.visit(`${cloud.api}/docs`)
      await page.until(`document.querySelectorAll('section').length > 50`)
      assert.deepEqual(await shown.violations(), [], `/docs, ${scheme}`)
      await page.show({ width: 360, height: 740, scheme })
      assert.ok((await shown.excess) <= 0, `/docs is ${await shown.excess} too wide`)
    }
    await page.show({})
    assert.deepEqual(page.complaints, [])
  })
})
