/** Files of the console's libraries: exactly those of their packages. */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

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

test('modules have less than 500 KB without libraries', () => {
  const bytes = ['../', '../../javascript/src/'].flatMap((path) => {
    const modules = new URL(path, import.meta.url)
    const names = readdirSync(modules).filter((name) => /\.(js|css|html|svg)$/.test(name))
    return names.map((name) => readFileSync(new URL(name, modules)).length)
  })
  assert.ok(bytes.reduce((sum, size) => sum + size, 0) < 500_000)
})
