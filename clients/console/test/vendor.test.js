/** Files of the console's libraries: exactly those of their packages. */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

import { initialFiles } from './initial-files.js'

const folder = new URL('../vendor/', import.meta.url)

test('libraries have the recorded checksums and a license', () => {
  /** @type {Record<string, { integrity: string, license: string, files: Record<string, { from: string, sha256: string }> }>} */
  const packages = JSON.parse(readFileSync(new URL('packages.json', folder), 'utf8'))
  const recorded = Object.values(packages).flatMap(({ files }) => Object.entries(files))
  assert.deepEqual(readdirSync(folder).sort(), [...recorded.map(([file]) => file), 'packages.json'].sort())
  for (const [file, { sha256 }] of recorded) {
    assert.equal(createHash('sha256').update(readFileSync(new URL(file, folder))).digest('hex'), sha256, file)
  }
  for (const [name, { integrity, license, files }] of Object.entries(packages)) {
    assert.match(integrity, /^sha512-.{88}$/, name)
    assert.ok(license !== '' && Object.keys(files).some((file) => file.endsWith('-license.txt')), name)
  }
})

test('files that are loaded at once have less than 500 KB', () => {
  const files = initialFiles()
  const loaded = (/** @type {string} */ name) => files.some((file) => file.endsWith(`/console/${name}`))
  assert.deepEqual(['chat.js', 'style.css', 'usage.js', 'diagram-frame.js'].map(loaded), [true, true, false, false])
  const bytes = files.reduce((sum, file) => sum + readFileSync(new URL(file)).length, 0)
  assert.ok(bytes < 500_000, `${bytes}`)
})
