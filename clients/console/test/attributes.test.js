/** Attributes of documents, as a user writes them. */

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { parseAttributes } from '../attributes.js'

test('attributes are typed and grouped by key', () => {
  assert.deepEqual(parseAttributes('Team=legal\n\nYear=2025\nYear = 2026\nPublic=true\nNote=a=b'), [
    { Key: 'Team', Values: ['legal'] },
    { Key: 'Year', Values: [2025, 2026] },
    { Key: 'Public', Values: [true] },
    { Key: 'Note', Values: ['a=b'] },
  ])
  assert.throws(() => parseAttributes('Team'), /Team needs the form KEY=VALUE/)
})
