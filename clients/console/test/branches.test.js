/** Browser tests of turns that the page didn't send, and of the branches that reruns make. */

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'

import { skip as noBrowser } from '../../javascript/test/chromium.js'
import { Cloud, skip as noCloud } from '../../javascript/test/cloud.js'
import { script } from '../../javascript/src/testing.js'
import { forecast } from '../forecast.js'
import { branchesOf, turnNames } from '../branch-tree.js'
import { ConsolePage, isIdle, newestTurn } from './pages.js'

/** @type {Cloud} */
let cloud
/** @type {ConsolePage} */
let ui

const answers = `[...document.querySelectorAll('article.turn .answer')].map((node) => node.textContent)`
const shows = (/** @type {string[]} */ texts) => `JSON.stringify(${answers}) === ${JSON.stringify(JSON.stringify(texts))} && ${isIdle}`
const field = `document.querySelector('.composer textarea').value`

suite('branches and other tabs', { skip: noCloud || noBrowser }, () => {
  before(async () => {
    ;[cloud, ui] = await Promise.all([Cloud.start(), ConsolePage.open()])
    ui.key = cloud.consoleKey
  })
  after(async () => {
    await Promise.all([ui?.end(), cloud?.end()])
  })

  /** Takes a turn in the page's session from elsewhere. */
  const elsewhere = async (/** @type {string} */ text) => {
    const [, id = ''] = (await ui.page.run('location.hash')).split('/chat/')
    await cloud.client().session(id).send(script().say(text)).final()
  }

  test('turns from elsewhere are shown on focus, and before a message that would follow them', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    await ui.send(script().say('One.'))
    await page.until(shows(['One.']))
    await elsewhere('Two.')
    await page.run(`dispatchEvent(new Event('focus'))`)
    await page.until(shows(['One.', 'Two.']))
    assert.match(await page.run(`document.querySelector('.newer-line').textContent`), /^1 turn by ada/)
    await elsewhere('Three.')
    const message = String(script().say('Four.'))
    await ui.send(message)
    await page.until(shows(['One.', 'Two.', 'Three.']))
    await page.until(`document.querySelector('.chat [role=alert]')?.textContent.startsWith('Your message was not sent.')`)
    assert.equal(await page.run(field), message)
    assert.deepEqual(await ui.violations(), [])
    await ui.press('Send')
    await page.until(shows(['One.', 'Two.', 'Three.', 'Four.']))
    assert.equal(await page.run(field), '')
    assert.deepEqual(page.errors, [])
  })

  test('rerun of an earlier turn says what the model no longer sees, in the dialog and after', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    for (const [count, text] of ['One.', 'Two.', 'Three.'].entries()) {
      await ui.send(script().say(text))
      await page.until(shows(['One.', 'Two.', 'Three.'].slice(0, count + 1)))
    }
    await page.until(`document.querySelectorAll('article.turn footer a').length >= 3`)
    const rerun = `[...document.querySelectorAll('article.turn')][1].querySelectorAll('footer button')`
    await page.run(`[...${rerun}].find((button) => button.textContent === 'Rerun').click()`)
    await page.until(`!!document.querySelector('dialog')`)
    assert.match(await page.run(`document.querySelector('dialog').textContent`), /The model then no longer sees turns 2 and 3\./)
    await page.run(`document.querySelector('dialog textarea').value = ${JSON.stringify(String(script().say('Again.')))}`)
    await ui.press('Rerun', 'dialog')
    await page.until(shows(['One.', 'Two.', 'Three.', 'Again.']))
    const outside = `[...document.querySelectorAll('article.turn')].map((turn) => turn.textContent.includes('The model no longer sees this turn: the conversation continues from turn 4.'))`
    await page.until(`JSON.stringify(${outside}) === '[false,true,true,false]'`)
    assert.deepEqual(await ui.violations(), [])
    await page.reload()
    await page.until(`JSON.stringify(${outside}) === '[false,true,true,false]'`)
    assert.ok(await page.run(`${newestTurn}.textContent.includes('Rerun of turn 2')`))
    assert.deepEqual(page.errors, [])
  })

  test('message is changed in place, as a rerun', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    await ui.send(script().say('One.'))
    await page.until(shows(['One.']))
    await page.until(`!!document.querySelector('[aria-label="Edit message"]')`)
    await ui.press('Edit message')
    await page.until(`document.activeElement.getAttribute('aria-label') === 'Message' && !!document.activeElement.closest('.edit-message')`)
    assert.match(await page.run(`document.querySelector('.edit-message').textContent`), /The model then no longer sees turn 1\./)
    await page.run(`document.querySelector('.edit-message textarea').value = ${JSON.stringify(String(script().say('Uno.')))}`)
    assert.deepEqual(await ui.violations(), [])
    await ui.press('Send', '.edit-message')
    await page.until(shows(['One.', 'Uno.']))
    await page.until(`document.querySelector('article.turn').textContent.includes('The model no longer sees this turn')`)
    assert.deepEqual(page.errors, [])
  })

  test('list shows a running session at once, and one with news as unread', async () => {
    const { page } = ui
    const other = cloud.client().session()
    await other.send(`Other one ${script().say('Yes.')}`).final()
    await ui.visit(cloud.api, `#/chat/${other.id}`)
    await page.until(`[...document.querySelectorAll('.sidebar [aria-current]')].some((link) => link.textContent === 'Other one')`)
    await page.run(`location.hash = '#/chat'`)
    await ui.send(`Slow ${script().pace(40).words(200)}`)
    const dot = (/** @type {string} */ name) => `[...document.querySelectorAll('.sidebar li')].find((item) => item.textContent === '${name}')?.querySelector('.dot')?.ariaLabel`
    await page.until(`${dot('Slow')} === 'running'`)
    await other.send(script().say('News.')).final()
    await page.run(`dispatchEvent(new Event('focus'))`)
    await page.until(`${dot('Other one')} === 'unread'`)
    assert.deepEqual(await ui.violations(), [])
    await ui.press('Stop')
    await page.until(`${dot('Slow')} !== 'running'`)
  })

  test('palette shows the words that it found, and opens their turn', async () => {
    const { page } = ui
    const session = cloud.client().session()
    await session.send(`About trees ${script().say('The sequoia is the tallest.')}`).final()
    // The turn isn't on the newest page of the conversation.
    for (let count = 0; count < 21; count += 1) await session.send(`Go on ${script().words(60)}`).final()
    await ui.visit(cloud.api)
    await page.run(`document.querySelector('.search-button').click()`)
    await page.run(`(() => {
      const field = document.querySelector('.palette input')
      field.value = 'sequoia'
      field.dispatchEvent(new Event('input', { bubbles: true }))
    })()`)
    await page.until(`/^About trees(instruction|answer) of turn 1: .*sequoia/s.test(document.querySelector('.palette li')?.textContent)`)
    assert.equal(await page.run(`document.querySelector('.palette li mark').textContent`), 'sequoia')
    await page.run(`document.querySelector('.palette li').click()`)
    await page.until(`location.hash.startsWith('#/chat/${session.id}/turn/')`)
    const position = `[...document.querySelectorAll('article.turn')].find((turn) => turn.textContent.includes('The sequoia is the tallest.'))?.getBoundingClientRect()`
    await page.until(`${position}?.top >= 0 && ${position}.bottom <= innerHeight`)
  })
})

test('forecast goes to the end of a day or a month', () => {
  const at = (/** @type {string} */ now, /** @type {string} */ window, /** @type {string | undefined} */ end) => forecast({ window, used: 10, end, now: new Date(now) })
  assert.equal(at('2026-11-29T06:00:00Z', 'day', '2026-11-30T00:00:00Z'), 40)
  assert.equal(at('2026-11-16T00:00:00Z', 'month', '2026-12-01T00:00:00Z'), 20)
  assert.equal(at('2026-11-29T00:30:00Z', 'day', '2026-11-30T00:00:00Z'), undefined, 'too early to tell')
  assert.equal(at('2026-11-29T06:00:00Z', 'minute', '2026-11-29T06:01:00Z'), undefined)
})

test('branches follow completed reruns alone', () => {
  const turn = (/** @type {number} */ number, /** @type {string} */ status, /** @type {number} */ rerunOf = 0) => ({
    Id: `t${number}`,
    SequenceNumber: number,
    Status: { Id: status, Text: status },
    ...(rerunOf ? { RerunOfTurnId: `t${rerunOf}` } : {}),
  })
  const turns = [turn(1, 'completed'), turn(2, 'failed'), turn(3, 'completed'), turn(4, 'failed', 2), turn(5, 'completed')]
  assert.deepEqual(branchesOf(turns).outside, [])
  assert.equal(turnNames(branchesOf(turns).droppedBy('t2')), 'turns 2 and 3, 5')
  const branched = [...turns, turn(6, 'completed', 3), turn(7, 'pending')]
  assert.equal(turnNames(branchesOf(branched).outside), 'turns 3, 5')
  assert.equal(branchesOf(branched).start?.Id, 't6')
  assert.equal(turnNames(branchesOf(branched).droppedBy('t6')), 'turns 6 and 7')
})
