/**
 * Screenshots of the usage and the agents page. A local cloud has the usage of one day, so the usage of a month is made up here.
 *
 * @module
 */

import { ConsolePage } from './pages.js'

/** Agents and their share of the usage. */
const AGENTS = { engineer: 0.55, support: 0.3, reviewer: 0.15 }
const PRICE_PER_MILLION = 3

const CONTEXTS = [
  {
    Kind: 'conversation',
    Id: 'backend',
    Name: 'Backend',
    System: 'You help the team of the backend.\n\nAnswer with code where it helps, and name the file.',
    ModelName: 'gpt-5',
    MaxRounds: 8,
    HostedTools: [{ Type: 'web_search' }],
  },
  { Kind: 'agent', Id: 'engineer', Name: 'Engineer', DefaultConversationContextId: 'backend', ClientTools: [] },
  { Kind: 'agent', Id: 'support', Name: 'Support', DefaultConversationContextId: 'backend', ClientTools: [] },
]

const BUDGETS = {
  Currency: 'USD',
  Budgets: [
    { Id: 'monthly', Scope: 'org', Window: 'month', Unit: 'money', Limit: 6_000_000 },
    { Id: 'per-agent', Scope: 'agent', Window: 'day', Unit: 'tokens', Limit: 100_000 },
  ],
}

/** The use of the budgets. */
const BUDGET_USE = {
  Currency: 'USD',
  Budgets: BUDGETS.Budgets.map((Budget, at) => ({
    Budget,
    WindowEndDate: '2026-12-01T00:00:00.000Z',
    Meters: at === 0 ? [{ Used: 3_100_000, Reserved: 60_000 }] : [{ Subject: 'engineer', Used: 88_000, Reserved: 1_000 }],
    OmittedMeters: 0,
  })),
}

/**
 * Returns a group of usage.
 * @param {string | undefined} Key
 * @param {number} tokens
 */
function group(Key, tokens) {
  const TotalTokens = Math.round(tokens)
  const Turns = Math.ceil(tokens / 1500)
  const Usage = { PromptTokens: Math.round(tokens * 0.8), CompletionTokens: Math.round(tokens * 0.2), TotalTokens }
  const Costs = [{ Amount: ((tokens * PRICE_PER_MILLION) / 1e6).toFixed(3), Currency: 'USD' }]
  return { ...(Key && { Key }), Turns, CompletedTurns: Turns - (TotalTokens % 4), ModelCalls: 2 * Turns, ModelMs: Turns * (2_400 + (TotalTokens % 1_700)), Usage, Costs }
}

/**
 * Returns the usage report for a request.
 * @param {URL} url
 */
function report({ searchParams }) {
  const by = searchParams.get('by')
  const day = (/** @type {number} */ ms) => new Date(ms).toISOString().slice(0, 10)
  const To = day(Date.parse(searchParams.get('to') ?? day(Date.now())))
  const From = day(Date.parse(searchParams.get('from') ?? day(Date.parse(To) - 29 * 86_400_000)))
  const days = Array.from({ length: (Date.parse(To) - Date.parse(From)) / 86_400_000 + 1 }, (_, at) => day(Date.parse(From) + at * 86_400_000))
  // Fewer tokens on weekends.
  const tokensOf = (/** @type {string} */ date) => (new Date(date).getUTCDay() % 6 === 0 ? 12_000 : 60_000) + ((Number(date.replaceAll('-', '')) * 7919) % 30_000)
  const total = days.reduce((sum, date) => sum + tokensOf(date), 0)
  const Groups = by === 'day' ? days.map((date) => group(date, tokensOf(date))) : Object.entries(AGENTS).map(([name, share]) => group(name, total * share))
  return { From, To, By: by, Groups, Total: group(undefined, total) }
}

/**
 * Takes screenshots of both pages.
 * @param {import('../../javascript/test/cloud.js').Cloud} cloud
 * @param {(name: string, ui: ConsolePage) => Promise<void>} save
 */
export async function takePagePictures(cloud, save) {
  const ui = await ConsolePage.open()
  ui.key = cloud.consoleKey
  const { page } = ui
  cloud.contexts(CONTEXTS)
  await page.send('Page.addScriptToEvaluateOnNewDocument', {
    source: `{
      const AGENTS = ${JSON.stringify(AGENTS)}
      const PRICE_PER_MILLION = ${PRICE_PER_MILLION}
      ${group}
      ${report}
      const send = window.fetch
      window.fetch = async (url, options) => {
        const target = new URL(url, location.href)
        const results = { usage: () => report(target), use: () => (${JSON.stringify(BUDGET_USE)}) }
        const result = /\\/agent\\/(?:budgets\\/)?(usage|use)$/.exec(target.pathname)
        if (!result) return send(url, options)
        return new Response(JSON.stringify({ Successful: true, Result: results[result[1]](), Errors: [] }), { headers: { 'content-type': 'application/json' } })
      }
    }`,
  })
  await page.show({ width: 1200, height: 1290, scheme: 'light' })
  await ui.visit(cloud.api, '#/usage')
  await page.run(`(async () => {
    const { Connection } = await import('/console/connection.js')
    const connection = await Connection.open()
    await connection.send('PUT', 'api/ai/agent/budgets', ${JSON.stringify(JSON.stringify(BUDGETS))})
  })()`)
  await ui.visit(cloud.api, '#/usage')
  await page.until(`document.querySelectorAll('.chart').length === 5 && document.querySelectorAll('.budgets .share').length === 2`)
  await page.run(`(() => { const by = document.querySelector('[name=by]'); by.value = 'agent'; by.dispatchEvent(new Event('change', { bubbles: true })) })()`)
  await page.until(`document.querySelectorAll('.legend li').length === 3`)
  await save('usage.png', ui)
  await page.show({ width: 1440, height: 860, scheme: 'light' })
  await ui.visit(cloud.api, '#/agents/advanced')
  await page.until(`!!document.querySelector('.choice')`)
  await page.run(`[...document.querySelectorAll('.choice')].find((choice) => choice.dataset.key === 'conversation backend').click()`)
  await page.until(`document.querySelector('.editor-head h2').textContent === 'Backend' && !!document.querySelector('.schema-form input') && !!document.querySelector('.versions strong')`)
  await page.run(`document.querySelector('[name=instruction]').value = 'Which file has the lease?'`)
  await ui.press('Save and send')
  await page.until(`document.querySelector('.test-foot')?.textContent.includes('tokens')`)
  await save('agents.png', ui)
  await ui.end()
}
