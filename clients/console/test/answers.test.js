/** Browser tests of turns in the chat: rendering, tool cards, branches, feedback, export, previews; and their comparison. */

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'

import { skip as noBrowser } from '../../javascript/test/chromium.js'
import { Cloud, skip as noCloud } from '../../javascript/test/cloud.js'
import { script } from '../../javascript/src/testing.js'
import { ConsolePage, isIdle, newestTurn } from './pages.js'

/** @type {Cloud} */
let cloud
/** @type {ConsolePage} */
let ui

const answer = `${newestTurn}?.querySelector('.answer').textContent`
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** Keeps the files that the page creates in `window.downloads`. */
const captureDownloads = () =>
  ui.page.run(`(() => {
    window.downloads = []
    const create = URL.createObjectURL
    URL.createObjectURL = (blob) => { window.downloads.push(blob); return create.call(URL, blob) }
  })()`)

suite('turns of the chat', { skip: noCloud || noBrowser }, () => {
  before(async () => {
    ;[cloud, ui] = await Promise.all([Cloud.start(), ConsolePage.open()])
    ui.key = cloud.consoleKey
    await ui.page.show({})
    const Prices = { PromptPerMillion: '1', CompletionPerMillion: '2', Currency: 'USD' }
    const priced = { Kind: 'conversation', Id: 'priced', Name: 'Priced', System: 'You help.', StoreRawPayloads: true, Prices }
    cloud.contexts([priced, { Kind: 'agent', Id: 'priced', Name: 'Priced', DefaultConversationContextId: 'priced', ClientTools: [] }])
  })
  after(async () => {
    await Promise.all([ui?.end(), cloud?.end()])
  })

  test('code is highlighted and copied, tables are aligned, formulas are MathML', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    const text =
      '```rust\nfn main() { let a = "<b>x</b>"; }\n```\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n- [x] done\n- [ ] open\n\nIn $O(n^2)$, and $\\undefined{x}$:\n\n$$\\frac{1}{2}$$\n\n```nonsense\nplain\n```\n\n```constructor\nplain\n```\n\nThe end.'
    await ui.send(script().say(text))
    await page.until(`${newestTurn}?.querySelector('.hl-keyword')?.textContent === 'fn' && ${isIdle}`)
    const code = `${newestTurn}.querySelector('.code code')`
    assert.equal(await page.run(`${code}.textContent`), 'fn main() { let a = "<b>x</b>"; }')
    assert.equal(await page.run(`${code}.querySelector('.hl-string').textContent`), '"<b>x</b>"')
    assert.equal(await page.run(`${code}.querySelector('b')`), null)
    await page.until(`${newestTurn}.querySelectorAll('math').length === 2`)
    // The font comes with the first formula.
    await page.until(`[...document.fonts].some(({ family, status }) => family.includes('STIX Two Math') && status === 'loaded')`)
    assert.equal(await page.run(`!!${newestTurn}.querySelector('.formula.block math mfrac')`), true)
    await page.until(`${newestTurn}.querySelector('.formula.refused code')?.textContent === '\\\\undefined{x}'`)
    assert.equal(await page.run(`getComputedStyle(${newestTurn}.querySelector('td:last-child')).textAlign`), 'right')
    assert.equal(await page.run(`${newestTurn}.querySelector('.answer > :last-child').textContent`), 'The end.')
    assert.deepEqual(await page.run(`[...${newestTurn}.querySelectorAll('.task input')].map((box) => box.checked)`), [true, false])
    assert.deepEqual(await ui.violations(), [])
    await page.run(`navigator.clipboard.writeText = async (text) => { window.copied = text }`)
    await ui.press('Copy rust code')
    await page.until(`window.copied === ${code}.textContent`)
    await ui.press('Copy answer')
    await page.until(`window.copied === ${JSON.stringify(text)}`)
    assert.deepEqual(page.errors, [])
  })

  test('footnotes lead to their text and back, an image in the text is shown, and finished blocks stay while the text grows', async () => {
    const { page } = ui
    await page.show({ width: 1000, height: 500 })
    await ui.visit(cloud.api)
    const lines = Array.from({ length: 40 }, (_, n) => `Paragraph ${n}.`).join('\n\n')
    const text = `A claim[^1].\n\n![A dot](data:image/png;base64,${PIXEL})\n\n${lines}\n\n[^1]: The *source*.`
    await ui.send(script().pace(5).say(text))
    await page.until(`!!(window.first = ${newestTurn}?.querySelectorAll('.answer > p').length > 3 && ${newestTurn}.querySelector('.answer > p'))`)
    await page.until(`!!${newestTurn}.querySelector('.footnote em') && ${isIdle}`)
    assert.equal(await page.run('window.first.isConnected'), true)
    assert.equal(await page.run(`${newestTurn}.querySelectorAll('.answer > p').length`), 43)
    const link = `${newestTurn}.querySelector('[data-reference="1"]')`
    const isSeen = (/** @type {string} */ element) => `(({ top, bottom }) => top >= 0 && bottom <= innerHeight)(${element}.getBoundingClientRect())`
    await page.run(`scrollTo(0, 0); ${link}.click()`)
    await page.until(`${isSeen(`${newestTurn}.querySelector('.footnote')`)} && document.activeElement.matches('.footnote')`)
    await page.run(`document.activeElement.querySelector('a').click()`)
    await page.until(`${isSeen(link)} && document.activeElement === ${link}`)
    await page.until(`${newestTurn}.querySelector('.inline-image').naturalWidth === 1`)
    assert.equal(await page.run(`location.hash.startsWith('#/chat/')`), true)
    assert.deepEqual(await ui.violations(), [])
    assert.deepEqual(page.errors, [])
    await page.show({})
  })

  test('diagrams are drawn in a sandbox, in the colors of the theme, and are source if they are wrong', async () => {
    const { page } = ui
    const kinds = [
      'flowchart TD\n  A["Client <img src=x onerror=alert(1)>"] -->|POST| B{Is it valid?}\n  B -.no.-> A\n  click A "javascript:alert(1)"',
      '%%{init: {"securityLevel": "loose", "theme": "forest"}}%%\nsequenceDiagram\n  Alice->>Bob: Hello\n  Bob-->>Alice: Hi',
      'stateDiagram-v2\n  [*] --> Open\n  Open --> [*]',
      'classDiagram\n  Animal <|-- Dog',
      'erDiagram\n  USER ||--o{ ORDER : places',
      'pie title Tokens\n  "prompt": 70\n  "answer": 30',
    ]
    const fenced = kinds.map((kind) => `\`\`\`mermaid\n${kind}\n\`\`\``)
    await ui.visit(cloud.api)
    await captureDownloads()
    await ui.send(script().say(`${fenced.join('\n\n')}\n\n\`\`\`mermaid\nflowchart TD\n  A --> [\n\`\`\`\n\nThe end.`))
    const images = `[...(${newestTurn}?.querySelectorAll('.diagram img') ?? [])]`
    await page.until(`${images}.length === ${kinds.length} && ${images}.every((image) => image.complete && image.naturalWidth > 50) && ${isIdle}`)
    const drawn = await page.run(`Promise.all(window.downloads.map((blob) => blob.text())).then((texts) => texts.join(''))`)
    assert.equal(drawn.includes('Alice'), true)
    assert.equal(/onerror=|javascript:|<script/.test(drawn), false)
    const refused = `[...${newestTurn}.querySelectorAll('figure.code')].at(-1)`
    await page.until(`${refused}.querySelector('pre').checkVisibility() && ${refused}.textContent.startsWith('mermaid, not drawn: Parse error on line 2')`)
    assert.equal(await page.run(`getComputedStyle(document.documentElement).colorScheme`), 'light dark')
    const [light] = await page.run(`${images}.map(({ src }) => src)`)
    await page.run(`document.getElementById('theme').click()`)
    await page.run(`document.getElementById('theme').click()`)
    await page.until(`${images}[0].src !== ${JSON.stringify(light)}`)
    assert.equal(await page.run(`document.documentElement.dataset.theme`), 'dark')
    await page.run(`document.getElementById('theme').click()`)
    await page.until(`${images}[0].src === ${JSON.stringify(light)}`)
    await ui.press('Source')
    assert.equal(await page.run(`${newestTurn}.querySelector('figure pre').checkVisibility() && !${newestTurn}.querySelector('.diagram').checkVisibility()`), true)
    assert.equal(await page.run(`document.querySelectorAll('iframe').length`), 1)
    assert.equal(await page.run(`document.querySelector('iframe').contentDocument`), null)
    assert.deepEqual(await ui.violations(), [])
    assert.deepEqual(page.errors, [])
  })

  test('calls of a round are run or refused together', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    await ui.drop([{ name: 'a.txt', type: 'text/plain', text: 'apples' }])
    const round = () => script().call('workspace_list_files', { path: '' }).call('workspace_read_file', { path: 'a.txt' })
    await ui.send(round().afterTools().say('All.'))
    await page.until(`document.querySelectorAll('.tool').length === 2`)
    assert.deepEqual(await ui.violations(), [])
    await ui.press('Run all 2 and send')
    await page.until(`${answer} === 'All.' && ${isIdle}`)
    assert.deepEqual(await page.run(`[...${newestTurn}.querySelectorAll('.tool .tag')].map((tag) => tag.textContent)`), ['done', 'done'])
    assert.equal(await page.run(`document.querySelector('.round-actions')`), null)
    await ui.send(round().afterTools().say('None.'))
    await ui.press('Refuse all 2')
    await page.until(`${answer} === 'None.' && ${isIdle}`)
    assert.deepEqual(await page.run(`[...${newestTurn}.querySelectorAll('.tool .tag')].map((tag) => tag.textContent)`), ['refused', 'refused'])
    const patch = '--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-apples\n\\ No newline at end of file\n+pears\n\\ No newline at end of file\n'
    await ui.send(round().call('workspace_write_patch', { path: 'a.txt', patch }).afterTools().say('Less.'))
    await page.until(`!!document.querySelector('.round-actions') && !!${newestTurn}.querySelector('.tool .payload')`)
    assert.ok(!(await page.run(`${newestTurn}.querySelectorAll('.tool')[2].innerText`)).includes('@@'), 'the diff is shown in place of the patch')
    await ui.press('Refuse', 'article.turn:last-child .tool')
    // The next call has the focus, and the buttons count those that are open.
    await page.until(`document.activeElement.closest('.tool') === ${newestTurn}.querySelectorAll('.tool')[1]`)
    assert.deepEqual(await page.run(`[...document.querySelectorAll('.round-actions button')].map(({ textContent }) => textContent)`), ['Run all 2 and send', 'Refuse all 2'])
    await ui.press('Refuse all 2')
    await page.until(`${answer} === 'Less.' && ${isIdle}`)
    await ui.send(round().call('unknown_tool').afterTools().say('Some.'))
    await ui.press('Run all 2 and send')
    await page.until(`${newestTurn}.querySelectorAll('.tool.finished').length === 2 && !document.querySelector('.round-actions')`)
    await ui.press('Stop')
    await page.until(isIdle)
    assert.deepEqual(page.errors, [])
  })

  test('edited arguments are used, and an allowed tool runs without asking', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    await ui.drop([{ name: 'a.txt', type: 'text/plain', text: 'apples' }, { name: 'b.txt', type: 'text/plain', text: 'bananas' }])
    const read = (/** @type {string} */ path) => script().call('workspace_read_file', { path })
    await ui.send(read('a.txt').afterTools().call('workspace_read_file', { path: 'a.txt' }).afterTools().say('Read.'))
    await ui.press('Edit', '.tool')
    await page.until(`document.activeElement.ariaLabel === 'Arguments'`)
    await page.run(`(() => {
      const field = document.activeElement
      field.value = '{"path":'
      field.dispatchEvent(new Event('input'))
    })()`)
    assert.match(await page.run(`document.querySelector('.tool [role=status]').textContent`), /no valid JSON/)
    await page.run(`(() => {
      const field = document.activeElement
      field.value = '{"path":"b.txt"}'
      field.dispatchEvent(new Event('input'))
    })()`)
    await ui.press('Run', '.tool')
    await page.until(`document.querySelector('.tool textarea:last-of-type, .tool .by-hand textarea').value !== '' && document.querySelector('.tool .by-hand textarea').value.includes('bananas')`)
    await ui.press('Send result', '.tool')
    await page.until(`document.querySelectorAll('.tool').length === 2`)
    await ui.press('Always run')
    await page.until(`${answer} === 'Read.' && ${isIdle}`)
    const cards = `[...document.querySelectorAll('.tool')]`
    assert.equal(await page.run(`${cards}.every((card) => card.querySelector('.tag').textContent === 'done' && !card.querySelector('details').open)`), true)
    await ui.send(read('a.txt').call('workspace_read_file', { path: 'missing.txt' }).afterTools().say('Again.'))
    // What fails waits for the user.
    await page.until(`${cards}.length === 4 && ${cards}[2].textContent.includes('The result is ready') && ${cards}[3].textContent.includes('is not attached')`)
    await ui.press('Refuse')
    await page.until(`${answer} === 'Again.' && ${isIdle}`)
    await page.reload()
    await page.until(`document.querySelector('.composer-area').textContent.includes('Runs without asking: workspace_read_file')`)
    await ui.press('Ask again')
    assert.ok(!(await page.run(`document.querySelector('.composer-area').textContent`)).includes('Runs without asking'))
    assert.deepEqual(page.errors, [])
  })

  test('running turn shows figures and server tools', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    await ui.send(script().call('agent_list_modes').afterTools().pace(15).words(200))
    await page.until(`document.querySelector('.state')?.textContent.match(/\\d s · about \\d+ tokens/)`)
    await page.until(`document.querySelector('.activity')?.textContent.includes('agent_list_modes')`)
    await page.until(`${answer}?.endsWith('word200') && ${isIdle}`)
    await page.until(`${newestTurn}.querySelector('footer').textContent.includes(' out')`)
    await page.reload()
    await page.until(`document.querySelector('details.activity')?.textContent.includes('agent_list_modes')`)
    assert.equal(await page.run(`document.querySelector('details.activity').open`), false)
    assert.deepEqual(await ui.violations(), [])
  })

  test('fork and rerun are shown as such and compared', async () => {
    const { page } = ui
    const session = cloud.client().session(undefined, { agent: 'priced' })
    const first = session.send(`Name a fruit ${script().say('An apple, red and round.')}`)
    await first.final()
    await ui.visit(cloud.api, `#/chat/${session.id}`)
    await page.until(`${answer} === 'An apple, red and round.'`)
    await ui.press('Rerun')
    await page.until(`document.querySelector('dialog #models option')?.value === 'scripted'`)
    await page.run(`(() => {
      const form = document.querySelector('dialog form')
      form.text.value = ${JSON.stringify(`Name another fruit ${script().say('A pear, green and round.')}`)}
      form.requestSubmit()
    })()`)
    await page.until(`${answer} === 'A pear, green and round.' && ${isIdle}`)
    assert.match(await page.run(`${newestTurn}.textContent`), /Rerun of turn 1/)
    await page.until(`${newestTurn}.querySelector('footer').textContent.includes('Compare with the original')`)
    await page.reload()
    await page.until(`document.querySelectorAll('.turn').length === 2 && ${newestTurn}.textContent.includes('Rerun of turn 1')`)
    await page.run(`[...${newestTurn}.querySelectorAll('footer a')].find((link) => link.textContent.includes('Compare')).click()`)
    await page.until(`!!document.querySelector('.word-diff')`)
    const marked = (/** @type {string} */ tag) => page.run(`[...document.querySelectorAll('.word-diff ${tag}')].map((part) => part.textContent.trim()).filter(Boolean)`)
    assert.deepEqual(await marked('del'), ['An', 'apple,', 'red'])
    assert.deepEqual(await marked('ins'), ['A', 'pear,', 'green'])
    const changed = await page.run(`[...document.querySelectorAll('.compare tr')].filter((row) => row.querySelector('.changed')).map((row) => row.querySelector('th').textContent)`)
    assert.ok(changed.includes('Instruction') && !changed.includes('Mode'), `${changed}`)
    assert.match(await page.run(`document.querySelector('.compare').textContent`), /USD/)
    assert.deepEqual(await ui.violations(), [])
    await page.show({ width: 390, height: 844 })
    assert.ok((await ui.overflow) <= 0)
    await page.show({})
    await ui.visit(cloud.api, `#/chat/${session.id}`)
    await page.until(`document.querySelectorAll('.turn').length === 2`)
    await ui.press('Fork', '.turn')
    await page.until(`document.querySelector('.branch')?.textContent.includes('Forked from') && document.querySelectorAll('.inherited .turn').length === 1`)
    assert.notEqual(await page.run(`location.hash`), `#/chat/${session.id}`)
    assert.match(await page.run(`document.querySelector('h1').textContent`), /\(fork\)/)
    assert.equal(await page.run(`document.querySelectorAll('.inherited .turn .feedback').length`), 0)
    await ui.send(script().say('A plum.'))
    await page.until(`${answer} === 'A plum.' && ${isIdle}`)
    assert.deepEqual(await ui.violations(), [])
    assert.deepEqual(page.errors, [])
  })

  test('feedback is sent and shown again', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    await ui.send(script().say('Judge me.'))
    await page.until(`${answer} === 'Judge me.' && ${isIdle}`)
    await ui.press('Good answer')
    const isPressed = (/** @type {string} */ label) => `[...document.querySelectorAll('.feedback button')].find(({ ariaLabel }) => ariaLabel === '${label}')?.ariaPressed === 'true'`
    await page.until(isPressed('Good answer'))
    await ui.press('Bad answer')
    await page.run(`(() => { const form = document.querySelector('dialog form'); form.note.value = 'Too short'; form.requestSubmit() })()`)
    await page.until(isPressed('Bad answer'))
    await page.reload()
    await page.until(isPressed('Bad answer'))
    assert.equal(await page.run(isPressed('Good answer')), false)
    assert.deepEqual(page.errors, [])
  })

  test('conversation is exported as Markdown and JSON', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    await ui.send(`Name a color ${script().say('**Blue**')}`)
    await page.until(`${answer} === 'Blue' && ${isIdle}`)
    await captureDownloads()
    const run = async (/** @type {string} */ action) => {
      await ui.press('Actions for Name a color')
      await ui.press(action, '.menu')
    }
    await run('Export as Markdown')
    await page.until(`window.downloads.length === 1`)
    assert.equal(await page.run(`window.downloads[0].text()`), '# Name a color\n\n> Name a color\n\n**Blue**\n')
    await run('Export as JSON')
    await page.until(`window.downloads.length === 2`)
    assert.match(await page.run(`window.downloads[1].text()`), /Name a color/)
    assert.deepEqual(page.errors, [])
  })

  test('attached images and files have previews', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    await ui.drop([{ name: 'shot.png', type: 'image/png', base64: PIXEL }, { name: 'main.rs', type: 'text/plain', text: 'fn main() {}' }])
    await page.until(`document.querySelector('.composer .thumbnail')?.naturalWidth === 1`)
    await ui.press('main.rs', '.composer')
    await page.until(`document.querySelector('dialog .hl-keyword')?.textContent === 'fn'`)
    assert.deepEqual(await ui.violations(), [])
    await page.press('Escape')
    await page.until(`!document.querySelector('dialog')`)
    await ui.send(script().say('Seen.'))
    await page.until(`${answer} === 'Seen.' && ${isIdle}`)
    await page.reload()
    await page.until(`document.querySelector('.instruction .thumbnail')?.naturalWidth === 1`)
    await page.run(`document.querySelector('.instruction .thumbnail').closest('button').click()`)
    await page.until(`document.querySelector('dialog img')?.naturalWidth === 1`)
    await ui.press('Close', 'dialog')
    await ui.press('main.rs', '.instruction')
    await page.until(`document.querySelector('dialog code')?.textContent === 'fn main() {}'`)
    assert.deepEqual(page.errors, [])
  })

  test('trace shows overlaps, first text, costs and log lines', async () => {
    const { page } = ui
    await ui.visit(cloud.api)
    await page.run(`document.querySelector('.contexts input').value = 'priced'`)
    await ui.send(script().call('agent_list_modes').call('agent_list_modes').afterTools().delay(150).pace(25).words(40))
    await page.until(`${answer}?.endsWith('word40') && ${isIdle} && ${newestTurn}.querySelector('footer').textContent.includes('USD')`)
    await page.run(`location.hash = ${newestTurn}.querySelector('footer a').getAttribute('href')`)
    await page.until(`!!document.querySelector('.timeline')`)
    const rows = await page.run(`[...document.querySelectorAll('.timeline li')].map((row) => ({ label: row.firstChild.textContent, left: row.querySelector('.bar').getBoundingClientRect().left }))`)
    const labels = rows.map((/** @type {{ label: string }} */ { label }) => label)
    assert.deepEqual(labels.slice(0, 5), ['Accept and prepare', 'Round 1: model', 'agent_list_modes', 'agent_list_modes', 'Round 2: model'])
    assert.equal(rows[2].left, rows[3].left, 'parallel calls start together')
    assert.ok(rows[4].left >= rows[3].left)
    assert.equal(await page.run(`document.querySelectorAll('.first-token').length`), 1, 'the time until the first text of round 2')
    assert.equal(await page.run(`[...document.querySelectorAll('.step > p')].every((line) => line.textContent.includes('USD'))`), true)
    await page.run(`[...document.querySelectorAll('.timeline button')].at(-1).click()`)
    await page.until(`document.activeElement.closest('.step')?.ariaLabel === 'Round 2'`)
    await page.run(`[...document.querySelectorAll('details')].find((details) => details.textContent.startsWith('Log lines')).open = true`)
    await page.until(`document.querySelector('[aria-label="Log lines"]')?.textContent.includes('execute')`)
    assert.deepEqual(await ui.violations(), [])
    assert.deepEqual(page.errors, [])
  })
})
