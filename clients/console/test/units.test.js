/** Titles, groups of sessions, word diffs, series of charts, budgets and JSON paths of the console. */

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { script } from '../../javascript/src/testing.js'
import { parseBudget } from '../budget-dialog.js'
import { diffWords } from '../diff.js'
import { pathText, withValue } from '../json-path.js'
import { inAlphabet } from '../maths.js'
import { labelOf } from '../schema-form.js'
import { visibilityAction } from '../session-actions.js'
import { groupSessions } from '../session-groups.js'
import { displayTitle, splitInstruction } from '../title.js'
import { percentile } from '../usage-times.js'
import { axisEnd, buckets, series, seriesNames } from '../usage-series.js'

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

test('action on the visibility of a session is named by what it does', () => {
  assert.equal(visibilityAction({ Visibility: 'participants' }), 'Show to the org')
  assert.equal(visibilityAction({ Visibility: 'org' }), 'Make private')
  assert.equal(visibilityAction({}), 'Make private', 'an older service shows it to the org')
})

test('words that differ are marked', () => {
  const parts = diffWords('one two three', 'one 2 three').map(({ kind, text }) => `${kind} ${text}`)
  assert.deepEqual(parts, ['same one', 'same  ', 'removed two', 'added 2', 'same  ', 'same three'])
})

test('bars are days, or weeks of a long range', () => {
  assert.deepEqual(buckets('2026-01-30', '2026-02-01').map(({ from }) => from), ['2026-01-30', '2026-01-31', '2026-02-01'])
  const weeks = buckets('2026-01-01', '2026-03-31')
  assert.deepEqual([weeks.length, weeks[0], weeks.at(-1)], [13, { from: '2026-01-01', to: '2026-01-07' }, { from: '2026-03-26', to: '2026-03-31' }])
  assert.deepEqual([0, 0.003, 1, 7, 41, 950].map(axisEnd), [1, 0.003, 1, 8, 50, 1000])
})

test('series are the largest groups, and one of all others', () => {
  const group = (/** @type {string} */ Key, /** @type {number} */ tokens) => /** @type {any} */ ({ Key, Turns: 1, Usage: { TotalTokens: tokens } })
  const days = new Map([
    ['2026-01-01', ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((key, n) => group(key, 70 - n))],
    ['2026-01-02', [group('g', 500)]],
  ])
  const names = seriesNames(days)
  assert.deepEqual(names, ['g', 'a', 'b', 'c', 'd', '2 others'])
  const tokens = { name: 'Tokens', value: (/** @type {any} */ { Usage }) => Usage.TotalTokens, format: String }
  const all = series(tokens, buckets('2026-01-01', '2026-01-03'), days, names)
  assert.deepEqual(all[0], { name: 'g', values: [64, 500, 0] })
  assert.deepEqual(all.at(-1), { name: '2 others', values: [66 + 65, 0, 0] })
})

test('percentile is a value that the share of the values does not exceed', () => {
  const values = [50, 10, 40, 20, 30, 60, 70, 80, 90, 100]
  assert.deepEqual([0, 50, 90, 91, 100].map((percent) => percentile(values, percent)), [10, 50, 90, 100, 100])
  assert.equal(percentile([7], 99), 7)
  assert.equal(percentile([], 50), undefined)
})

test('budget of a form has its limit in the unit of the API', () => {
  const values = { Id: ' monthly ', Scope: 'user', Subject: 'ada', Window: 'month', Unit: 'money', Limit: '0.25', Action: 'stop' }
  assert.deepEqual(parseBudget(values), { Id: 'monthly', Scope: 'user', Subject: 'ada', Window: 'month', Unit: 'money', Limit: 250_000, Action: 'stop' })
  assert.equal('Subject' in parseBudget({ ...values, Scope: 'org' }), false)
  assert.equal(parseBudget({ ...values, Unpriced: 'allow' }).Unpriced, 'allow')
  assert.equal('Unpriced' in parseBudget({ ...values, Unit: 'tokens', Limit: '1', Unpriced: 'allow' }), false)
  for (const Limit of ['', '0', '-1', 'many']) assert.throws(() => parseBudget({ ...values, Limit }), /positive amount/)
  assert.throws(() => parseBudget({ ...values, Unit: 'turns', Limit: '1.5' }), /whole number/)
})

test('changes of a form change the document at their path', () => {
  const context = { Name: 'A', ClientTools: [{ Name: 'one' }, { Name: 'two' }] }
  assert.deepEqual(withValue(context, ['ClientTools', 1, 'Strict'], true).ClientTools, [{ Name: 'one' }, { Name: 'two', Strict: true }])
  assert.deepEqual(withValue(context, ['ClientTools', 0], undefined).ClientTools, [{ Name: 'two' }])
  const limited = withValue(context, ['PromptLimits', 'FileTokens'], 5)
  assert.deepEqual(limited.PromptLimits, { FileTokens: 5 })
  assert.deepEqual(withValue(limited, ['PromptLimits', 'FileTokens'], undefined), context, 'an empty object is removed')
  assert.deepEqual(withValue(context, ['Fallbacks', 0], {}).Fallbacks, [{}])
  assert.equal(pathText(['ClientTools', 0, 'Name']), 'ClientTools[0].Name')
  assert.deepEqual(['MaxOutputTokens', 'System', 'Id'].map(labelOf), ['Max output tokens', 'Instructions', 'Id'])
})

test('letters of formulas have the code points of their alphabet', () => {
  assert.deepEqual(['double-struck', 'script', 'fraktur', 'bold', 'italic'].map((alphabet) => inAlphabet('EN1x', alphabet)), ['𝔼ℕ𝟙𝕩', 'ℰ𝒩1𝓍', '𝔈𝔑1𝔵', '𝐄𝐍𝟏𝐱', 'EN1x'])
})
