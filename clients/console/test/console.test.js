/** Browser tests of the console's pages, served by a local cloud. */

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'

import { skip as noBrowser } from '../../javascript/test/chromium.js'
import { Cloud, skip as noCloud } from '../../javascript/test/cloud.js'
import { script, MockModel } from '../../javascript/src/testing.js'
import { ConsolePage, isIdle, newestTurn } from './pages.js'

/** @type {Cloud} */
let cloud
/** @type {ConsolePage} */
let ui

const answer = `${newestTurn}?.querySelector('.answer').textContent`

suite('console pages', { skip: noCloud || noBrowser }, () => {
  before(async () => {
    ;[cloud, ui] = await Promise.all([Cloud.start(), ConsolePage.open()])
    ui.key = cloud.consoleKey
    const costly = {
      Kind: 'conversation',
      Id: 'traced',
      Name: 'Traced',
      System: 'You help.',
      StoreRawPayloads: true,
      Prices: { PromptPerMillion: '1', CompletionPerMillion: '2', Currency: 'USD' },
    }
    const parameters = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'], additionalProperties: false }
    const reads = { Name: 'workspace_read_file', Description: 'Reads a file.', Parameters: parameters, ExecutedBy: 'client' }
    const tracer = { Kind: 'agent', Id: 'tracer', Name: 'Tracer', DefaultConversationContextId: 'traced', ClientTools: [reads] }
    cloud.contexts([tracer, costly])
  })
  after(async () => {
    await Promise.all([ui?.end(), cloud?.end()])
  })

  test('sessions page finds, renames, deletes, restores and shows costs', async () => {
    const { page } = ui
    const session = cloud.client().session(undefined, { agent: 'tracer' })
    await session.send(script().say('A costly answer.')).final()
    await ui.visit(cloud.api, '#/sessions')
    await page.until(`document.querySelectorAll('.list tbody tr').length >= 1`)
    const tops = await page.run(`['span', 'input, select'].map((part) => {
      const of = [...document.querySelectorAll('.filters > label')].map((element) => element.querySelector(part).getBoundingClientRect())
      const first = document.querySelector('.filters > label').getBoundingClientRect().top
      const rows = Map.groupBy(of, (box) => Math.round((box.top - first) / 50))
      return [...rows.values()].map((boxes) => new Set(boxes.map((box) => box.top)).size)
    })`)
    assert.ok(tops.flat().every((/** @type {number} */ places) => places === 1), 'labels and fields of a row are aligned')
    const row = `[...document.querySelectorAll('.list tbody tr')].find((tr) => tr.querySelector('a').hash.endsWith('${session.id}'))`
    await page.until(`${row}?.textContent.includes('USD')`)
    const name = await page.run(`${row}.querySelector('a').textContent`)
    await ui.press(`Rename ${name}`)
    await page.run(`document.querySelector('dialog input').value = 'The milk'`)
    await page.run(`document.querySelector('dialog [name=category]').value = 'dairy'`)
    await page.run(`document.querySelector('dialog form').requestSubmit()`)
    await page.until(`!document.querySelector('dialog') && ${row}?.textContent.includes('The milk')`)
    await page.run(
      `(() => { const form = document.querySelector('form.filters'); form.text.value = 'MILK'; form.requestSubmit() })()`,
    )
    await page.until(
      `document.querySelectorAll('.list tbody tr').length === 1 && document.querySelector('.list mark').textContent === 'milk'`,
    )
    const categories = (/** @type {string} */ category) =>
      `(() => { const form = document.querySelector('form.filters'); form.category.value = '${category}'; form.requestSubmit() })()`
    await page.run(categories('cheese'))
    await page.until(`document.body.textContent.includes('No sessions match.')`)
    await page.run(categories('dairy'))
    await page.until(`${row}?.querySelector('.tag').textContent === 'dairy'`)
    await page.run(categories(''))
    await page.until(`${row}?.textContent.includes('The milk')`)
    await ui.press('Delete The milk')
    await page.until(`document.querySelector('dialog')?.open`)
    await ui.press('Delete', 'dialog')
    await page.until(
      `document.querySelectorAll('.list tbody tr').length === 0 && document.body.textContent.includes('No sessions match.')`,
    )
    await page.run(`document.querySelector('[name=deleted]').click()`)
    await ui.press('Restore The milk')
    await page.until(`${row} && !${row}.textContent.includes('deleted')`)
    assert.equal((await session.read()).Name, 'The milk')
  })

  test('session is made private and shown to the org in list and chat', async () => {
    const { page } = ui
    const session = cloud.client().session()
    await session.send(script().say('For me alone.')).final()
    await session.update({ name: 'Switched' })
    await ui.visit(cloud.api, '#/sessions')
    const row = `[...document.querySelectorAll('.list tbody tr')].find((tr) => tr.querySelector('a').hash.endsWith('${session.id}'))`
    await ui.press('Make private: Switched')
    await ui.press('Make private', 'dialog')
    await page.until(`!!${row}?.querySelector('[aria-label=Private]') && !document.querySelector('dialog')`)
    assert.equal((await session.read()).Visibility, 'participants')
    assert.deepEqual(await ui.violations(), [])
    await ui.visit(cloud.api, `#/chat/${session.id}`)
    await page.until(`!!document.querySelector('.head [aria-label=Private]') && !!document.querySelector('.sidebar .current [aria-label=Private]')`)
    await ui.press('Show to the org')
    await ui.press('Show to the org', 'dialog')
    await page.until(`!document.querySelector('[aria-label=Private]') && !document.querySelector('dialog')`)
    assert.equal((await session.read()).Visibility, 'org')
    assert.deepEqual(page.errors, [])
  })

  test('trace shows rounds and diffs raw payloads with previous round', async () => {
    const { page } = ui
    const session = cloud.client().session(undefined, { agent: 'tracer' })
    await session.send(script().say('One.')).final()
    const turn = session.send(script().say('Looking.').call('agent_list_modes').afterTools().say('Two.'))
    await turn.final()
    const until = async () => (await session.turn(turn.id)).Status.Id === 'completed'
    while (!(await until())) await new Promise((wait) => setTimeout(wait, 100))
    await ui.visit(cloud.api, `#/trace/${session.id}/${turn.id}`)
    const last = `[...document.querySelectorAll('.step')].at(-1)`
    await page.until(`${last}?.textContent.includes('Round 2')`)
    const text = await page.run(`document.querySelector('main').innerText.toLowerCase()`)
    for (const part of ['turn 2', 'completed', 'usd', 'tool calls', 'answer']) assert.ok(text.includes(part), part)
    const step = (/** @type {number} */ round) => `document.querySelectorAll('.step')[${round - 1}]`
    assert.equal(await page.run(`document.querySelectorAll('.step').length`), 2, 'both rounds of the turn')
    await page.run(`document.querySelectorAll('.step details').forEach((element) => (element.open = true))`)
    const payload = (/** @type {number} */ round, /** @type {number} */ at) =>
      page.run(`${step(round)}.querySelectorAll('.payload')[${at}].textContent`)
    for (const round of [1, 2]) await page.until(`${step(round)}.querySelectorAll('.payload').length === 2`)
    assert.doesNotMatch(await payload(1, 0), /function_call_output/)
    assert.match(await payload(1, 1), /agent_list_modes/)
    assert.match(await payload(2, 0), /function_call_output/)
    assert.match(await payload(2, 1), /Two\./)
    for (const [round, against] of [[1, 'the previous turn'], [2, 'the previous round']]) {
      const section = step(Number(round))
      assert.ok(await page.run(`${section}.querySelector('label.checkbox').textContent.includes('${against}')`))
      await page.run(`${section}.querySelector('[type=checkbox]').click()`)
      await page.until(`[...${section}.querySelectorAll('.payload')].every((element) => element.querySelector('ins'))`)
    }
    // Lines that only the previous round has are marked as removed.
    const removed = (/** @type {number} */ at) =>
      page.run(`[...${step(2)}.querySelectorAll('.payload')[${at}].querySelectorAll('del')].map((element) => element.textContent).join('')`)
    assert.match(await removed(1), /agent_list_modes/)
    assert.deepEqual(await ui.violations(), [])
    await ui.press('Copy as curl')
    assert.deepEqual(page.errors, [])
  })

  test('sources are shown in chat and trace', async (context) => {
    const { page } = ui
    // An index needs a vector database, so the page gets the chunks of a turn from here.
    const chunk = { ChunkId: 'c', Path: 'docs/leases.md', StartLine: 3, EndLine: 9, ContentHash: 'h', Score: 0.5 }
    const source = `{
      const send = window.fetch
      window.fetch = async (...request) => {
        const response = await send(...request)
        if (!/\\/turns\\/[^/]+$/.test(new URL(response.url).pathname)) return response
        const body = await response.json()
        body.Result.ChunkRefs = [${JSON.stringify(chunk)}]
        return new Response(JSON.stringify(body), { status: response.status, headers: response.headers })
      }
    }`
    const { identifier } = await page.send('Page.addScriptToEvaluateOnNewDocument', { source })
    context.after(() => page.send('Page.removeScriptToEvaluateOnNewDocument', { identifier }))
    await ui.visit(cloud.api)
    await ui.send(script().say('A lease.'))
    const text = `document.querySelector('.sources')?.textContent`
    await page.until(`${text} === 'Sources (1)docs/leases.md lines 3 to 9, score 0.500'`)
    await page.run(`location.hash = document.querySelector('.turn footer a').getAttribute('href')`)
    await page.until(`document.querySelector('.timeline')?.textContent.includes('Preparation and retrieval')`)
    assert.match(await page.run(text), /docs\/leases\.md/)
    assert.deepEqual(await ui.violations(), [])
    assert.deepEqual(page.errors, [])
  })

  test('trace loads full text of truncated value on request', async () => {
    const { page } = ui
    const session = cloud.client().session(undefined, { agent: 'tracer' })
    const path = `${'long/'.repeat(5_000)}end`
    const tools = { workspace_read_file: () => ({ text: 'short' }) }
    const turn = session.send(script().call('workspace_read_file', { path }).afterTools().say('Read.'), { tools })
    await turn.final()
    await ui.visit(cloud.api, `#/trace/${session.id}/${turn.id}`)
    const shownArguments = `document.querySelector('.calls pre').textContent`
    await page.until(`document.querySelectorAll('.step').length === 2`)
    assert.ok(!(await page.run(shownArguments)).includes('/end'), 'the value is truncated')
    await ui.press('Show all')
    await page.until(`${shownArguments}.includes('/end')`)
    assert.equal(await page.run(`[...document.querySelectorAll('button')].some((button) => button.textContent === 'Show all')`), false)
  })

  test('local page shows processes, queues, logs and token claims', async () => {
    const { page } = ui
    await ui.visit(cloud.api, '#/local')
    await page.until(`document.querySelector('.log').textContent.length > 100`)
    const text = await page.run(`document.querySelector('main').innerText`)
    for (const part of ['session-read', 'finalize', 'dead letters', 'custom:org', 'acme', 'DynamoDB'])
      assert.ok(text.includes(part), part)
    const lines = `[...document.querySelectorAll('.log details')]`
    const filter = (/** @type {string} */ text) =>
      page.run(`(() => { const field = document.querySelector('[type=search]'); field.value = ${JSON.stringify(text)}; field.dispatchEvent(new Event('input', { bubbles: true })) })()`)
    await filter('/API/ai/agent/execute')
    assert.ok(await page.run(`${lines}.length > 0 && ${lines}.every((line) => line.textContent.includes('/api/ai/agent/execute'))`))
    await page.run(`${lines}[0].querySelector('summary').click()`)
    await page.until(`${lines}[0].querySelector('pre')?.textContent.includes('"method": "POST"')`)
    await ui.press('Refresh')
    assert.equal(await page.run(`${lines}[0].open`), true)
    await filter('nothing has this text')
    assert.equal(await page.run(`document.querySelector('.log').textContent`), 'No line has this text.')
    assert.deepEqual(await ui.violations(), [])
  })

  test('usage page shows and downloads the usage of the organization', async () => {
    const { page } = ui
    await cloud.client().session().send(script().usage(100, 10).say('Counted.')).final()
    await ui.visit(cloud.api, '#/usage')
    const cells = `[...document.querySelectorAll('.usage tfoot :is(th, td)')].map((cell) => cell.textContent)`
    await page.until(`${cells}.length === 9`)
    const [name, turns] = await page.run(cells)
    assert.equal(name, 'Total')
    assert.ok(Number.parseInt(turns, 10) > 0, turns)
    await page.run(`(() => {
      const by = document.querySelector('[name=by]')
      by.value = 'user'
      by.dispatchEvent(new Event('change', { bubbles: true }))
    })()`)
    await page.until(`document.querySelector('.usage thead th')?.textContent === 'User' && document.querySelector('.usage tbody th').textContent === 'ada'`)
    assert.deepEqual(await ui.violations(), [])
    assert.equal(await ui.overflow, 0)
    await page.run(`window.saved = []; URL.createObjectURL = (file) => (window.saved.push(file), ''); HTMLAnchorElement.prototype.click = () => {}; true`)
    await ui.press('Download CSV')
    await page.until(`window.saved.length === 1`)
    assert.match(await page.run(`window.saved[0].text()`), /^Key,Turns,.*\r\n"ada",/)
    await page.run(`(() => {
      const from = document.querySelector('[name=from]')
      from.value = '2020-01-01'
      from.dispatchEvent(new Event('change', { bubbles: true }))
    })()`)
    await page.until(`document.querySelector('main [role=alert]')?.textContent.includes('from')`)
    assert.deepEqual(page.errors, [])
  })

  test('operations page abandons a turn that waits', async () => {
    const { page } = ui
    const session = cloud.client().session(undefined, { agent: 'tracer' })
    await session.send(`Wait ${script().call('workspace_read_file', { path: 'a' })}`).final()
    await ui.visit(cloud.api, '#/operations')
    const row = `[...document.querySelectorAll('.list tbody tr')].find((row) => row.querySelector('a')?.href.includes(${JSON.stringify(session.id)}))`
    await page.until(`${row}?.textContent.includes('waits for its client')`)
    assert.match(await page.run(`document.querySelector('.tiles').textContent`), /Wait for a client[1-9]/)
    assert.match(await page.run(`document.querySelector('.head [role=status]').textContent`), /^Read at /)
    assert.deepEqual(await ui.violations(), [])
    // Others see the turn, and no button that would fail.
    await page.run(`sessionStorage.setItem('aptix-console:identity', JSON.stringify({ Operator: false }))`)
    await ui.visit(cloud.api, '#/operations')
    await page.until(`${row}?.textContent.includes('waits for its client')`)
    assert.equal(await page.run(`${row}.querySelectorAll('button').length`), 0)
    await page.run(`sessionStorage.removeItem('aptix-console:identity')`)
    await ui.visit(cloud.api, '#/operations')
    await page.until(`!!${row}?.querySelector('button')`)
    await page.run(`[...${row}.querySelectorAll('button')].at(-1).click()`)
    await ui.press('Abandon', 'dialog')
    await page.until(`!${row} && !document.querySelector('dialog')`)
    const { value: turn } = await session.turns().next()
    assert.equal(turn?.StatusReason, 'abandoned')
    assert.deepEqual(page.errors, [])
  })

  test('agents page lists, validates, saves, restores and tries contexts', async () => {
    const { page } = ui
    await ui.visit(cloud.api, '#/agents/advanced')
    const choices = `[...document.querySelectorAll('.choice')].map((element) => element.textContent)`
    await page.until(`${choices}.includes('Traceragent · tracer') && ${choices}.includes('Tracedconversation · traced')`)
    assert.ok((await page.run(choices)).some((/** @type {string} */ choice) => choice.endsWith('agent · default · built in')))
    const before = await page.run(`${choices}.length`)
    const write = (/** @type {unknown} */ context) =>
      page.run(`(() => {
        const field = document.querySelector('.code-input')
        field.value = ${JSON.stringify(JSON.stringify(context))}
        field.dispatchEvent(new Event('input', { bubbles: true }))
      })()`)
    await write({ Kind: 'conversation', Id: 'brief', Name: 7, System: 'You are brief.', Temperature: 9 })
    await ui.press('Save')
    await page.until(`document.querySelector('#errors [role=alert]')?.textContent.includes('Name')`)
    await write({ Kind: 'conversation', Id: 'brief', Name: 'Brief', System: 'You are brief.' })
    await ui.press('Save')
    await page.until(
      `${choices}.length === ${before + 1} && document.querySelector('.choice[aria-pressed=true]')?.textContent.includes('brief')`,
    )
    const rows = `[...document.querySelectorAll('.versions strong')].map((element) => element.textContent).join()`
    await page.until(`${rows} === 'Version 1'`)
    await write({ Kind: 'conversation', Id: 'brief', Name: 'Wordy', System: 'You are wordy.' })
    await ui.press('Save')
    await page.until(`${rows} === 'Version 2,Version 1'`)
    await ui.press('Compare version 1')
    await page.until(`document.querySelector('.payload del')?.textContent.includes('Brief')`)
    assert.deepEqual(await ui.violations(), [])
    await ui.press('Roll back to version 1')
    await page.until(`${rows} === 'Version 3,Version 2,Version 1' && document.querySelector('.code-input').value.includes('You are brief.')`)
    await ui.press('Try')
    await page.until(
      `location.hash.endsWith('/new') && [...document.querySelectorAll('.contexts input')].at(-1)?.value === 'brief'`,
    )
    await ui.send(script().say('Short.'))
    await page.until(`${answer} === 'Short.' && ${isIdle}`)
    const { requests } = await new MockModel(cloud.model).requests()
    assert.ok(JSON.stringify(requests.at(-1)?.body).includes('You are brief.'))
  })

  test('text that is typed while a context is loaded is kept', async () => {
    const { page } = ui
    await ui.visit(cloud.api, '#/sessions')
    await page.run(`(() => {
      const send = window.fetch
      window.fetch = async (url, options) => {
        const response = await send(url, options)
        if (!/agent\\/(agents|conversation-contexts)\\/./.test(url)) return response
        await new Promise((resolve) => setTimeout(resolve, 300))
        window.loaded = true
        return response
      }
      location.hash = '#/agents/advanced'
    })()`)
    await page.until(`!!document.querySelector('.choice')`)
    await page.run(`(() => {
      const field = document.querySelector('.code-input')
      field.value = 'typed'
      field.dispatchEvent(new Event('input', { bubbles: true }))
    })()`)
    await page.until(`window.loaded`)
    await new Promise((resolve) => setTimeout(resolve, 100))
    assert.equal(await page.run(`document.querySelector('.code-input').value`), 'typed')
  })

  test('playground builds, runs and stops script and opens it in chat', async () => {
    const { page } = ui
    await ui.visit(cloud.api, '#/playground')
    await page.run(`document.querySelector('.code-input').value = 'say "One. "'`)
    await ui.press('+ words')
    await ui.press('Run')
    await page.until(
      `document.querySelector('.answer').textContent.endsWith('word100') && document.querySelector('.events').textContent.includes('result')`,
    )
    await page.run(`document.querySelector('.code-input').value = 'pace 30ms\\nwords 900'`)
    await ui.press('Run')
    await page.until(`document.querySelector('.answer').textContent.startsWith('word1 word2')`)
    await ui.press('Stop')
    await page.until(`document.querySelector('.events').textContent.includes('stopped')`)
    await ui.press('Open in chat')
    await page.until(`document.querySelector('.composer textarea')?.value === '[[script: pace 30ms; words 900]]'`)
    assert.deepEqual(page.errors, [])
  })

  test('playground completes a step, and names a line that is none', async () => {
    const { page } = ui
    await ui.visit(cloud.api, '#/playground')
    const type = (/** @type {string} */ text) =>
      page.run(`(() => {
        const field = document.querySelector('.code-input')
        field.focus()
        field.value = ${JSON.stringify(text)}
        field.setSelectionRange(field.value.length, field.value.length)
        field.dispatchEvent(new Event('input'))
      })()`)
    const help = `document.getElementById('step-help').textContent`
    await type('say "One."\nwo')
    assert.equal(await page.run(help), 'words 100 Outputs numbered words. Tab completes it.')
    await page.press('Tab')
    assert.equal(await page.run(`document.querySelector('.code-input').value`), 'say "One."\nwords 100')
    assert.equal(await page.run('document.activeElement.className'), 'code-input')
    await type('wrods 100')
    assert.equal(await page.run(help), 'Line 1: the mock model has no step wrods.')
    assert.deepEqual(await ui.violations(), [])
    await page.press('Tab')
    assert.notEqual(await page.run('document.activeElement.className'), 'code-input', 'Tab leaves a field without a step to complete')
  })

  test("docs page sends request with the console's token", async () => {
    const { page } = ui
    await page.visit(`${cloud.api}/docs#listSessions`)
    const form = `document.querySelector('#listSessions form.try')`
    assert.ok(await page.run(`document.querySelector('#listSessions .fold').open`), 'the linked operation is unfolded')
    await page.run(`document.querySelector('#listSessions .try-it').open = true`)
    await page.until(`!!${form}`)
    await page.run(`(() => { ${form}.pageSize.value = '1'; ${form}.requestSubmit() })()`)
    await page.until(`${form}.querySelector('output').textContent.includes('"Successful": true')`)
    assert.match(await page.run(`${form}.querySelector('output').textContent`), /200 .*"PageSize": 1/s)
    assert.deepEqual(page.errors, [])
  })

  test('docs page is folded, searchable, and its first form works', async () => {
    const { page } = ui
    await page.visit(`${cloud.api}/docs`)
    await page.until(`document.querySelectorAll('section').length > 50`)
    const height = await page.run('document.documentElement.scrollHeight')
    assert.ok(height < 8_000, `the page is ${height} px high`)
    assert.equal(await page.run(`document.querySelector('nav a').pathname`), '/', 'a link leads home')
    const search = (/** @type {string} */ text) =>
      page.run(`(() => {
        const field = document.querySelector('nav input[type=search]')
        field.value = ${JSON.stringify(text)}
        field.dispatchEvent(new Event('input'))
        return [...document.querySelectorAll('section')].filter((section) => section.checkVisibility()).map(({ id }) => id)
      })()`)
    const found = await search('cancel turn')
    assert.ok(found.includes('cancelTurn') && !found.includes('listSessions'), `${found}`)
    assert.ok((await search('delta')).includes('schema-StreamDelta'))
    assert.deepEqual(await search('xyzzy'), [])
    assert.ok((await search('')).length > 20)
    // The first operation, as it is.
    const form = `document.querySelector('section form.try')`
    await page.run(`document.querySelector('section .fold').open = true`)
    await page.run(`document.querySelector('section .try-it').open = true`)
    await page.until(`!!${form}`)
    await page.run(`${form}.requestSubmit()`)
    await page.until(`${form}.querySelector('output').textContent.includes('"Kind": "final"')`)
    // Its ids fill the next form.
    await page.run(`location.hash = '#readTurn'`)
    await page.until(`document.querySelector('#readTurn .fold').open`)
    await page.run(`document.querySelector('#readTurn .try-it').open = true`)
    await page.until(`!!document.querySelector('#readTurn form.try')?.SessionId.value`)
    await page.run(`document.querySelector('#readTurn form.try').requestSubmit()`)
    await page.until(`document.querySelector('#readTurn output').textContent.includes('200')`)
    assert.deepEqual(page.errors, [])
  })

  test('deployment console uses token from environment or from dialog', async (context) => {
    const { page } = ui
    const withToken = await cloud.console(cloud.token('ada'))
    // Also after a failure: the test runner waits for running processes.
    context.after(withToken.end)
    await ui.visit(withToken.url)
    await ui.send(script().say('From elsewhere.'))
    await page.until(`${answer} === 'From elsewhere.'`)
    assert.equal(await page.run(`[...document.querySelectorAll('nav a')].map((a) => a.textContent).join()`), 'Chat,Sessions,Approvals,Usage,Agents,Connections,Webhooks,Knowledge,Modes,Operations')
    const withDialog = await cloud.console()
    context.after(withDialog.end)
    await page.visit(withDialog.url)
    await page.until(`document.querySelector('dialog')?.open`)
    assert.deepEqual(await ui.violations(), [])
    await page.run(`(() => {
      const form = document.querySelector('dialog form')
      form.token.value = ${JSON.stringify(cloud.token('grace'))}
      form.requestSubmit()
    })()`)
    await page.until(`document.getElementById('identity').textContent.includes('grace')`)
    await ui.send(script().say('Typed.'))
    await page.until(`${answer} === 'Typed.'`)
    assert.deepEqual(page.errors, [])
  })

  test("switched user sees only that user's sessions", async () => {
    const { page } = ui
    await ui.visit(cloud.api, '#/sessions')
    await page.run(`document.getElementById('identity').click()`)
    await page.run(
      `(() => { const form = document.querySelector('dialog form'); form.Org.value = 'other'; form.User.value = 'eve'; form.Operator.checked = false; form.requestSubmit() })()`,
    )
    await page.until(
      `document.getElementById('identity').textContent.includes('eve · other') && document.body.textContent.includes('There are no sessions yet.')`,
    )
    await page.run(`sessionStorage.clear()`)
  })

  test('keyboard reaches pages and closes dialogs', async () => {
    const { page } = ui
    await ui.visit(cloud.api, '#/local')
    await page.run(`document.querySelector('.skip').focus()`)
    await page.press('Enter', '\r')
    assert.equal(await page.run(`document.activeElement.id`), 'main')
    assert.ok(await page.run(`location.hash`), 'the skip link leads to the content of the same page')
    await ui.visit(cloud.api, '#/chat')
    await page.until(`document.activeElement.matches('.composer textarea')`)
    await page.run(`document.getElementById('identity').focus()`)
    await page.press('Enter', '\r')
    await page.until(
      `document.querySelector('dialog')?.open && document.querySelector('dialog').contains(document.activeElement)`,
    )
    await page.press('Escape')
    await page.until(`!document.querySelector('dialog') && document.activeElement.id === 'identity'`)
  })

  test('pages have no axe violations and fit a phone, dark and light', async () => {
    const { page } = ui
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
      '#/usage',
      '#/agents/advanced',
      '#/connections',
      '#/knowledge',
      '#/modes',
      '#/operations',
      '#/playground',
      '#/local',
    ]
    for (const scheme of /** @type {const} */ (['light', 'dark'])) {
      for (const hash of pages) {
        await page.show({ scheme })
        await ui.visit(cloud.api, hash)
        await page.until(`!document.body.innerText.includes('Loading…') && document.body.innerText.length > 300`)
        assert.deepEqual(await ui.violations(), [], `${hash}, ${scheme}`)
        await page.show({ width: 360, height: 740, scheme })
        assert.deepEqual(await ui.violations(), [], `${hash}, ${scheme}, 360 wide`)
        assert.ok((await ui.overflow) <= 0, `${hash} is ${await ui.overflow} too wide`)
      }
      await page.show({ scheme })
      await page.visit(`${cloud.api}/docs`)
      await page.until(`document.querySelectorAll('section').length > 50`)
      assert.deepEqual(await ui.violations(), [], `/docs, ${scheme}`)
      await page.show({ width: 360, height: 740, scheme })
      assert.ok((await ui.overflow) <= 0, `/docs is ${await ui.overflow} too wide`)
    }
    await page.show({})
    assert.deepEqual(page.errors, [])
  })
})
