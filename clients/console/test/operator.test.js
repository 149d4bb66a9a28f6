/** Browser tests of what operators change in the console: budgets, and contexts in the form. */

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'

import { skip as noBrowser } from '../../javascript/test/chromium.js'
import { Cloud, skip as noCloud } from '../../javascript/test/cloud.js'
import { script } from '../../javascript/src/testing.js'
import { ConsolePage } from './pages.js'

/** @type {Cloud} */
let cloud
/** @type {ConsolePage} */
let ui

const dialog = `document.querySelector('dialog form')`

/**
 * Sets a field as a user does.
 * @param {string} field expression for the field
 * @param {string} value
 */
const set = (field, value) =>
  ui.page.run(`(() => {
    const field = ${field}
    field.value = ${JSON.stringify(value)}
    for (const type of ['input', 'change']) field.dispatchEvent(new Event(type, { bubbles: true }))
  })()`)

/**
 * Expression for the field of a member in the form of a context.
 * @param {string} path
 */
const member = (path) => `[...document.querySelectorAll('[data-path]')].find((element) => element.dataset.path === ${JSON.stringify(path)})?.querySelector('input, select, textarea')`
/** Opens all sections of the form of a context. */
const openSections = `document.querySelectorAll('.schema-form details').forEach((element) => (element.open = true))`
const source = `JSON.parse(document.querySelector('.code-input').value)`

/** Expression for the texts of the budgets. */
const rows = `[...document.querySelectorAll('.budgets > li')].map((row) => row.textContent)`

/**
 * Reads the usage page until a budget has this text: meters count a turn soon after its answer.
 * @param {string} text
 */
async function untilShown(text) {
  for (let tries = 0; tries < 100; tries += 1) {
    await ui.visit(cloud.api, '#/usage')
    await ui.page.until(`!!${rows}[0]`)
    if ((await ui.page.run(rows)).some((/** @type {string} */ row) => row.includes(text))) return
  }
  assert.fail(`no budget shows: ${text}`)
}

suite('console for operators', { skip: noCloud || noBrowser }, () => {
  before(async () => {
    ;[cloud, ui] = await Promise.all([Cloud.start(), ConsolePage.open()])
    ui.key = cloud.consoleKey
    const Prices = { PromptPerMillion: '100', CompletionPerMillion: '200', Currency: 'EUR' }
    cloud.contexts([
      { Kind: 'conversation', Id: 'priced', Name: 'Priced', System: 'You help.', Prices },
      { Kind: 'agent', Id: 'seller', Name: 'Seller', DefaultConversationContextId: 'priced', ClientTools: [] },
    ])
  })
  after(async () => {
    await Promise.all([ui?.end(), cloud?.end()])
  })

  test('budgets are added, shown with their use, changed and removed', async () => {
    const { page } = ui
    await ui.visit(cloud.api, '#/usage')
    await page.until(`document.querySelector('.budgets')?.textContent.includes('Nothing limits')`)
    const add = async (/** @type {Record<string, string>} */ values) => {
      await ui.press('Add a budget')
      for (const [name, value] of Object.entries(values)) await set(`${dialog}.elements.${name}`, value)
      assert.deepEqual(await ui.violations(), [])
      await page.run(`${dialog}.requestSubmit()`)
    }
    await add({ Id: 'daily', Limit: 'many', Window: 'day', Scope: 'user' })
    await page.until(`document.querySelector('dialog [role=alert]')?.textContent.includes('whole number')`)
    await set(`${dialog}.elements.Limit`, '20000')
    await page.run(`${dialog}.requestSubmit()`)
    await page.until(`!document.querySelector('dialog') && ${rows}[0]?.includes('Not used yet')`)
    await add({ Id: 'money', Limit: '1.2', Unit: 'money', Window: 'month', Scope: 'org', Currency: 'eur', Action: 'warn', Unpriced: 'allow' })
    await page.until(`${rows}[1]?.includes('0 %, 0 EUR')`)
    await cloud.client().session(undefined, { agent: 'seller' }).send(script().usage(9_000, 1_000).say('Counted.')).final()
    await untilShown('50 %, 10,000 tokens by ada')
    assert.match((await page.run(rows))[0], /daily20,000 tokens a day, each user.*resets/)
    assert.match((await page.run(rows))[1], /nearly used up: 1.1 EUR/)
    await add({ Id: 'daily', Limit: '1', Window: 'day' })
    await page.until(`document.querySelector('dialog [role=alert]')?.textContent.includes('Budgets[2].Id')`)
    await ui.cancel()

    // A change that somebody else made meanwhile isn't overwritten.
    const headers = { authorization: `Bearer ${cloud.token('root-operator')}` }
    assert.equal((await fetch(`${cloud.api}/api/ai/agent/budgets`, { headers })).status, 403, 'only operators read budgets')
    await ui.press('Edit the budget daily')
    await page.run(`(async () => {
      const { Connection } = await import('/console/connection.js')
      const connection = await Connection.open()
      const { Currency, Budgets } = await connection.read('api/ai/agent/budgets')
      await connection.send('PUT', 'api/ai/agent/budgets', JSON.stringify({ Currency, Budgets: Budgets.slice(1) }))
    })()`)
    await set(`${dialog}.elements.Limit`, '5000')
    await page.run(`${dialog}.requestSubmit()`)
    await page.until(`document.querySelector('dialog [role=alert]')?.textContent.includes('Somebody else') && ${rows}.length === 1`)
    await ui.cancel()

    await ui.press('Edit the budget money')
    assert.equal(await page.run(`${dialog}.elements.Limit.value`), '1.2')
    await set(`${dialog}.elements.Limit`, '0.5')
    await page.run(`${dialog}.requestSubmit()`)
    await page.until(`${rows}[0]?.includes('220 %, used up')`)
    assert.deepEqual(await ui.violations(), [])
    await page.show({ width: 360, height: 740, scheme: 'dark' })
    assert.deepEqual(await ui.violations(), [])
    assert.ok((await ui.overflow) <= 0)
    await page.show({})
    await ui.press('Remove the budget money')
    await ui.press('Remove', 'dialog')
    await page.until(`${rows}[0]?.includes('Nothing limits')`)
    assert.deepEqual(page.errors, [])
  })

  test('users see the budgets that limit each user, and change none', async () => {
    const { page } = ui
    const setBudgets = (/** @type {unknown[]} */ budgets) =>
      page.run(`(async () => {
        const { Connection } = await import('/console/connection.js')
        const connection = await Connection.open()
        await connection.send('PUT', 'api/ai/agent/budgets', ${JSON.stringify(JSON.stringify({ Budgets: budgets }))})
      })()`)
    await page.run(`sessionStorage.setItem('aptix-console:identity', JSON.stringify({ Operator: false }))`)
    await ui.visit(cloud.api, '#/usage')
    await page.until(`document.querySelectorAll('.usage tfoot td').length > 0`)
    assert.equal(await page.run(`document.querySelector('[aria-label=Budgets]').checkVisibility()`), false)
    await page.run(`sessionStorage.clear()`)
    await setBudgets([
      { Id: 'all', Scope: 'org', Window: 'day', Unit: 'turns', Limit: 1_000 },
      { Id: 'own', Scope: 'user', Window: 'day', Unit: 'turns', Limit: 1_000 },
    ])
    await page.run(`sessionStorage.setItem('aptix-console:identity', JSON.stringify({ Operator: false }))`)
    await ui.visit(cloud.api, '#/usage')
    await page.until(`${rows}.length === 1 && ${rows}[0].includes('own')`)
    const buttons = `[...document.querySelector('[aria-label=Budgets]').querySelectorAll('button')].filter((button) => button.checkVisibility()).length`
    assert.equal(await page.run(buttons), 0)
    assert.deepEqual(await ui.violations(), [])
    await page.run(`sessionStorage.clear()`)
    await setBudgets([])
    assert.deepEqual(page.errors, [])
  })

  test('charts show tokens, cost, turns and failures by day, split by agent', async () => {
    const { page } = ui
    await cloud.client().session().send(script().usage(990, 10).say('Another agent.')).final()
    await cloud
      .client()
      .session()
      .send(script().status(401))
      .final()
      .catch(() => {})
    const headings = `[...document.querySelectorAll('.chart h3')].map((heading) => heading.textContent).join()`
    const total = `document.querySelector('.chart .reading')?.textContent`
    // The usage has a turn soon after its answer.
    for (let tries = 0; tries < 100; tries += 1) {
      await ui.visit(cloud.api, '#/usage')
      await page.until(`!!${total}`)
      const isCounted = `${total} === '11,000 in all' && ${headings} === 'Tokens,Cost in EUR,Cost in USD,Turns,Turns without an answer,Model time of a turn'`
      if (await page.run(isCounted)) break
    }
    assert.equal(await page.run(headings), 'Tokens,Cost in EUR,Cost in USD,Turns,Turns without an answer,Model time of a turn')
    const tables = `[...document.querySelectorAll('.chart table')].map((table) => [...table.querySelectorAll('tr')].map((row) => [...row.children].map((cell) => cell.textContent)))`
    await page.run(`document.querySelectorAll('.chart details').forEach((element) => (element.open = true))`)
    const [tokens, cost] = await page.run(tables)
    assert.deepEqual([tokens[0], tokens[1][1], cost[1][1]], [['Day', 'all'], '11,000', '1.1 EUR'])
    await set(`document.querySelector('[name=by]')`, 'agent')
    await page.until(`[...document.querySelectorAll('.legend li')].map((item) => item.textContent).join() === 'seller,default'`)
    const [split, , , , failures, modelTime] = await page.run(tables)
    assert.deepEqual(modelTime[0], ['Day', 'all'], 'a mean is not split')
    assert.match(modelTime[1][1], /^[\d.]+ m?s$/)
    assert.match(await page.run(`[...document.querySelectorAll('.chart .reading')].at(-1).textContent`), /^[\d.]+ m?s on average$/)
    assert.match(await page.run(`document.querySelector('.usage tbody [data-label="Model time"]').textContent`), /^[\d.]+ m?s$/)
    assert.deepEqual([split[0], split[1].slice(1)], [['Day', 'seller', 'default', 'Total'], ['10,000', '1,000', '11,000']])
    assert.deepEqual([failures[0], failures[1][1]], [['Day', 'default'], '1'])
    // The stack of the only day has a part for each agent, in proportion.
    const parts = `[...document.querySelector('.chart').querySelectorAll('.stack span')].map((part) => part.getBoundingClientRect().height)`
    const [seller, other] = await page.run(parts)
    assert.ok(Math.abs(seller / other - 10) < 0.5, `${seller} and ${other} px`)
    assert.equal(await page.run(total), '11,000 in all')
    const times = `document.querySelector('[aria-label="Time of a turn"]')`
    await page.until(`${times}?.querySelectorAll('tbody tr').length >= 1`)
    assert.deepEqual(await page.run(`[...${times}.querySelectorAll('thead th')].map((cell) => cell.textContent)`), ['Model', 'Turns', '50 %', '90 %', 'Longest', 'Without a price'])
    const [fast, slow] = await page.run(`['50 %', '90 %'].map((label) => ${times}.querySelector('tbody tr:last-child [data-label="' + label + '"]').textContent)`)
    assert.match(`${fast} ${slow}`, /^[\d.]+ m?s [\d.]+ m?s$/)
    for (const scheme of /** @type {const} */ (['light', 'dark'])) {
      await page.show({ width: 390, height: 844, scheme })
      assert.deepEqual(await ui.violations(), [], scheme)
      assert.ok((await page.run(`document.querySelector('.usage caption').offsetHeight`)) < 60, 'the caption has the width of the table')
      assert.ok((await ui.overflow) <= 0)
    }
    await page.show({})
    assert.deepEqual(page.errors, [])
  })

  test('form and JSON of a context change each other', async () => {
    const { page } = ui
    await ui.visit(cloud.api, '#/agents/advanced')
    await page.until(`!!document.querySelector('.choice')`)
    await page.run(`[...document.querySelectorAll('.choice')].find((choice) => choice.dataset.key === 'conversation priced').click()`)
    await page.until(`${member('System')}?.value === 'You help.'`)
    await set(member('System'), 'You sell.')
    await set(member('MaxRounds'), '3')
    await set(member('PromptLimits.FileTokens'), '500')
    await set(member('ReasoningEffort'), 'low')
    await set(member('HistorySummary'), 'true')
    const { System, MaxRounds, PromptLimits, ReasoningEffort, HistorySummary } = await page.run(source)
    assert.deepEqual([System, MaxRounds, PromptLimits.FileTokens, ReasoningEffort, HistorySummary], ['You sell.', 3, 500, 'low', true])
    await set(member('PromptLimits.FileTokens'), '')
    assert.equal('FileTokens' in (await page.run(source)).PromptLimits, false, 'an empty field removes the member')
    await page.run(openSections)
    await ui.press('Add to Client tools')
    await set(member('ClientTools[0].Name'), 'shelf_read')
    await set(member('ClientTools[0].Description'), 'Reads a shelf.')
    await set(member('ClientTools[0].Parameters'), '{ "type": "object", "properties": {} , "additionalProperties": false }')
    assert.equal((await page.run(source)).ClientTools[0].ExecutedBy, 'client')
    await set(`document.querySelector('.code-input')`, JSON.stringify({ ...(await page.run(source)), Name: 'Changed' }))
    await page.until(`${member('Name')}.value === 'Changed'`)
    await set(`document.querySelector('.code-input')`, '{')
    assert.equal(await page.run(`document.querySelector('[aria-label=Form]').inert`), true, 'the form waits for valid JSON')
    assert.deepEqual(page.errors, [])
  })

  test('errors of a context are shown at their fields', async () => {
    const { page } = ui
    await ui.visit(cloud.api, '#/agents/advanced')
    await page.until(`!!${member('Name')}`)
    await ui.press('New conversation')
    await page.until(`${member('Id')}?.value === 'backend'`)
    await set(member('Temperature'), '9')
    await set(member('MaxRounds'), '0')
    await ui.press('Save')
    const error = (/** @type {string} */ path) => `[...document.querySelectorAll('[data-path]')].find((element) => element.dataset.path === ${JSON.stringify(path)})?.querySelector('.field-error')?.textContent`
    await page.until(`${error('Temperature')}?.includes('2') && ${error('MaxRounds')}?.includes('64')`)
    assert.equal(await page.run(`document.activeElement === ${member('Temperature')}`), true, 'the first field with an error has the focus')
    assert.deepEqual(await ui.violations(), [])
    await set(member('Temperature'), '')
    await set(member('MaxRounds'), '2')
    await ui.press('Save')
    await page.until(`document.querySelector('#errors .success') && !document.querySelector('.field-error')`)
    for (const scheme of /** @type {const} */ (['light', 'dark'])) {
      await page.show({ width: 390, height: 844, scheme })
      await page.run(openSections)
      assert.deepEqual(await ui.violations(), [], scheme)
      assert.ok((await ui.overflow) <= 0)
    }
    await page.show({})
    assert.deepEqual(page.errors, [])
  })

  test('dead letters are listed and redriven with a reason', async () => {
    const { page } = ui
    const letter = { Id: 'm-1', SentDate: '2026-11-01T10:00:00.000Z', Receives: 6, Org: 'acme', Session: 's1', Turn: 't1', Reason: 'its turn is settled and not finalized: redrive it' }
    const { identifier } = await page.send('Page.addScriptToEvaluateOnNewDocument', {
      source: `{
        const letters = [${JSON.stringify(letter)}]
        const send = window.fetch
        window.redriven = []
        window.fetch = async (url, options) => {
          const { pathname } = new URL(url, location.href)
          if (!pathname.startsWith('/console/api/dead-letters')) return send(url, options)
          if (options.method === 'POST') window.redriven.push(options.body, letters.pop())
          const Result = options.method === 'POST' ? { Count: 1 } : { Items: letters, Omitted: 0 }
          return new Response(JSON.stringify({ Successful: true, Result, Errors: [] }), { headers: { 'content-type': 'application/json' } })
        }
      }`,
    })
    await ui.visit(cloud.api, '#/operations')
    const section = `document.querySelector('[aria-label=Queue]')`
    await page.until(`${section}.checkVisibility() && ${section}.textContent.includes('Dead letters0 waiting')`)
    await ui.press('List dead letters')
    await page.until(`${section}.querySelector('tbody')?.textContent.includes('its turn is settled')`)
    for (const scheme of /** @type {const} */ (['light', 'dark'])) {
      for (const width of [390, 1200]) {
        await page.show({ width, height: 844, scheme })
        assert.deepEqual(await ui.violations(), [], `${scheme}, ${width}`)
        assert.ok((await ui.overflow) <= 0)
      }
    }
    await page.show({})
    await ui.press('Redrive the message m-1')
    await set(`${dialog}.elements.Reason`, 'The index is back.')
    assert.deepEqual(await ui.violations(), [])
    await ui.press('Redrive', 'dialog')
    await page.until(`!document.querySelector('dialog') && ${section}.textContent.includes('There are no dead letters.')`)
    assert.deepEqual(JSON.parse((await page.run('window.redriven'))[0]), { Message: 'm-1', Reason: 'The index is back.' })
    await page.send('Page.removeScriptToEvaluateOnNewDocument', { identifier })
    assert.deepEqual(page.errors, [])
  })

  test('what is typed and chosen while a document is saved stays', async () => {
    const { page } = ui
    // A save is answered when `finishSave` is called.
    const { identifier } = await page.send('Page.addScriptToEvaluateOnNewDocument', {
      source: `{
        const send = window.fetch
        window.fetch = async (url, options) => {
          const response = await send(url, options)
          if (options?.method === 'PUT') await new Promise((resolve) => (window.finishSave = resolve))
          return response
        }
      }`,
    })
    const finishSave = async () => {
      await page.until(`!!window.finishSave`)
      await page.run(`window.finishSave(), delete window.finishSave`)
    }
    const note = `document.querySelector('.editor-head small').textContent`
    const pressed = `document.querySelector('.choice[aria-pressed=true]')?.textContent`
    await ui.visit(cloud.api, '#/modes')
    await page.send('Page.removeScriptToEvaluateOnNewDocument', { identifier })
    await page.until(`${pressed}?.startsWith('General')`)
    await ui.press('New mode')
    await set(member('Key'), 'half_saved')
    await ui.press('Save')
    await set(member('Description'), 'Typed while version 1 was saved')
    await finishSave()
    await page.until(`${note} === 'Version 1 · unsaved changes'`)
    assert.equal(await page.run(`${member('Description')}.value`), 'Typed while version 1 was saved')

    await ui.press('Save')
    await finishSave()
    await page.until(`${note} === 'Version 2'`)
    assert.equal((await page.run(source)).Description, 'Typed while version 1 was saved')

    await set(member('DisplayName'), 'Half saved')
    await ui.press('Save')
    await page.run(`[...document.querySelectorAll('.choice')].find((element) => element.textContent.startsWith('General')).click()`)
    await page.until(`${pressed}?.startsWith('General')`)
    await finishSave()
    await page.until(`[...document.querySelectorAll('.choice')].some((element) => element.textContent.startsWith('Half saved'))`)
    assert.ok((await page.run(pressed)).startsWith('General'))
    assert.equal((await page.run(source)).Key, 'general')

    await page.run(`[...document.querySelectorAll('.choice')].find((element) => element.textContent.startsWith('Half saved')).click()`)
    await page.until(`${note} === 'Version 3'`)
    await ui.press('Delete')
    await ui.press('Delete', 'dialog')
    await page.until(`!document.querySelector('dialog')`)
    assert.deepEqual(page.errors, [])
  })

  test('modes are written in the form, compared, rolled back, deprecated and deleted', async () => {
    const { page } = ui
    // The document that is shown first loads until `showFirst` is called, so after another one was chosen.
    const { identifier } = await page.send('Page.addScriptToEvaluateOnNewDocument', {
      source: `{
        const send = window.fetch
        const chosen = new Promise((resolve) => (window.showFirst = resolve))
        window.fetch = async (url, options) => {
          const response = await send(url, options)
          if (String(url).endsWith('/modes/general')) await chosen
          return response
        }
      }`,
    })
    await ui.visit(cloud.api, '#/modes')
    await page.send('Page.removeScriptToEvaluateOnNewDocument', { identifier })
    const choices = `[...document.querySelectorAll('.choice')].map((element) => element.textContent)`
    await page.until(`${choices}.includes('Generalmode · general · built in')`)
    const before = await page.run(`${choices}.length`)
    await ui.press('New mode')
    await page.until(`${member('Key')}?.value === 'release_notes'`)
    await page.run('window.showFirst()')
    await set(member('Key'), 'No key')
    await ui.press('Save')
    await page.until(`!!document.querySelector('#errors [role=alert]')`)
    await set(member('Key'), 'release_notes')
    await set(member('ModeInstructions'), 'Group the changes.\nLeave internal changes out.')
    assert.deepEqual((await page.run(source)).ModeInstructions, ['Group the changes.', 'Leave internal changes out.'])
    await ui.press('Save')
    const versions = `[...document.querySelectorAll('.versions strong')].map((element) => element.textContent).join()`
    await page.until(`${choices}.length === ${before + 1} && ${versions} === 'Version 1'`)
    await ui.press('New mode')
    await page.until(`${member('Key')}?.value === 'release_notes' && ${versions} === ''`)
    await ui.press('Save')
    await page.until(`document.querySelector('#errors [role=alert]')?.textContent.includes('The id release_notes is taken.')`)
    await page.run(`[...document.querySelectorAll('.choice')].find((choice) => choice.dataset.key === 'mode release_notes').click()`)
    await page.until(`${versions} === 'Version 1'`)
    await set(member('DisplayName'), 'Notes of a release')
    await ui.press('Save')
    await page.until(`${versions} === 'Version 2,Version 1' && document.querySelector('.editor-head h2').textContent === 'Notes of a release'`)
    await ui.press('Compare version 1')
    await page.until(`document.querySelector('.payload del')?.textContent.includes('Release notes')`)
    await ui.press('Roll back to version 1')
    await page.until(`${versions} === 'Version 3,Version 2,Version 1' && ${member('DisplayName')}.value === 'Release notes'`)

    await ui.press('Deprecate')
    await set(`${dialog}.elements.Replacement`, 'Use general instead.')
    assert.deepEqual(await ui.violations(), [])
    await ui.press('Deprecate', 'dialog')
    await page.until(`!document.querySelector('dialog') && document.querySelector('.choice[aria-pressed=true]')?.textContent.endsWith('deprecated')`)
    const { Status, Deprecated } = await page.run(source)
    assert.deepEqual([Status, Deprecated], ['deprecated', 'Use general instead.'])
    for (const scheme of /** @type {const} */ (['light', 'dark'])) {
      await page.show({ width: 390, height: 844, scheme })
      await page.run(openSections)
      assert.deepEqual(await ui.violations(), [], scheme)
      assert.ok((await ui.overflow) <= 0)
    }
    await page.show({})
    await ui.press('Delete')
    await ui.press('Delete', 'dialog')
    await page.until(`!document.querySelector('dialog') && ${choices}.length === ${before}`)
    assert.deepEqual(page.errors, [])
  })

  test('a built-in mode is replaced and comes back, and a stale change is refused', async () => {
    const { page } = ui
    await ui.visit(cloud.api, '#/modes')
    await page.until(`!!document.querySelector('.choice')`)
    const choose = (/** @type {string} */ key) => page.run(`[...document.querySelectorAll('.choice')].find((choice) => choice.dataset.key === 'mode ${key}').click()`)
    const note = `document.querySelector('.editor-head small').textContent`
    await choose('ddr_authoring')
    await page.until(`${member('Key')}?.value === 'ddr_authoring' && ${note}.startsWith('Built in.')`)
    await set(member('Description'), 'Our own.')
    await ui.press('Save')
    await page.until(`${note} === 'Version 1'`)
    await page.run(`(async () => {
      const { Connection } = await import('/console/connection.js')
      const connection = await Connection.open()
      const { Content } = await connection.read('api/ai/agent/modes/ddr_authoring')
      await connection.send('PUT', 'api/ai/agent/modes/ddr_authoring', JSON.stringify({ ...Content, Description: 'Theirs.' }))
    })()`)
    await set(member('Description'), 'Ours again.')
    await ui.press('Save')
    await page.until(`document.querySelector('#errors [role=alert]')?.textContent.includes('Nothing was changed')`)
    await choose('ddr_authoring')
    await page.until(`${member('Description')}?.value === 'Theirs.'`)
    await ui.press('Delete')
    await ui.press('Delete', 'dialog')
    await page.until(`!document.querySelector('dialog')`)
    await choose('ddr_authoring')
    await page.until(`${note}.startsWith('Built in.')`)
    assert.deepEqual(page.errors, [])
  })

  test('a draft is saved and tested beside the editor', async () => {
    const { page } = ui
    await ui.visit(cloud.api, '#/agents/advanced')
    await page.until(`!!${member('Name')}`)
    await ui.press('New conversation')
    await page.until(`${member('Id')}?.value === 'backend'`)
    await set(member('Id'), 'tested')
    await set(`document.querySelector('[name=instruction]')`, String(script().usage(70, 7).say('**Tested.**')))
    await ui.press('Save and send')
    await page.until(`document.querySelector('.test-turns strong')?.textContent === 'Tested.' && document.querySelector('.test-foot').textContent.includes('77 tokens')`)
    assert.deepEqual(await ui.violations(), [])
    await page.run(`document.querySelector('.test-foot a').click()`)
    await page.until(`document.querySelector('.about')?.textContent.includes('Backend')`)
    assert.deepEqual(page.errors, [])
  })
})
