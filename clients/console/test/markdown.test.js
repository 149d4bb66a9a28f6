/** Markdown parser: untrusted text yields only known node types and safe links. */

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { seeded } from '../../javascript/test/proxy.js'
import { diffLines } from '../diff.js'
import { safeUrl } from '../markdown-inline.js'
import { parse } from '../markdown-blocks.js'

/** @param {string} text */
const first = (text) => parse(text)[0]
const textNode = (/** @type {string} */ text) => ({ type: 'text', text })

test('parser reads common Markdown of answers', () => {
  assert.deepEqual(first('# A *title* #'), {
    type: 'heading',
    level: 1,
    children: [textNode('A '), { type: 'emphasis', children: [textNode('title')] }],
  })
  assert.deepEqual(first('```rust\nfn x() {}\n```'), { type: 'code', language: 'rust', text: 'fn x() {}', isClosed: true })
  assert.deepEqual(first('```\nstill being writ'), { type: 'code', language: '', text: 'still being writ', isClosed: false })
  assert.deepEqual(first('a **b `c*d`** snake_case_name'), {
    type: 'paragraph',
    children: [
      textNode('a '),
      { type: 'strong', children: [textNode('b '), { type: 'code', text: 'c*d' }] },
      textNode(' snake_case_name'),
    ],
  })
  assert.deepEqual(first('- a\n  - b\n- c'), {
    type: 'list',
    start: undefined,
    items: [
      [
        { type: 'paragraph', children: [textNode('a')] },
        { type: 'list', start: undefined, items: [[{ type: 'paragraph', children: [textNode('b')] }]] },
      ],
      [{ type: 'paragraph', children: [textNode('c')] }],
    ],
  })
  assert.deepEqual(first('| a | b |\n|---|--:|\n| 1 |'), {
    type: 'table',
    head: [[textNode('a')], [textNode('b')]],
    rows: [[[textNode('1')], []]],
    align: [undefined, 'right'],
  })
  assert.deepEqual(first('> q\n> r'), { type: 'quote', children: [{ type: 'paragraph', children: [textNode('q\nr')] }] })
  assert.deepEqual(first('see https://a.b/c.'), {
    type: 'paragraph',
    children: [textNode('see '), { type: 'link', href: 'https://a.b/c', children: [textNode('https://a.b/c')] }, textNode('.')],
  })
  const numbered = first('3. x\n4. y')
  assert.equal(numbered?.type === 'list' && numbered.start, 3)
})

test('formulas are recognized and prices are text', () => {
  const children = (/** @type {string} */ text) => /** @type {any} */ (first(text)).children
  assert.deepEqual(children('an $O(n)$ and \\(x_1\\)'), [
    textNode('an '),
    { type: 'formula', text: 'O(n)' },
    textNode(' and '),
    { type: 'formula', text: 'x_1' },
  ])
  for (const text of ['between $5 and $10', 'a US$5 b$', '$ x $', '`$x$`']) {
    assert.ok(!JSON.stringify(parse(text)).includes('formula'), text)
  }
  assert.deepEqual(first('$$\na + b\n$$'), { type: 'formula', text: 'a + b' })
  assert.deepEqual(first('\\[ a \\]\nnext'), { type: 'formula', text: 'a' })
  assert.equal(first('$$ never closed\n\nnext')?.type, 'paragraph')
})

test('only http, https and mailto URLs become links', () => {
  for (const target of ['https://a.b/', 'http://a.b/', 'mailto:a@b.c', ' HTTPS://A.B/ ']) assert.ok(safeUrl(target), target)
  const unsafe = [
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'java\nscript:alert(1)',
    '\u0001javascript:alert(1)',
    'data:text/html,<script>',
  ]
  for (const target of [
    ...unsafe,
    'vbscript:x',
    'file:///etc/passwd',
    'blob:https://a.b/c',
    '/relative',
    '//a.b',
    '#x',
    '',
    'https://',
  ]) {
    assert.equal(safeUrl(target), undefined, target)
    assert.ok(!JSON.stringify(parse(`[text](${target})`)).includes('"link"'), target)
  }
  assert.deepEqual(first('<img src=x onerror=alert(1)><script>alert(1)</script>'), {
    type: 'paragraph',
    children: [textNode('<img src=x onerror=alert(1)><script>alert(1)</script>')],
  })
  assert.deepEqual(first('![a picture](https://a.b/x.png)'), {
    type: 'paragraph',
    children: [{ type: 'link', href: 'https://a.b/x.png', children: [textNode('a picture')] }],
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
  '$',
  '$$',
  '\\(',
  '\\)',
  '\\[',
]
const TYPES = [
  'paragraph',
  'heading',
  'code',
  'quote',
  'formula',
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
 * Yields all objects within a value.
 * @param {any} value
 * @returns {Generator<any>}
 */
function* nestedObjects(value) {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield value
  for (const inner of Object.values(value)) yield* nestedObjects(inner)
}

test('4,000 random texts yield only known node types and safe links', () => {
  const random = seeded(7)
  for (let seed = 0; seed < 4_000; seed++) {
    const text = Array.from(
      { length: 1 + Math.floor(random() * 40) },
      () => PIECES[Math.floor(random() * PIECES.length)],
    ).join('')
    for (const { type, href } of nestedObjects(parse(text))) {
      assert.ok(TYPES.includes(type), `${type} of ${JSON.stringify(text)}`)
      assert.ok(type !== 'link' || /^(https?:\/\/|mailto:)/.test(href), `${href} of ${JSON.stringify(text)}`)
    }
  }
})

test('parser bounds nesting depth and text length', () => {
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

test('diff of two texts is by line', () => {
  const lines = diffLines('a\nb\nc\nd', 'a\nx\nc\nd\ne').map(({ kind, text }) => `${kind} ${text}`)
  assert.deepEqual(lines, ['same a', 'removed b', 'added x', 'same c', 'same d', 'added e'])
  const long = Array.from({ length: 3_000 }, (_, n) => `line ${n}`)
  const changes = diffLines(long.join('\n'), long.map((line) => `${line}!`).join('\n'))
  assert.equal(changes.length, 6_000)
})

test('parsing takes linear time', () => {
  // The time of this process, since others may use the machine.
  const measure = (/** @type {string} */ text) => {
    const times = [1, 2].map(() => {
      const start = process.cpuUsage()
      parse(text)
      const { user, system } = process.cpuUsage(start)
      return user + system
    })
    return Math.min(...times)
  }
  const kinds = ['a\n', 'a  \n', 'a\\\n', '*a\n', '- a\n', '> a\n', '# a\n', '- a\n  b\n\n', 'a | b\nc | -\n', '[a](', '***a', '`a ', '~~a *b* ', '_a b_c ', '$a ', '$$a\n', '\\(a ']
  for (const kind of kinds) {
    const [half, full] = [45_000, 90_000].map((length) => measure(kind.repeat(length / kind.length)))
    // Short times are mostly those of the garbage collector.
    const limit = 3 * Math.max(half ?? 0, 100_000)
    assert.ok((full ?? 0) <= limit, `${JSON.stringify(kind)}: ${half} µs, then ${full} µs`)
  }
})
