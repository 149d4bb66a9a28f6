/** Browser tests of the page *Connections*: a tool over HTTP with a secret from the form to a turn, and callers without the role. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { after, before, suite, test } from 'node:test'

import { skip as noBrowser } from '../../javascript/test/chromium.js'
import { Cloud, skip as noCloud } from '../../javascript/test/cloud.js'
import { script } from '../../javascript/src/testing.js'
import { ConsolePage, isIdle, newestTurn } from './pages.js'

const SECRET = 'tk-5eCr3t/42'
/** The function that connections of this cloud may invoke. */
const FUNCTION = 'arn:aws:lambda:eu-west-1:123456789012:function:tickets:live'

/** A ticket system, which files what it gets if the key is right, and as a Lambda function what the cloud sends. */
class Tickets {
  /** @type {{ method: string | undefined, url: string | undefined, key: unknown, body: string }[]} */
  received = []
  url = ''
  #server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { method, url, headers } = request
    this.received.push({ method, url, key: headers['x-api-key'], body })
    const isAllowed = headers['x-api-key'] === SECRET || url === `/2015-03-31/functions/${encodeURIComponent(FUNCTION)}/invocations`
    response.writeHead(!isAllowed ? 401 : headers['x-api-key'] ? 201 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(isAllowed ? { id: 17, title: JSON.parse(body).title } : { error: 'wrong key' }))
  })

  async start() {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    const { port } = /** @type {import('node:net').AddressInfo} */ (this.#server.address())
    this.url = `http://127.0.0.1:${port}/v1`
    return this
  }

  end() {
    this.#server.close()
  }
}

suite('connections in the console', { skip: noCloud || noBrowser }, () => {
  /** @type {Cloud} */
  let cloud
  /** @type {ConsolePage} */
  let ui
  /** @type {Tickets} */
  let tickets
  before(async () => {
    tickets = await new Tickets().start()
    process.env.CONNECTION_FUNCTIONS = FUNCTION
    process.env.AWS_ENDPOINT_URL_LAMBDA = new URL(tickets.url).origin
    ;[cloud, ui] = await Promise.all([Cloud.start(), ConsolePage.open()])
    ui.key = cloud.consoleKey
  })
  after(async () => {
    tickets?.end()
    await Promise.all([ui?.end(), cloud?.end()])
  })

  /**
   * Types into fields of the form, the newest of those with one name.
   * @param {Record<string, string>} values
   */
  const fillIn = (values) =>
    ui.page.run(`(() => {
      for (const [name, value] of Object.entries(${JSON.stringify(values)})) {
        const field = [...document.querySelectorAll('form[aria-label=Connection] [name="' + name + '"]')].at(-1)
        field.value = value
        field.dispatchEvent(new Event('input', { bubbles: true }))
        field.dispatchEvent(new Event('change', { bubbles: true }))
      }
    })()`)
  const trial = `document.querySelector('[aria-label="Try it"]')`
  /** @param {Record<string, string>} values */
  const tryIt = (values) =>
    ui.page.run(`(() => {
      for (const [name, value] of Object.entries(${JSON.stringify(values)})) ${trial}.querySelector('[data-argument="' + name + '"]').value = value
      ${trial}.querySelector('form').requestSubmit()
    })()`)
  const noteText = `document.querySelector('.editor-head small')?.textContent`

  test('tool with a secret is added, tried, given to an agent, and called by a turn', async () => {
    const { page } = ui
    await ui.visit(cloud.api, '#/connections')
    await ui.press('Add a tool')
    await fillIn({ name: 'Ticket system', url: tickets.url, scheme: 'header', header: 'X-Api-Key', tool: 'create_ticket', about: 'Files a ticket.', path: '/projects/{project}/tickets' })
    // The argument of the path has its row already.
    assert.deepEqual(await page.run(`[...document.querySelectorAll('.argument [name=argument]')].map(({ value }) => value)`), ['project'])
    await ui.press('Add an argument')
    await fillIn({ argument: 'title', description: 'What is wrong' })
    await ui.press('Save')
    // A connection with authentication isn't saved without its secret.
    assert.equal(await page.run(`document.activeElement.name`), 'secret')
    assert.match(await page.run(noteText), /^New/)
    await fillIn({ secret: 'not-this-one' })
    await ui.press('Save')
    await page.until(`document.querySelector('form .success')?.textContent.includes('The secret is sent to ${new URL(tickets.url).host} only.')`)
    assert.equal(await page.run(noteText), 'ticket-system · version 1')
    assert.equal(await page.run(`document.querySelector('[name=secret]').value`), '', 'the page forgets the secret')
    assert.deepEqual(await ui.violations(), [])

    await tryIt({ project: 'office', title: 'Printer' })
    await page.until(`${trial}.textContent.includes('refused by the server')`)
    assert.match(await page.run(`${trial}.textContent`), /wrong key/)
    await fillIn({ secret: SECRET })
    await tryIt({ project: 'office', title: 'Printer' })
    await page.until(`${trial}.querySelector('.tag')?.textContent === 'done'`)
    assert.match(await page.run(`${trial}.textContent`), /"id": 17/)
    assert.deepEqual(tickets.received.at(-1), { method: 'POST', url: '/v1/projects/office/tickets', key: SECRET, body: '{"title":"Printer"}' })
    assert.deepEqual(await ui.violations(), [])

    // A new agent gets the tools, and a turn calls one.
    await ui.press('New agent with these tools')
    await page.until(`document.querySelector('.tool-choices input[value="ticket-system"]')?.checked`)
    await page.run(`(() => {
      const { elements } = document.querySelector('form[aria-label=Agent]')
      elements.name.value = 'Help desk'
      elements.system.value = 'You file tickets.'
    })()`)
    await ui.press('Open in chat')
    await ui.send(script().say('Filing. ').call('ticket-system__create_ticket', { project: 'office', title: 'On fire' }).afterTools().say('Filed.'))
    await page.until(`${newestTurn}?.querySelector('.answer').textContent.includes('Filed.') && ${isIdle}`)
    assert.equal(tickets.received.at(-1)?.body, '{"title":"On fire"}')

    await ui.visit(cloud.api, '#/connections')
    await page.until(`document.querySelector('[aria-label=Agents] li strong')?.textContent === 'Help desk'`)
    assert.match(await page.run(`document.querySelector('[aria-label=Agents] li').textContent`), /agent · all tools/)
    assert.ok(!(await page.run('document.documentElement.outerHTML')).includes(SECRET))
    await ui.press('Take the tools from Help desk')
    await page.until(`document.querySelector('[aria-label=Agents] li').textContent.startsWith('None yet.')`)
    await ui.press('Give it all tools')
    await page.until(`document.querySelector('[aria-label=Agents] li strong')?.textContent === 'Help desk'`)
    assert.deepEqual(page.errors, [])
  })

  test('class of a tool is chosen in plain words, and another host needs the secret again', async () => {
    const { page } = ui
    await ui.visit(cloud.api, '#/connections')
    await page.until(`${noteText}?.startsWith('ticket-system')`)
    assert.equal(await page.run(`document.querySelector('[name=class]').value`), 'effect')
    await fillIn({ class: 'keyed' })
    assert.match(await page.run(`document.querySelector('.tool-body').textContent`), /sent again under the same key/)
    await fillIn({ url: 'https://other.example.com/v1' })
    await ui.press('Save')
    assert.equal(await page.run(`document.activeElement.name`), 'secret')
    assert.match(await page.run(`document.getElementById('secret-hint').textContent`), /The stored secret belongs to 127\.0\.0\.1:\d+\. Enter it again for other\.example\.com\./)
    await fillIn({ url: 'http://169.254.169.254/v1', secret: SECRET })
    await ui.press('Save')
    await page.until(`document.querySelector('form .error')?.textContent.includes('Url')`)
    await fillIn({ url: tickets.url, secret: '' })
    await ui.press('Save')
    await page.until(`document.querySelector('form .success')?.textContent === 'Saved.'`)

    // The advanced view has the same document, with what the form chose.
    await ui.visit(cloud.api, '#/connections/advanced')
    await page.until(`document.querySelector('.code-input')?.value.includes('"keyed"')`)
    assert.deepEqual(await ui.violations(), [])
    for (const width of [390, 800, 1000, 1440]) {
      await page.show({ width, height: 844 })
      await ui.visit(cloud.api, '#/connections')
      await page.until(`${noteText}?.startsWith('ticket-system')`)
      assert.ok((await ui.overflow) <= 0, `${width}`)
    }
    assert.deepEqual(page.errors, [])
  })

  test('caller without the role sees what they may do', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    await page.run(`sessionStorage.setItem('aptix-console:identity', JSON.stringify({ Operator: false }))`)
    await ui.visit(cloud.api, '#/connections')
    await page.until(`document.querySelector('main [role=alert]')?.textContent.startsWith('Only operators and agent editors of your org can see connections')`)
    assert.equal(await page.run(`document.querySelectorAll('main button').length`), 0)
    // An agent editor sees connections, and gives their tools to agents.
    await page.run(`sessionStorage.setItem('aptix-console:identity', JSON.stringify({ Operator: false, AgentEditor: true }))`)
    await ui.visit(cloud.api, '#/connections')
    await page.until(`document.querySelector('[aria-label=Agents] li strong')?.textContent === 'Help desk'`)
    assert.match(await page.run(`document.querySelector('main p.notice').textContent`), /Operators of your org add and change connections/)
    const labels = await page.run(`[...document.querySelectorAll('main button')].filter((button) => button.checkVisibility() && !button.matches(':disabled')).map((button) => button.ariaLabel ?? button.textContent)`)
    assert.deepEqual(labels, ['Ticket systemticket-system', 'Take the tools from Help desk', 'New agent with these tools'])
    await ui.press('Take the tools from Help desk')
    await page.until(`document.querySelector('[aria-label=Agents] li').textContent.startsWith('None yet.')`)
    assert.deepEqual(await ui.violations(), [])
    await page.run(`sessionStorage.removeItem('aptix-console:identity')`)
  })

  test('function is added by its ARN and tried, and schemes show their own fields', async () => {
    const { page } = ui
    await ui.visit(cloud.api, '#/connections')
    // The page opens the first connection, if there is one.
    await page.until(`${noteText}?.startsWith('ticket-system')`)
    await ui.press('Add a tool')
    const shown = `[...document.querySelectorAll('form[aria-label=Connection] fieldset:first-of-type :is(input, select):not([type=radio])')].filter((field) => field.checkVisibility()).map(({ name }) => name)`
    assert.deepEqual(await page.run(shown), ['name', 'url', 'scheme'])
    for (const [scheme, fields] of [['bearer', ['secret']], ['header', ['header', 'secret']], ['sigv4', ['service', 'region']], ['caller', ['audience']]]) {
      await fillIn({ scheme: String(scheme) })
      assert.deepEqual(await page.run(shown), ['name', 'url', 'scheme', ...fields ?? []])
    }
    await page.run(`document.querySelector('[name=protocol][value=lambda]').click()`)
    assert.deepEqual(await page.run(shown), ['name', 'function'])
    await fillIn({ name: 'Ticket function', function: FUNCTION.replace(':live', ''), tool: 'create_ticket', about: 'Files a ticket.' })
    await ui.press('Add an argument')
    await fillIn({ argument: 'title', description: 'What is wrong' })
    await ui.press('Save')
    await page.until(`document.querySelector('form .error')?.textContent.includes('is none that the deployment may invoke')`)
    await fillIn({ function: FUNCTION })
    await ui.press('Save')
    await page.until(`document.querySelector('form .success')?.textContent === 'Saved.'`)
    await tryIt({ title: 'Printer' })
    await page.until(`${trial}.querySelector('.tag')?.textContent === 'done'`)
    assert.match(await page.run(`${trial}.textContent`), /"title": "Printer"/)
    assert.equal(tickets.received.at(-1)?.body, '{"title":"Printer"}')
    assert.deepEqual(await ui.violations(), [])
    assert.deepEqual(page.errors, [])
  })
})
