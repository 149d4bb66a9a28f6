/** Browser tests of the page *Connections* with an MCP server: its list, what is accepted of it, and a description that changes later. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { after, before, suite, test } from 'node:test'

import { skip as noBrowser } from '../../javascript/test/chromium.js'
import { Cloud, skip as noCloud } from '../../javascript/test/cloud.js'
import { ConsolePage } from './pages.js'

const text = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }

/** A server with two tools over streamable HTTP, in the revision 2025-11-25. */
class McpServer {
  tools = [
    { name: 'echo', description: 'Repeats a text.', inputSchema: text, annotations: { readOnlyHint: true } },
    { name: 'erase', description: 'Erases\u202e everything.', inputSchema: text, annotations: { destructiveHint: true } },
  ]
  url = ''
  #server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    if (request.method !== 'POST') return void response.writeHead(request.method === 'DELETE' ? 200 : 405).end()
    const { id, method, params } = JSON.parse(body)
    if (id === undefined) return void response.writeHead(202).end()
    const result = this.#result(method, params)
    const message = { jsonrpc: '2.0', id, ...(result ? { result } : { error: { code: -32601, message: `Unknown method ${method}` } }) }
    response.writeHead(200, { 'content-type': 'application/json', ...(method === 'initialize' && { 'mcp-session-id': 's1' }) })
    response.end(JSON.stringify(message))
  })

  /**
   * @param {string} method
   * @param {any} params
   */
  #result(method, params) {
    if (method === 'initialize') return { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'test', version: '1' } }
    if (method === 'tools/list') return { tools: this.tools }
    if (method === 'tools/call') return { content: [{ type: 'text', text: `${params.name}: ${params.arguments.text}` }] }
    return undefined
  }

  async start() {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    const { port } = /** @type {import('node:net').AddressInfo} */ (this.#server.address())
    this.url = `http://127.0.0.1:${port}/mcp`
    return this
  }

  end() {
    this.#server.close()
  }
}

suite('tools of an MCP server in the console', { skip: noCloud || noBrowser }, () => {
  /** @type {Cloud} */
  let cloud
  /** @type {ConsolePage} */
  let ui
  /** @type {McpServer} */
  let server
  before(async () => {
    ;[cloud, ui, server] = await Promise.all([Cloud.start(), ConsolePage.open(), new McpServer().start()])
    ui.key = cloud.consoleKey
  })
  after(async () => {
    server?.end()
    await Promise.all([ui?.end(), cloud?.end()])
  })

  const offers = `[...document.querySelectorAll('.offers li')].map((row) => row.textContent)`
  /** @param {string} name */
  const choose = (name) => ui.page.run(`document.querySelector('.offers input[value=${name}]').click()`)

  test('tools are chosen from the server’s list, and a change is accepted after it was seen', async () => {
    const { page } = ui
    await ui.visit(cloud.api, '#/connections')
    await ui.press('Add a tool')
    await page.run(`(() => {
      const form = document.querySelector('form[aria-label=Connection]')
      form.querySelector('input[value=mcp]').click()
      for (const [name, value] of [['name', 'Helper'], ['url', ${JSON.stringify(server.url)}]]) form.elements[name].value = value
      form.elements.url.dispatchEvent(new Event('input', { bubbles: true }))
    })()`)
    assert.equal(await page.run(`document.querySelectorAll('.tool-fields').length`), 0, 'an MCP server has its own list')
    await ui.press('List the server’s tools')
    await page.until(`${offers}.length === 2`)
    const [echo, erase] = await page.run(offers)
    assert.match(echo, /echo.*new.*The server says: only reads.*Repeats a text\./)
    assert.match(erase, /erase.*new.*destructive/)
    assert.ok(!erase.includes('\u202e'), 'invisible characters are shown')
    assert.deepEqual(await ui.violations(), [])
    await choose('echo')
    await ui.press('Accept the chosen ones')
    await page.until(`document.querySelectorAll('.tool-fields').length === 1`)
    // A hint of the server decides nothing.
    assert.equal(await page.run(`document.querySelector('[name=class]').value`), 'effect')

    const trial = `document.querySelector('[aria-label="Try it"]')`
    await page.until(`!!${trial}.querySelector('[data-argument=text]')`)
    await page.run(`${trial}.querySelector('[data-argument=text]').value = 'hello'; ${trial}.querySelector('form').requestSubmit()`)
    await page.until(`${trial}.querySelector('.tag')?.textContent === 'done'`)
    assert.match(await page.run(`${trial}.textContent`), /echo: hello/)

    server.tools = [{ name: 'echo', description: 'Repeats a text, and more.', inputSchema: text, annotations: { readOnlyHint: true } }]
    await ui.press('List the server’s tools')
    await page.until(`${offers}.length === 1 && ${offers}[0].includes('changed')`)
    assert.match(await page.run(offers).then(([row]) => row), /Repeats a text, and more\.[\s\S]*Repeats a text\.|Repeats a text\.[\s\S]*Repeats a text, and more\./)
    await ui.press('Choose all')
    await ui.press('Accept the chosen ones')
    await page.until(`document.querySelector('[name=about]')?.value === 'Repeats a text, and more.'`)
    await ui.press('List the server’s tools')
    await page.until(`document.querySelector('.tool-offers [role=status]')?.textContent === 'Nothing is new. 1 is added as offered.'`)
    assert.deepEqual(page.errors, [])
  })

  test('server that doesn’t answer is said in words', async () => {
    const { page } = ui
    server.end()
    await page.run(`document.querySelector('[name=url]').value = 'http://127.0.0.1:1/mcp'; document.querySelector('[name=url]').dispatchEvent(new Event('input', { bubbles: true }))`)
    await ui.press('List the server’s tools')
    await page.until(`document.querySelector('.tool-offers [role=alert]')?.textContent.length > 10`)
    assert.deepEqual(page.errors, [])
  })
})
