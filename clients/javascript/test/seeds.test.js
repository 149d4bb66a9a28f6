/** Guarantees of the SDK over randomly cut connections. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { Cloud, collect, skip } from './cloud.js'
import { proxy, seeded } from './proxy.js'

const SEEDS = Number(process.env.APTIX_SEEDS ?? 60)
const AT_ONCE = 8

/** @type {Cloud} */
let cloud
before(async () => {
  if (!skip) cloud = await Cloud.start()
})
after(() => cloud?.end())

/**
 * Returns a random turn script: tool rounds, text and pace.
 * @param {() => number} random
 */
function script(random) {
  const upTo = (/** @type {number} */ most) => Math.floor(random() * (most + 1))
  const rounds = Array.from({ length: Math.floor(random() * random() * 3) }, () => {
    const calls = Array.from({ length: 1 + upTo(2) }, (_, n) => `call workspace_read_file {"path":"${n}-${upTo(999)}"}`)
    return `say "Looking für 🦀. "; ${calls.join('; ')}; then; `
  })
  const calls = rounds.join('').split('call ').length - 1
  const pace = random() < 0.5 ? 'pace 2ms; ' : ''
  const answer = `${pace}chunk ${1 + upTo(9)}; say "Ünï 🦀 "; words ${upTo(40)}`
  return { text: `[[script: ${rounds.join('')}${answer}]]`, calls, modelCalls: rounds.length + 1 }
}

/** @param {number} seed */
async function run(seed) {
  const random = seeded(seed)
  let cutsLeft = 1 + Math.floor(random() * 4)
  const flakyProxy = await proxy(cloud.api, () => (cutsLeft-- > 0 ? Math.floor(random() * 2500) : undefined))
  try {
    const { text, calls, modelCalls } = script(random)
    const session = cloud.client({ baseUrl: flakyProxy.url }).session(undefined, { agent: 'workspace' })
    /** @type {string[]} */
    const ran = []
    const tools = {
      workspace_read_file: (/** @type {{ path: string }} */ { path }, /** @type {any} */ { call }) => {
        ran.push(call.id)
        return { path }
      },
    }
    const turn = session.send(text, { tools })
    const { text: collected, events } = await collect(turn)
    const answer = await turn.final()
    const stored = await (await session.payload(turn.id, 'answer')).text()
    assert.equal(collected, answer.text)
    assert.equal(answer.text, stored)
    assert.ok(!events.some((event) => event.type === 'reset' && event.reason === 'corrected'), 'the stream itself was complete')
    assert.equal(new Set(ran).size, ran.length, 'no call is run twice')
    assert.equal(ran.length, calls)
    const reported = events.flatMap((event) => (event.type === 'tool-result' ? [event.call.id] : []))
    assert.deepEqual(reported, ran)
    return { cuts: flakyProxy.cuts, modelCalls }
  } catch (error) {
    throw new Error(`seed ${seed}`, { cause: error })
  } finally {
    flakyProxy.end()
  }
}

test(`${SEEDS} turns over cut connections show stored answer and run calls once`, { skip }, async (t) => {
  const seeds = Array.from({ length: SEEDS }, (_, seed) => seed)
  let [cuts, modelCalls] = [0, 0]
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let seed; (seed = seeds.shift()) !== undefined; ) {
        const outcome = await run(seed)
        cuts += outcome.cuts
        modelCalls += outcome.modelCalls
      }
    }),
  )
  const { count } = await (await fetch(`${cloud.model}/scripted/requests`)).json()
  assert.equal(count, modelCalls, 'retries do not call the model again')
  assert.ok(cuts > SEEDS / 2, 'connections were cut')
  t.diagnostic(`${cuts} connections cut, ${modelCalls} model calls`)
})
