/** Titles, groups of sessions and word diffs of the console. */

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { script } from '../../javascript/src/testing.js'
import { diffWords } from '../diff.js'
import { groupSessions } from '../session-groups.js'
import { displayTitle, splitInstruction } from '../title.js'

test('title is the text of an instruction, or what its script says', () => {
  assert.equal(displayTitle('Fix the build'), 'Fix the build')
  assert.equal(displayTitle(`Fix it ${script().say('Done.')}`), 'Fix it')
  assert.equal(displayTitle(String(script().say('# A title\n\nText'))), 'A title Text')
  assert.equal(displayTitle('[[script: pace 30ms; words 900'), 'Script: pace 30ms; words 900', 'a truncated name')
  assert.equal(displayTitle(`Why does ${'the long word '.repeat(9)}`), 'Why does the long word the long word the long word the long…')
  assert.equal(displayTitle(undefined), 'Untitled')
  assert.deepEqual(splitInstruction('a [[script: words 3]] b'), { text: 'a  b', script: 'words 3' })
  assert.deepEqual(splitInstruction('plain'), { text: 'plain' })
})

test('sessions are grouped by day, pinned ones first', () => {
  const now = new Date(2026, 5, 15, 10)
  const session = (/** @type {string} */ Id, /** @type {number} */ days) =>
    /** @type {any} */ ({ Id, LastUpdatedDate: new Date(2026, 5, 15 - days, 9).toISOString() })
  const sessions = [session('a', 0), session('b', 1), session('c', 3), session('d', 20), session('e', 90), session('f', 91)]
  const groups = groupSessions(sessions, ['e'], now).map(({ label, sessions: members }) => [label, members.map(({ Id }) => Id).join()])
  assert.deepEqual(groups, [['Pinned', 'e'], ['Today', 'a'], ['Yesterday', 'b'], ['Previous 7 days', 'c'], ['Previous 30 days', 'd'], ['Older', 'f']])
})

test('words that differ are marked', () => {
  const parts = diffWords('one two three', 'one 2 three').map(({ kind, text }) => `${kind} ${text}`)
  assert.deepEqual(parts, ['same one', 'same  ', 'removed two', 'added 2', 'same  ', 'same three'])
})
