/** Markdown parser: untrusted text yields only known node types and safe links. */

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { seeded } from '../../javascript/test/proxy.js'
import { diffLines } from '../diff.js'
import { GrowingText, parse, safeUrl } from '../markdown-parser.js'

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

test('footnotes and their references keep their labels', () => {
  assert.deepEqual(parse('A[^1] b[^note].\n\n[^1]: The *first*\n  goes on.\n[^note]: Second.\n\nText'), [
    { type: 'paragraph', children: [textNode('A'), { type: 'reference', label: '1' }, textNode(' b'), { type: 'reference', label: 'note' }, textNode('.')] },
    { type: 'footnote', label: '1', children: [textNode('The '), { type: 'emphasis', children: [textNode('first')] }, textNode('\ngoes on.')] },
    { type: 'footnote', label: 'note', children: [textNode('Second.')] },
    { type: 'paragraph', children: [textNode('Text')] },
  ])
  for (const text of ['`[^1]`', '[^1](https://a.b/)', '[^a b]', '\\[^1]']) assert.ok(!JSON.stringify(parse(text)).includes('reference'), text)
})

test('break is the only tag that is no text', () => {
  assert.deepEqual(first('a<br>b<BR />c'), { type: 'paragraph', children: [textNode('a'), { type: 'break' }, textNode('b'), { type: 'break' }, textNode('c')] })
  assert.deepEqual(first('`<br>` <brx> <br onclick="x">'), { type: 'paragraph', children: [{ type: 'code', text: '<br>' }, textNode(' <brx> <br onclick="x">')] })
})

test('image in the text itself is shown, and none is loaded', () => {
  assert.deepEqual(first('![dot](data:image/png;base64,iVBORw0KGgo=)'), {
    type: 'paragraph',
    children: [{ type: 'image', mime: 'image/png', base64: 'iVBORw0KGgo=', text: 'dot' }],
  })
  for (const source of ['data:image/svg+xml;base64,PHN2Zy8+', 'data:text/html;base64,PHN2Zy8+', 'data:image/png;base64,%3C']) {
    assert.ok(!JSON.stringify(parse(`![x](${source})`)).includes('"image"'), source)
  }
})

/**
 * Parses a text that arrives in pieces, and compares each state with the parser of a whole text.
 * @param {string[]} pieces
 */
function grow(pieces) {
  const growing = new GrowingText()
  /** @type {import('../markdown-parser.js').Block[]} */
  let blocks = []
  let text = ''
  let settledCount = 0
  for (const piece of pieces) {
    text += piece
    const { isOther, settled, open } = growing.update(text)
    blocks = [...(isOther ? [] : blocks.slice(0, settledCount)), ...settled]
    settledCount = blocks.length
    blocks.push(...open)
    assert.deepEqual(blocks, parse(text), JSON.stringify(text))
  }
  return settledCount
}

test('text that grows is parsed as the whole text is', () => {
  const document = '# A\n\nText *a*\nb[^1]\n\n```js\nlet x\n\n# no\n```\n\n- a\n\n  b\n\n- c\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n$$\na\n$$\n\n> q\n\n> r\n\n1. x\n\n\n2. y\n\n[^1]: Note\n\nEnd'
  assert.ok(grow([...document]) >= 9)
  const random = seeded(11)
  for (let seed = 0; seed < 600; seed++) {
    grow(Array.from({ length: 1 + Math.floor(random() * 30) }, () => PIECES[Math.floor(random() * PIECES.length)] ?? ''))
  }
  const growing = new GrowingText()
  growing.update('# A\n\nb\n\nc')
  assert.deepEqual(growing.update('# B\n\nc'), { isOther: true, settled: [], open: parse('# B\n\nc') })
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
  '[^1]',
  '[^a]: ',
  '![x](data:image/png;base64,iVBO)',
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
  'image',
  'reference',
  'footnote',
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

/** Attacks on renderers of Markdown. Each is text, apart from links that `safeUrl` allows. */
const ATTACKS = [
  '<script>alert(1)</script>',
  '<scr<script>ipt>alert(1)</scr</script>ipt>',
  '<svg/onload=alert(1)>',
  '<a href="javascript:alert(1)">x</a>',
  '&lt;img src=x onerror=alert(1)&gt;',
  '&#60;script&#62;alert(1)&#60;/script&#62;',
  '[x](javascript&colon;alert(1))',
  '[x](&#106;avascript:alert(1))',
  '[x](&#x6A;avascript:alert(1))',
  '[x](<java\tscript:alert(1)>)',
  '[x](\\javascript:alert(1))',
  '![x](data:image/svg+xml,<svg/onload=alert(1)>)',
  '![x](https://a.b/"onerror="alert(1))',
  '[x](https://a.b/ "title\" onmouseover=alert(1)")',
  '[x]: javascript:alert(1)\n\n[x]',
  '[^"><script>]: <script>alert(1)</script>\n\n[^"><script>]',
  '![x](data:image/svg+xml;base64,PHN2Zy8+)',
  '<javascript:alert(1)>',
  '<https://a.b/"onmouseover="alert(1)>',
  'https://a.b/"onmouseover="alert(1)',
  'ftp://a.b //a.b www.a.b a@b.c',
  '```"><script>alert(1)</script>\nx\n```',
  '| <b>x</b> | [y](vbscript:x) |\n|---|---|\n| <i onclick=x> | y |',
  '$<img src=x onerror=alert(1)>$',
  '$$\n<script>alert(1)</script>\n$$',
  '# <h1 onclick=alert(1)>',
  '1. <li onclick=alert(1)>',
]

test('attacks stay text and yield no unsafe link', () => {
  for (const attack of ATTACKS) {
    for (const text of [attack, `> ${attack}`, `- ${attack}`, `**${attack}**`]) {
      for (const { type, ...members } of nestedObjects(parse(text))) {
        assert.ok(TYPES.includes(type), `${type} of ${JSON.stringify(text)}`)
        // No member but these is read by the renderer, which puts them into text nodes, `href`, `start` and classes.
        const { text: content, href, level, language, isClosed, start, children, items, head, rows, align, label, mime, base64, ...others } = members
        assert.deepEqual(others, {})
        assert.ok(href === undefined || /^(https?:\/\/|mailto:)[^"<>\s]*$/.test(href), `${href} of ${JSON.stringify(text)}`)
        assert.ok([undefined, 'left', 'center', 'right'].includes(align?.[0]), text)
      }
    }
  }
})

test('text of a bare link shows the host as it is written', () => {
  assert.deepEqual(/** @type {any} */ (first('https://xn--80ak6aa92e.com/'))?.children[0].children, [textNode('https://xn--80ak6aa92e.com/')])
})

test('streamed text never becomes a heading or disappears', () => {
  assert.equal(first('A list:\n-')?.type, 'paragraph')
  assert.ok(JSON.stringify(parse('Sources\n\n[1]: https://a.b/')).includes('[1]: '))
})

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
  const nested = JSON.stringify(parse(`${'*a '.repeat(5_000)}${'a* '.repeat(5_000)}`))
  assert.ok(nested.match(/emphasis/g)?.length === 8)
  assert.ok(JSON.stringify(parse(`${'> '.repeat(40)}the end`)).includes('the end'))
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
  const kinds = ['a\n', 'a  \n', 'a\\\n', '*a\n', '- a\n', '> a\n', '# a\n', '- a\n  b\n\n', 'a | b\nc | -\n', '[a](', '***a', '`a ', '~~a *b* ', '_a b_c ', '$a ', '$$a\n', '\\(a ', '\\[a\n', '[^a', '[^a]: b\n', '[^a] ']
  for (const kind of kinds) {
    const [part, whole] = [30_000, 120_000].map((length) => measure(kind.repeat(length / kind.length)))
    // Four times the text in sixteen times the time would be quadratic. Short times are mostly those of the garbage collector.
    const limit = 8 * Math.max(part ?? 0, 100_000)
    assert.ok((whole ?? 0) <= limit, `${JSON.stringify(kind)}: ${part} µs, then ${whole} µs`)
  }
})

test('many openings have the formula of the last ones that reach the end', () => {
  const openings = (/** @type {number} */ count) => parse(`${'\\[a\n'.repeat(count)}b\\]\n\nafter`)
  assert.deepEqual(openings(59).map(({ type }) => type), ['formula', 'paragraph'])
  assert.deepEqual(openings(100).map(({ type }) => type), ['paragraph', 'formula', 'paragraph'])
  assert.deepEqual(parse('> \\[a\n> \\[b\n\n\\[c\nd\\]').map(({ type }) => type), ['quote', 'formula'])
  assert.deepEqual(parse('\\[a\n\\[b\n\n\\[c\nd\\]').map(({ type }) => type), ['paragraph', 'formula'])
})
