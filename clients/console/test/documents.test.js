/**
 * Uploads documents of every format, and hostile ones, in the console, and finds them by page. scripts/sample-documents writes
 * them: six real ones, or SAMPLE_DOCUMENTS of them. Skips if it can't.
 *
 * @module
 */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { skip as noBrowser } from '../../javascript/test/chromium.js'
import { Cloud, skip as noCloud } from '../../javascript/test/cloud.js'
import { ConsolePage } from './pages.js'

const script = fileURLToPath(new URL('../../../scripts/sample-documents', import.meta.url))
const count = process.env.SAMPLE_DOCUMENTS ?? '6'

/** @typedef {{ Name: string, Phrase: string, Page: number | null }} RealDocument */
/** @typedef {{ Name: string, Reason: string | null }} HostileDocument */

suite('documents in the console', { skip: noCloud || noBrowser }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'aptix-documents-'))
  const written = spawnSync(script, [folder, count], { stdio: ['ignore', 'ignore', 'inherit'] }).status === 0
  const skip = !written && 'scripts/sample-documents failed; it requires python3 with venv, and PyPI'
  /** @type {Cloud} */
  let cloud
  /** @type {ConsolePage} */
  let ui
  before(async () => {
    ;[cloud, ui] = await Promise.all([Cloud.start(), ConsolePage.open()])
    ui.key = cloud.consoleKey
  })
  after(async () => {
    rmSync(folder, { recursive: true, force: true })
    await Promise.all([ui?.end(), cloud?.end()])
  })

  test('chosen documents become ready and are found by page, and hostile ones fail with a reason', { skip }, async () => {
    /** @type {{ Real: RealDocument[], Hostile: HostileDocument[] }} */
    const { Real, Hostile } = JSON.parse(readFileSync(join(folder, 'documents.json'), 'utf8'))
    assert.equal(Real.length, Number(count))
    await ui.visit(cloud.api, '#/knowledge')
    await ui.page.until(`!!document.querySelector('tbody td')`)
    const { result } = await ui.page.send('Runtime.evaluate', { expression: `document.getElementById('knowledge-files')` })
    const files = [...Real, ...Hostile].map(({ Name }) => join(folder, Name))
    await ui.page.send('DOM.setFileInputFiles', { files, objectId: result.objectId })

    /** @param {string} name */
    const settled = async (name) => {
      const tag = `document.querySelector(${JSON.stringify(`tr[data-name="${name}"] .tag`)})`
      const end = Date.now() + 300_000
      for (;;) {
        const status = await ui.page.run(`${tag}?.textContent ?? ''`)
        if (['ready', 'failed'].includes(status)) return ui.page.run(`${tag}.parentElement.textContent`)
        assert.ok(Date.now() < end, `${name} is ${status}: ${await ui.page.run(`${tag}?.parentElement.textContent`)}`)
        await new Promise((resolve) => setTimeout(resolve, 200))
      }
    }
    for (const { Name } of Real) assert.equal(await settled(Name), 'ready', Name)
    for (const { Name, Reason } of Hostile) {
      const status = await settled(Name)
      if (Reason !== null) assert.ok(status.startsWith(`failed${Reason}`), `${Name} is ${status}`)
    }

    const client = cloud.client()
    const missed = []
    for (const { Name, Phrase, Page } of Real) {
      const session = client.session()
      const sent = session.send(Phrase)
      await sent.final()
      const turn = await session.turn(sent.id)
      const refs = /** @type {{ Path: string, Page?: number }[]} */ (turn.ChunkRefs ?? [])
      const isFound = refs.some((ref) => ref.Path === Name && (Page === null || ref.Page === Page))
      if (!isFound) missed.push({ Name, Phrase, Page, refs: refs.map((ref) => `${ref.Path} ${ref.Page}`) })
    }
    assert.deepEqual(missed, [])
  })
})
