/** The snippets of the README, run in order as one program against a local cloud. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'

import { Cloud, skip } from './cloud.js'

/** Snippets that need a React component around them, or a browser. */
const NOT_RUN = ['useChat(', 'useLocalRuntime(', 'localStorage']

test('README snippets run', { skip }, async () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const snippets = [...readme.matchAll(/```js\n(.*?)```/gs)].map(([, text = '']) => text).filter((text) => !NOT_RUN.some((part) => text.includes(part)))
  assert.ok(snippets.length >= 3)
  const cloud = await Cloud.start()
  try {
    // Node resolves the package's own name in its folder.
    const program = snippets.join('\n').replaceAll('http://127.0.0.1:9000', cloud.api).replaceAll('http://127.0.0.1:40001/v1', cloud.model)
    const env = { ...process.env, APTIX_TOKEN: cloud.token('ada') }
    const done = spawnSync(process.execPath, ['--input-type=module', '--eval', program], { cwd: fileURLToPath(new URL('..', import.meta.url)), env, encoding: 'utf8', timeout: 60_000 })
    assert.equal(done.status, 0, done.stderr)
    assert.match(done.stdout, /What is a lease\?/)
  } finally {
    await cloud.end()
  }
})

test('snippets of the documents are valid modules', () => {
  const root = fileURLToPath(new URL('../../../', import.meta.url))
  const pages = readdirSync(`${root}docs`, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.md'))
  let count = 0
  for (const page of ['README.md', 'examples/README.md', ...pages.map((path) => `docs/${path}`)]) {
    const text = readFileSync(root + page, 'utf8')
    for (const [, snippet = ''] of text.matchAll(/```js\n(.*?)```/gs)) {
      count += 1
      const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--check'], { input: snippet, encoding: 'utf8' })
      assert.equal(status, 0, `${page}: ${stderr}`)
    }
  }
  assert.ok(count >= 5, `${count}`)
})
