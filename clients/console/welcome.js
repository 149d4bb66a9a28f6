/**
 * Content of a conversation without turns: suggestions, and for the mock model how to bring a real one.
 *
 * @module
 */

import { script } from '../javascript/src/testing.js'
import { AGENTS, listAll } from './agent-documents.js'
import { copyButton } from './curl.js'
import { button, el, fill } from './dom.js'
import { icon } from './icons.js'
import { modelForm } from './model-setup.js'

/**
 * Commands that start the local cloud with a real model.
 * @param {string} program
 */
const commands = (program) => `OPENAI_API_KEY=sk-… ${program}\n${program} --provider ollama --model-name gpt-oss:20b`

const ANSWER = `A **lease** gives one worker a turn for a limited time.

\`\`\`rust
fn is_expired(lease: &Lease, now: Instant) -> bool {
    // A worker that dies never returns its lease.
    now >= lease.until
}
\`\`\`

| State | Owner | Next |
|---|---|--:|
| running | one worker | 1 |
| expired | nobody | 2 |

\`\`\`mermaid
flowchart LR
  A[Turn] --> B{Lease free?}
  B -->|yes| C[Model]
  B -->|no| A
\`\`\`

With $n$ workers, the expected wait is $\\frac{1}{n}\\sum_{i=1}^{n} t_i$.`

/** @type {[string, string, import('../javascript/src/testing.js').Script][]} */
const MOCK = [
  ['Show code, a table and a diagram', 'Answers are Markdown with highlighting', script().pace(12).say(ANSWER)],
  ['List the files of this chat', 'A tool call that you approve, edit or refuse', script().say('I will look.').call('workspace_list_files', { path: '' }).afterTools().pace(15).say('That is all there is. Attach files with the button below.')],
  ['Write a long answer', 'Stop it, or reload the page meanwhile', script().pace(25).words(400)],
  ['Survive a provider that fails', 'Two errors, then an answer', script().status(503, { times: 2 }).pace(15).say('The provider failed twice. The turn went on by itself.')],
]

const REAL = [
  ['Explain a file', 'Attach it, and ask about it', 'Explain what this file does, and what I should know before I change it.'],
  ['Review a change', 'Paste a diff or attach files', 'Review this change. List the bugs first, then what could be plainer.'],
  ['Plan a task', 'Steps, risks and open questions', 'Plan this task in small steps, with risks and open questions: '],
  ['Compare options', 'A table with a recommendation', 'Compare these options in a table, and recommend one: '],
]

/**
 * @param {import('./connection.js').Connection} connection
 * @param {{ send: (text: string) => void, write: (text: string) => void }} actions `write` fills the message field
 */
export function welcome(connection, { send, write }) {
  const { config } = connection
  const first = el('div', {})
  // Users without the right to create agents get a 403.
  listAll(connection, AGENTS).then(
    (agents) => agents.every(({ IsBuiltIn }) => IsBuiltIn) && fill(first, firstAgent(connection)),
    () => {},
  )
  const suggestion = (/** @type {string} */ title, /** @type {string} */ about, /** @type {() => void} */ action) =>
    el('li', {}, el('button', { type: 'button', onclick: action }, el('strong', {}, title), el('span', {}, about)))
  const suggestions = config.IsMock
    ? MOCK.map(([title, about, steps]) => suggestion(title, about, () => send(`${title} ${steps}`)))
    : REAL.map(([title = '', about = '', text = '']) => suggestion(title, about, () => write(text)))
  return el(
    'section',
    { class: 'welcome', 'aria-label': 'Suggestions' },
    el('h2', {}, 'What are we working on?'),
    el('p', {}, config.IsMock ? 'Try the console with the mock model:' : 'Ask anything, or start with one of these:'),
    el('ul', { class: 'suggestions' }, suggestions),
    first,
    config.IsMock && mockNotice(config),
  )
}

/** @param {import('./connection.js').Connection} connection */
const firstAgent = (connection) =>
  el(
    'div',
    { class: 'notice' },
    icon('plus'),
    el('div', {}, el('p', {}, el('strong', {}, 'Create your first agent.'), ' A purpose, instructions and tools, in three steps.')),
    button('Create an agent', async () => (await import('./agent-wizard.js')).openAgentWizard(connection), { class: 'primary' }),
  )

/** @param {import('./connection.js').Config} config */
function mockNotice(config) {
  const text = commands(config.Command)
  const shell = [el('pre', { tabindex: 0, role: 'group', 'aria-label': 'Commands' }, text), copyButton('Copy', () => text)]
  const isSettable = config.Providers?.length
  return el(
    'div',
    { class: 'notice' },
    icon('spark'),
    el(
      'div',
      {},
      el('p', {}, el('strong', {}, 'This is a mock model.'), ' It plays scripts and echoes other messages. Bring a real one:'),
      isSettable ? [modelForm(config), el('details', {}, el('summary', {}, 'On the command line'), ...shell)] : shell,
    ),
  )
}
