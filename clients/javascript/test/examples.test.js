/** The terminal example and its workspace. */

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { Workspace } from '../../../examples/coding-agent/workspace.js'
import { applyPatch, countInvisible, escapeInvisible, parsePatch } from '../src/patch.js'
import { script } from '../src/testing.js'
import { Cloud, skip } from './cloud.js'

const agent = fileURLToPath(new URL('../../../examples/coding-agent/agent.js', import.meta.url))

/** @type {string} */
let folder
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'aptix-workspace-'))
  mkdirSync(join(folder, 'work/src'), { recursive: true })
  writeFileSync(join(folder, 'secret.txt'), 'secret')
  writeFileSync(join(folder, 'work/src/a.txt'), 'one\ntwo\nthree\n')
  symlinkSync(join(folder, 'secret.txt'), join(folder, 'work/link.txt'))
  symlinkSync(folder, join(folder, 'work/up'))
})
after(() => rmSync(folder, { recursive: true }))

test('agent example shows its help, and refuses unknown options with 2', () => {
  const run = (/** @type {string} */ option) => spawnSync(process.execPath, [agent, option], { encoding: 'utf8' })
  for (const option of ['--help', '-h']) {
    const { status, stdout } = run(option)
    assert.equal(status, 0)
    for (const text of ['Usage:', '--url', '--token', '--session', 'Examples:', 'aptix token']) assert.ok(stdout.includes(text), text)
  }
  const { status, stdout, stderr } = run('--nope')
  assert.deepEqual([status, stdout], [2, ''])
  assert.match(stderr, /--nope/)
})

suite('workspace', () => {
  test('paths outside the workspace are rejected', async () => {
    const workspace = await Workspace.open(join(folder, 'work'))
    assert.equal(await workspace.read('src/a.txt'), 'one\ntwo\nthree\n')
    for (const path of ['../secret.txt', 'link.txt', 'up/secret.txt', join(folder, 'secret.txt'), 'src/../../secret.txt', '']) {
      await assert.rejects(workspace.read(path), /workspace/, path)
      await assert.rejects(workspace.write(path, 'x'), /workspace/, path)
    }
    await assert.rejects(workspace.write('up/new/file.txt', 'x'), /workspace/)
    await assert.rejects(workspace.read('src/none.txt'), /does not exist/)
  })

  test('list and search do not follow links to the outside', async () => {
    const workspace = await Workspace.open(join(folder, 'work'))
    assert.deepEqual(await workspace.list(''), { files: ['src/a.txt'], more: false })
    const found = await workspace.search('^tw', 'src')
    assert.deepEqual(found, { matches: [{ path: 'src/a.txt', line: 2, text: 'two' }], more: false })
    assert.deepEqual((await workspace.search('secret', '')).matches, [])
    await assert.rejects(workspace.list('up'), /workspace/)
  })

  test('only matching patches apply', () => {
    const text = 'a\nb\nc\nd\ne\nf\n'
    assert.equal(applyPatch(text, '--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -5,2 +5,3 @@\n e\n+E\n f\n'), 'a\nB\nc\nd\ne\nE\nf\n')
    assert.equal(applyPatch(text, '@@ -40,2 +40,1 @@\n-d\n e\n'), 'a\nb\nc\ne\nf\n', 'line numbers may be off')
    assert.equal(applyPatch('', '--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+one\n+two\n'), 'one\ntwo\n')
    assert.equal(applyPatch('a\n', '@@ -1 +1 @@\n-a\n+b\n'), 'b\n')
    assert.throws(() => applyPatch(text, '@@ -1,2 +1,2 @@\n a\n-x\n+y\n'), /does not match the file/)
    assert.throws(() => applyPatch(text, 'rewrite it'), /no hunks/)
  })

  test('lines outside of hunks are refused', () => {
    const header = '--- a/x\n+++ b/x\n'
    const hunk = '@@ -1 +1 @@\n-a\n+b\n'
    assert.equal(applyPatch('a\n', `diff --git a/x b/x\nindex 1..2 100644\n${header}${hunk}\n`), 'b\n')
    for (const junk of ['+c\n', '-c\n', 'Only a comment.\n', '--- a/y\n+++ /dev/null\n'])
      assert.throws(() => applyPatch('a\n', header + hunk + junk), /Line 6 of the patch belongs to no hunk/, junk)
    assert.throws(() => applyPatch('a\n', `rename from y\n${header}${hunk}`), /Line 1 of the patch/)
    assert.throws(() => applyPatch('a\n', `${header}@@ -1,2 +1,2 @@\n-a\n+b\n`), /fewer lines/)
    // Lines of a hunk that look like a header don't create or delete the file.
    const { isNew, isDeletion } = parsePatch(`${header}@@ -1 +1 @@\n--- /dev/null\n+++ /dev/null\n`)
    assert.deepEqual([isNew, isDeletion], [false, false])
    assert.throws(() => applyPatch('a\nb\n', '--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n'), /does not remove all/)
  })

  test('patched text keeps every byte', () => {
    assert.equal(applyPatch('a\r\nb\r\n', '@@ -1,2 +1,2 @@\n-a\r\n+c\rd\r\n b\r\n'), 'c\rd\r\nb\r\n')
    assert.equal(applyPatch('a', '@@ -1 +1 @@\n-a\n+b\n'), 'b', 'the file has no line break at its end')
    assert.equal(applyPatch('a\n', '@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n'), 'b')
    assert.throws(() => applyPatch('a\nz\n', '@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n'), /before its last line/)
  })

  test('control and invisible characters are escaped', () => {
    assert.equal(escapeInvisible('a\u001b[2K\r\n\tb\u202e\u200b'), 'a\\u{1b}[2K\\u{d}\n\tb\\u{202e}\\u{200b}')
    assert.equal(escapeInvisible('größe 日本語 ❤\ufe0f'), 'größe 日本語 ❤\ufe0f')
    assert.deepEqual(['a\r\nb', 'a\rb', '\u{e0041}\u2066'].map(countInvisible), [0, 1, 2])
  })
})

suite('coding agent', { skip }, () => {
  /** @type {Cloud} */
  let cloud
  before(async () => (cloud = await Cloud.start()))
  after(() => cloud.end())

  /** @param {string[]} lines */
  async function runAgent(lines) {
    const env = { ...process.env, APTIX_URL: cloud.api, APTIX_TOKEN: cloud.token('ada') }
    const program = spawn(process.execPath, [agent, join(folder, 'work')], { env, stdio: ['pipe', 'pipe', 'inherit'] })
    let output = ''
    program.stdout.setEncoding('utf8').on('data', (text) => (output += text))
    program.stdin.end(`${lines.join('\n')}\n`)
    const [code] = await once(program, 'exit')
    assert.equal(code, 0)
    return output
  }

  test('agent reads file and changes it only with approval', async () => {
    const patch = '--- a/src/a.txt\n+++ b/src/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n'
    const change = String(script().call('workspace_write_patch', { path: 'src/a.txt', patch }).afterTools().echo())
    const read = script().say('Let me see. ').call('workspace_read_file', { path: 'src/a.txt' })
    const refused = await runAgent([String(read.call('workspace_read_file', { path: '../secret.txt' }).afterTools().echo()), change, 'n'])
    assert.match(refused, /· workspace_read_file src\/a\.txt/)
    assert.match(refused, /\.\.\/secret\.txt is not in the workspace/)
    assert.match(refused, /one\\ntwo/)
    assert.match(refused, /-two\n\+2\n/)
    assert.match(refused, /The user declined this call/)
    assert.equal(readFileSync(join(folder, 'work/src/a.txt'), 'utf8'), 'one\ntwo\nthree\n')
    const accepted = await runAgent([change, 'y'])
    assert.match(accepted, /"applied":true/)
    assert.equal(readFileSync(join(folder, 'work/src/a.txt'), 'utf8'), 'one\n2\nthree\n')
    assert.match(await runAgent([change, 'y']), /does not match the file/)
  })

  test('forged patch and path are printed escaped', async () => {
    const patch = '--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+evil\r\u001b[2K+good\u202e\n'
    const path = 'b\r\u001b[2K\nChange a.txt'
    const output = await runAgent([String(script().call('workspace_write_patch', { path, patch }).afterTools().echo()), 'n'])
    assert.ok(output.includes('+evil\\u{d}\\u{1b}[2K+good\\u{202e}'), output)
    assert.ok(output.includes('Change b\\u{d}\\u{1b}[2K\\nChange a.txt? [y/n]'), output)
    assert.ok(!/[\r\u001b\u202e]/.test(output))
  })
})
