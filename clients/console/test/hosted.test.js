/** Browser tests of a hosted console: `aptix console upload`, the files behind a distribution, and the sign-in of the page. */

import assert from 'node:assert/strict'
import { after, afterEach, before, suite, test } from 'node:test'

import { skip as noBrowser } from '../../javascript/test/chromium.js'
import { Cloud, skip as noCloud } from '../../javascript/test/cloud.js'
import { script } from '../../javascript/src/testing.js'
import { Hosting } from './hosting.js'
import { IdentityProvider } from './identity-provider.js'
import { ConsolePage, isIdle, newestTurn } from './pages.js'

/** @type {Cloud} */
let cloud
/** @type {ConsolePage} */
let ui
/** @type {IdentityProvider} */
let provider
/** @type {Hosting} */
let hosting

const heading = `document.querySelector('main h1')?.textContent`
const problem = `document.querySelector('main .error')?.textContent`
const banner = `document.querySelector('.signed-out')`
const session = `JSON.parse(sessionStorage.getItem('aptix-console:session'))`
/** Lets the token expire within a moment, or some time ago. */
const age = (/** @type {number} */ seconds) =>
  `sessionStorage.setItem('aptix-console:session', JSON.stringify({ ...${session}, expiresAt: Date.now() + ${seconds * 1000} }))`

/** @param {string} hash */
async function open(hash = '') {
  const { page } = ui
  await page.send('Page.navigate', { url: 'about:blank' })
  await page.until(`location.href === 'about:blank'`)
  await page.visit(`${hosting.url}/${hash}`)
}

/** Forgets the session of the tab, and opens the page. */
async function openSignedOut(hash = '') {
  await open()
  await ui.page.run('sessionStorage.clear()')
  await open(hash)
  await ui.page.until(`${heading} === 'Sign in'`)
}

suite('hosted console', { skip: noCloud || noBrowser }, () => {
  before(async () => {
    ;[cloud, ui] = await Promise.all([Cloud.start(), ConsolePage.open()])
    const token = cloud.token('ada')
    const { aud } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    provider = await IdentityProvider.start(() => token)
    hosting = await Hosting.start(cloud.api, { issuer: provider.url, audience: aud })
    const output = await hosting.upload('--client-id', 'web')
    assert.match(output, /^Uploaded \d+ files\. The console is at http/)
    assert.match(output, /Allow this URL as a redirect, and after sign-out, of the client web\./)
  })
  after(async () => {
    hosting?.end()
    provider?.end()
    await Promise.all([ui?.end(), cloud?.end()])
  })
  afterEach(() => {
    provider.faults = {}
  })

  test('upload names the reason if the stack hosts no console, and a provider that is missing', async () => {
    const { ConsoleUrl = '' } = hosting.outputs
    delete hosting.outputs.ConsoleUrl
    assert.equal(await hosting.upload(), 'error: The stack "agent-dev" hosts no console. Deploy it with HostedConsole=true.\n')
    hosting.outputs.ConsoleUrl = ConsoleUrl
    assert.match(await hosting.upload(), /Name a public client of it with --client-id, whose redirect is http:\/\/127\.0\.0\.1:\d+\/\./)
    const [index] = [...hosting.objects.entries()].slice(-1)
    assert.deepEqual([index?.[0], index?.[1].type, index?.[1].cache], ['index.html', 'text/html; charset=utf-8', 'no-cache'])
  })

  test('user signs in, comes back to the page of the link, and talks to the API', async () => {
    const { page } = ui
    await openSignedOut('#/sessions')
    assert.match(await page.run(`document.querySelector('main').textContent`), /You sign in on 127\.0\.0\.1:\d+/)
    assert.deepEqual(await ui.violations(), [])
    await ui.press('Sign in', 'main')
    await page.until(`${heading} === 'Sessions'`)
    assert.equal(await page.run('location.search + location.hash'), '#/sessions')
    assert.match(await page.run(`document.querySelector('#identity').textContent`), /Ada Lovelace/)
    await page.run(`location.hash = '#/chat'`)
    await ui.send(script().say('Hello from the hosted page.'))
    await page.until(`${newestTurn}?.querySelector('.answer').textContent === 'Hello from the hosted page.' && ${isIdle}`)
    assert.deepEqual(await page.run(`Object.keys(localStorage).filter((key) => /session|sign-in|token$/.test(key))`), [])
    assert.equal(await page.run(`sessionStorage.getItem('aptix-console:sign-in')`), null)
    assert.deepEqual(await ui.violations(), [])
    await page.reload()
    await page.until(`${newestTurn}?.querySelector('.answer').textContent === 'Hello from the hosted page.'`)
    assert.deepEqual(page.errors, [])
  })

  test('token is renewed once before it expires, and a refused renewal asks for another sign-in', async () => {
    const { page } = ui
    await openSignedOut('#/chat')
    await ui.press('Sign in', 'main')
    await page.until(isIdle)
    const renewals = () => (provider.requests['/token'] ?? []).filter(({ grant_type }) => grant_type === 'refresh_token').length
    const before = renewals()
    await page.run(age(30))
    await ui.send(script().say('Renewed.'))
    await page.until(`${newestTurn}?.querySelector('.answer').textContent === 'Renewed.' && ${isIdle}`)
    // The token is valid for half a minute, so the message doesn't wait for the renewal.
    await page.until(`${session}.expiresAt > Date.now() + 60_000`)
    assert.equal(renewals() - before, 1)

    provider.faults.isGone = true
    await page.run(age(30))
    await ui.send(script().say('Still valid.'))
    await page.until(`${newestTurn}?.querySelector('.answer').textContent === 'Still valid.' && ${isIdle}`)
    assert.equal(await page.run(`${banner} === null`), true)

    provider.faults = { refuseRefresh: true }
    await page.run(age(-1))
    await ui.send(script().say('Too late.'))
    await page.until(`!!${banner}`)
    assert.match(await page.run(`${banner}.textContent`), /^Your sign-in has ended\. What you wrote is kept\./)
    assert.equal(await page.run(`sessionStorage.getItem('aptix-console:session')`), null)
    const hash = await page.run('location.hash')
    provider.faults = {}
    await ui.press('Sign in again')
    // The message that had no token is sent with the next one.
    await page.until(`${newestTurn}?.querySelector('.answer').textContent === 'Too late.' && ${isIdle}`)
    assert.equal(await page.run('location.hash'), hash)
  })

  test('sign-out revokes the tokens and leaves nothing of the user in the browser', async () => {
    const { page } = ui
    await openSignedOut('#/chat')
    await ui.press('Sign in', 'main')
    await page.until(isIdle)
    await page.run(`localStorage.setItem('aptix-console:drafts', '[["new","secret plan"]]')`)
    const { refreshToken, idToken } = await page.run(session)
    await page.run(`document.querySelector('#identity').click()`)
    await ui.press('Sign out')
    await page.until(`${heading} === 'Sign in' && !location.search`)
    assert.equal(provider.requests['/revoke']?.at(-1)?.token, refreshToken)
    const { id_token_hint, client_id, post_logout_redirect_uri } = provider.requests['/logout']?.at(-1) ?? {}
    assert.deepEqual([id_token_hint, client_id, post_logout_redirect_uri], [idToken, 'web', `${hosting.url}/`])
    assert.deepEqual(await page.run(`[Object.keys(sessionStorage), Object.keys(localStorage)]`), [[], []])
  })

  test('sign-out of a user pool has the parameters of Cognito', async () => {
    const { page } = ui
    const config = hosting.objects.get('console/api/config')
    assert.ok(config)
    const pool = { ...config, bytes: Buffer.from(String(config.bytes).replace('"IsPool":false', '"IsPool":true')) }
    hosting.objects.set('console/api/config', pool)
    await openSignedOut('#/chat')
    await ui.press('Sign in', 'main')
    await page.until(isIdle)
    await page.run(`document.querySelector('#identity').click()`)
    await ui.press('Sign out')
    await page.until(`${heading} === 'Sign in' && !location.search`)
    assert.deepEqual(provider.requests['/logout']?.at(-1), { client_id: 'web', logout_uri: `${hosting.url}/` })
    hosting.objects.set('console/api/config', config)
  })

  test('failed sign-in says why, and the next one succeeds', async () => {
    const { page } = ui
    /** @type {[IdentityProvider['faults'], RegExp][]} */
    const cases = [
      [{ deny: true }, /^The sign-in was denied \(You have no access\)\./],
      [{ state: 'forged' }, /^This sign-in was not started in this tab, or it was already used\. Sign in again\./],
      [{ nonce: 'another' }, /doesn't belong to this sign-in, or has a mistake/],
    ]
    for (const [faults, expected] of cases) {
      await openSignedOut('#/chat')
      provider.faults = faults
      await ui.press('Sign in', 'main')
      await page.until(`!!${problem}`)
      assert.match(await page.run(problem), expected)
      assert.equal(await page.run('location.search'), '', 'the address keeps no code')
      assert.equal(await page.run(`sessionStorage.getItem('aptix-console:session')`), null)
    }
    assert.deepEqual(await ui.violations(), [])
    provider.faults = {}
    await ui.press('Sign in', 'main')
    await page.until(isIdle)
  })
})
