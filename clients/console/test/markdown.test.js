/** Markdown of a model is not trusted: whatever it says, values of a few kinds come of it, and no link but an honest one. */

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { seeded } from '../../javascript/test/proxy.js'
import { compare } from '../compare.js'
import { address } from '../markdown-inline.js'
import { parse } from '../markdown-blocks.js'

/** @param {string} text */
const first = (text) => parse(text)[0]
const words = (/** @type {string} */ text) => ({ type: 'text', text })

test('answers are read as they are meant', () => {
  assert.deepEqual(first('# A *title* #'), {
    type: 'heading',
    level: 1,
    children: [words('A '), { type: 'emphasis', children: [words('title')] }],
  })
  assert.deepEqual(first('```rust\nfn x() {}\n```'), { type: 'code', language: 'rust', text: 'fn x() {}' })
  assert.deepEqual(first('```\nstill being writ'), { type: 'code', language: '', text: 'still being writ' })
  assert.deepEqual(first('a **b `c*d`** snake_case_name'), {
    type: 'paragraph',
    children: [
      words('a '),
      { type: 'strong', children: [words('b '), { type: 'code', text: 'c*d' }] },
      words(' snake_case_name'),
    ],
  })
  assert.deepEqual(first('- a\n  - b\n- c'), {
    type: 'list',
    start: undefined,
    items: [
      [
        { type: 'paragraph', children: [words('a')] },
        { type: 'list', start: undefined, items: [[{ type: 'paragraph', children: [words('b')] }]] },
      ],
      [{ type: 'paragraph', children: [words('c')] }],
    ],
  })
  assert.deepEqual(first('| a | b |\n|---|--:|\n| 1 |'), {
    type: 'table',
    head: [[words('a')], [words('b')]],
    rows: [[[words('1')], []]],
  })
  assert.deepEqual(first('> q\n> r'), { type: 'quote', children: [{ type: 'paragraph', children: [words('q\nr')] }] })
  assert.deepEqual(first('see https://a.b/c.'), {
    type: 'paragraph',
    children: [words('see '), { type: 'link', href: 'https://a.b/c', children: [words('https://a.b/c')] }, words('.')],
  })
  const numbered = first('3. x\n4. y')
  assert.equal(numbered?.type === 'list' && numbered.start, 3)
})

test('a link leads to http, https or mailto, or is a text', () => {
  for (const target of ['https://a.b/', 'http://a.b/', 'mailto:a@b.c', ' HTTPS://A.B/ ']) assert.ok(address(target), target)
  const others = [
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'java\nscript:alert(1)',
    '\u0001javascript:alert(1)',
    'data:text/html,<script>',
  ]
  for (const target of [
    ...others,
    'vbscript:x',
    'file:///etc/passwd',
    'blob:https://a.b/c',
    '/relative',
    '//a.b',
    '#x',
    '',
    'https://',
  ]) {
    assert.equal(address(target), undefined, target)
    assert.ok(!JSON.stringify(parse(`[text](${target})`)).includes('"link"'), target)
  }
  assert.deepEqual(first('<img src=x onerror=alert(1)><script>alert(1)</script>'), {
    type: 'paragraph',
    children: [words('<img src=x onerror=alert(1)><script>alert(1)</script>')],
  })
  assert.deepEqual(first('![a picture](https://a.b/x.png)'), {
    type: 'paragraph',
    children: [{ type: 'link', href: 'https://a.b/x.png', children: [words('a picture')] }],
  })
})

const PIECES = [
  '<script>',
  '</script>',
  '<img src=x onerror=alert(1)>',
  '[a](javascript:alert(1))',
  '[a](https://x.y)',
  '![',
  '](',
  '[',
  ']',
  '(',
  ')',
  '`',
  '```',
  '```js',
  '~~~',
  '*',
  '**',
  '_',
  '__',
  '~~',
  '> ',
  '- ',
  '1. ',
  '# ',
  '|',
  '|-|',
  '|---|\n',
  '\n',
  '\n\n',
  '  ',
  '    ',
  '\\',
  '<https://x>',
  'https://x.y/(z)',
  '&lt;',
  '\0',
  'word',
  '🦀',
  '\u202e',
  '\r\n',
  'javascript:',
  'data:text/html,',
  '---',
  '\t',
  '"',
  "'",
  '=',
]
const KINDS = [
  'paragraph',
  'heading',
  'code',
  'quote',
  'rule',
  'list',
  'table',
  'text',
  'strong',
  'emphasis',
  'strike',
  'link',
  'break',
]

/**
 * Every value within a value.
 * @param {any} value
 * @returns {Generator<any>}
 */
function* within(value) {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield value
  for (const inner of Object.values(value)) yield* within(inner)
}

test('nothing but the known kinds comes out of 4,000 texts, and no other link', () => {
  const random = seeded(7)
  for (let seed = 0; seed < 4_000; seed++) {
    const text = Array.from(
      { length: 1 + Math.floor(random() * 40) },
      () => PIECES[Math.floor(random() * PIECES.length)],
    ).join('')
    for (const { type, href } of within(parse(text))) {
      assert.ok(KINDS.includes(type), `${type} of ${JSON.stringify(text)}`)
      assert.ok(type !== 'link' || /^(https?:\/\/|mailto:)/.test(href), `${href} of ${JSON.stringify(text)}`)
    }
  }
})

test('depth and length are bounded', () => {
  for (const piece of ['> ', '- ', '*', '**a', '[', '![x](', '`', '_a ', '1. ', '[a](b', '|a']) {
    let deepest = 0
    const depth = (/** @type {any} */ value, /** @type {number} */ at) => {
      deepest = Math.max(deepest, at)
      if (typeof value === 'object' && value) Object.values(value).forEach((inner) => depth(inner, at + 1))
    }
    depth(parse(piece.repeat(5_000)), 0)
    assert.ok(deepest < 80, `${piece} ${deepest}`)
  }
  assert.deepEqual(
    parse('*a*'.repeat(200_000)).map(({ type }) => type),
    ['code'],
  )
})

test('what differs between two texts is told line by line', () => {
  const told = compare('a\nb\nc\nd', 'a\nx\nc\nd\ne').map(({ kind, text }) => `${kind} ${text}`)
  assert.deepEqual(told, ['same a', 'gone b', 'new x', 'same c', 'same d', 'new e'])
  const long = Array.from({ length: 3_000 }, (_, n) => `line ${n}`)
  const lines = compare(long.join('\n'), long.map((line) => `${line}!`).join('\n'))
  assert.equal(lines.length, 6_000)
})
