/** Calls that wait for an approval, with the SDK against a local cloud. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { after, before, suite, test } from 'node:test'

import { AptixError } from '../src/index.js'
import { script } from '../src/testing.js'
import { Cloud, skip } from './cloud.js'

suite('approvals', { skip }, () => {
  /** @type {Cloud} */
  let cloud
  const performed = /** @type {string[]} */ ([])
  const shop = createServer(async (request, response) => {
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    performed.push(JSON.parse(Buffer.concat(chunks).toString()).order)
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"status":"refunded"}')
  })
  before(async () => {
    ;[cloud] = await Promise.all([Cloud.start(), once(shop.listen(0, '127.0.0.1'), 'listening')])
    const { port } = /** @type {import('node:net').AddressInfo} */ (shop.address())
    const Parameters = { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] }
    const refund = { Name: 'refund', Description: 'Refunds an order.', Method: 'POST', Path: '/refunds', Parameters, Approval: { Policy: 'always' } }
    const token = cloud.token('olga', '--operator')
    const put = async (/** @type {string} */ path, /** @type {unknown} */ document) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const response = await fetch(`${cloud.api}/api/ai/agent/${path}`, { method: 'PUT', headers, body: JSON.stringify(document) })
      assert.ok(response.ok, await response.text())
    }
    await put('connections/shop', { Name: 'Shop', Protocol: 'http', Url: `http://127.0.0.1:${port}`, Tools: [refund] })
    await put('agents/clerk', { Name: 'Clerk', Tools: ['shop'] })
  })
  after(async () => {
    shop.close()
    await cloud?.end()
  })

  /** @param {string} order */
  async function ask(order) {
    const aptix = cloud.client({ retry: { maxRetries: 0 } })
    const turn = aptix.session(undefined, { agent: 'clerk' }).send(script().call('shop__refund', { order }).afterTools().say('Done.'))
    const error = await turn.final().catch((/** @type {unknown} */ caught) => caught)
    assert.ok(error instanceof AptixError, String(error))
    assert.equal(error.code, 'TurnInProgress')
    return { aptix, turn, approval: await aptix.approvals.get(error.details ?? '') }
  }

  /**
   * Waits until a turn has ended, which nobody asks for, and returns its answer.
   * @param {import('../src/index.js').Turn} turn
   */
  async function ended({ sessionId, id }) {
    const session = cloud.client().session(sessionId)
    while ((await session.turn(id)).Status.Id === 'pending') await new Promise((resolve) => setTimeout(resolve, 50))
    return session.resume({ turnId: id }).final()
  }

  test('error of a turn that waits names the approval, and the turn goes on after it', async () => {
    const { aptix, turn, approval } = await ask('1')
    assert.deepEqual([approval.Status, approval.Tool, approval.ArgumentsJson], ['pending', 'shop__refund', '{"order":"1"}'])
    const listed = []
    for await (const { ApprovalId } of aptix.approvals.list()) listed.push(ApprovalId)
    assert.deepEqual(listed, [approval.ApprovalId])
    const approved = await aptix.approvals.approve(approval)
    assert.deepEqual([approved.Status, approved.MayAnswer], ['approved', false])
    assert.equal((await ended(turn)).text, 'Done.')
    assert.deepEqual(performed, ['1'])
    await assert.rejects(aptix.approvals.deny(approval), { code: 'ApprovalAnswered' })
  })

  test('changed call is refused, and a denial has its reason', async () => {
    const { aptix, turn, approval } = await ask('2')
    await assert.rejects(aptix.approvals.approve({ ...approval, Hash: '0'.repeat(64) }), { code: 'ApprovalMismatch' })
    await assert.rejects(aptix.approvals.approve(approval, { argumentsJson: '{"order":"3"}' }), { code: 'ApprovalEditNotAllowed' })
    assert.equal((await aptix.approvals.deny(approval, { reason: 'Not today.' })).Reason, 'Not today.')
    assert.equal((await ended(turn)).text, 'Done.')
    assert.deepEqual(performed, ['1'])
  })
})
