/**
 * The comparison page: two turns of a session side by side, with the words in which their answers differ.
 *
 * @module
 */

import { wordDiff } from './diff.js'
import { el, errorMessage, fill } from './dom.js'
import { duration, formatCost, formatTokens, pageUrl } from './format.js'
import { markdown } from './markdown.js'
import { bars, elapsed } from './timeline.js'
import { splitInstruction } from './title.js'
import { collect } from './trace.js'

/** Turns to choose from. */
const MAX_TURNS = 100

/** @typedef {{ turn: import('./trace.js').TracedTurn, steps: import('./trace.js').Step[], answer: string }} Side */

/**
 * @param {import('./connection.js').Connection} connection
 * @param {string[]} parts
 * @returns {import('./main.js').View}
 */
export function compare({ aptix }, [sessionId = '', leftId = '', rightId = '']) {
  const session = aptix.session(sessionId)
  const node = el('div', {}, el('h1', {}, 'Compare turns'), el('p', { class: 'muted' }, 'Loading…'))

  /**
   * @param {string} id
   * @returns {Promise<Side>}
   */
  async function read(id) {
    const [turn, steps] = await Promise.all([session.turn(id), collect(session.steps(id))])
    const isLong = turn.AgentAnswerSummaryTruncated
    const answer = isLong ? await (await session.payload(id, 'answer')).text() : (turn.AgentAnswerSummary ?? turn.PartialAnswerSummary ?? '')
    return { turn: /** @type {import('./trace.js').TracedTurn} */ (turn), steps, answer }
  }

  async function load() {
    const [left, right, turns] = await Promise.all([read(leftId), read(rightId), newest(session.turns({ order: 'desc' }))])
    const choose = (/** @type {string} */ label, /** @type {string} */ chosen, /** @type {(id: string) => string} */ url) => {
      const options = turns.map(({ Id, SequenceNumber, InstructionSummary }) =>
        el('option', { value: Id, selected: Id === chosen }, `${SequenceNumber}: ${(splitInstruction(InstructionSummary).text || 'Script').slice(0, 50)}`),
      )
      const select = el('select', { 'aria-label': label }, options)
      select.addEventListener('change', () => (location.hash = url(select.value)))
      return select
    }
    const diff = wordDiff(left.answer, right.answer)
    const isSame = left.answer === right.answer
    fill(
      node,
      el('h1', {}, 'Compare turns'),
      el('div', { class: 'row' }, el('a', { href: pageUrl('chat', sessionId) }, 'Conversation'), traceLink(sessionId, left.turn), traceLink(sessionId, right.turn)),
      el(
        'div',
        { class: 'columns' },
        choose('First turn', leftId, (id) => pageUrl('compare', sessionId, id, rightId)),
        choose('Second turn', rightId, (id) => pageUrl('compare', sessionId, leftId, id)),
      ),
      el(
        'div',
        { class: 'scroll-x', tabindex: 0, role: 'group', 'aria-label': 'Figures' },
        el(
          'table',
          { class: 'compare' },
          el(
            'thead',
            {},
            el(
              'tr',
              {},
              el('td', {}),
              el('th', { scope: 'col' }, `Turn ${left.turn.SequenceNumber}`),
              el('th', { scope: 'col' }, `Turn ${right.turn.SequenceNumber}`),
            ),
          ),
          el('tbody', {}, rows(left, right)),
        ),
      ),
      el('div', { class: 'columns' }, answerCard(left), answerCard(right)),
      el('section', { class: 'card', 'aria-label': 'Differences' }, el('h2', {}, 'Differences of the answers'), isSame ? el('p', { class: 'muted' }, 'The answers are the same.') : diff),
    )
  }

  load().catch((error) => fill(node, el('h1', {}, 'Compare turns'), errorMessage(error)))
  return { title: 'Compare', node }
}

/** @param {AsyncGenerator<import('../javascript/src/wire.js').SessionTurn, void, void>} turns */
async function newest(turns) {
  const found = []
  for await (const turn of turns) {
    found.push(turn)
    if (found.length === MAX_TURNS) break
  }
  return found
}

/**
 * @param {string} sessionId
 * @param {import('./trace.js').TracedTurn} turn
 */
const traceLink = (sessionId, turn) => el('a', { href: pageUrl('trace', sessionId, turn.Id) }, `Trace of turn ${turn.SequenceNumber}`)

/**
 * Rows of the table; a row whose values differ is marked.
 * @param {Side} left
 * @param {Side} right
 */
function rows(left, right) {
  const values = (/** @type {Side} */ { turn, steps, answer }) => {
    const all = bars(turn, steps)
    return {
      Instruction: splitInstruction(turn.InstructionSummary).text || turn.InstructionSummary,
      Status: turn.Status.Text,
      Model: turn.OpenAIModel ?? '',
      Mode: turn.Mode,
      Tokens: formatTokens(turn.Usage),
      Cost: formatCost(turn.Cost),
      Duration: duration(Date.parse(turn.StatusTimeStamp) - Date.parse(turn.CreationDate)),
      'Model time': duration(elapsed(all, 'model')),
      Rounds: String(steps.length),
      Answer: `${answer.length} characters`,
    }
  }
  const [one, other] = [values(left), values(right)]
  return Object.entries(one).flatMap(([name, value]) => {
    const second = other[/** @type {keyof typeof other} */ (name)]
    if (value === '' && second === '') return []
    const className = value === second ? undefined : 'changed'
    return [el('tr', {}, el('th', { scope: 'row' }, name), el('td', { class: className }, value || '–'), el('td', { class: className }, second || '–'))]
  })
}

/** @param {Side} side */
const answerCard = ({ turn, answer }) =>
  el('section', { class: 'card', 'aria-label': `Answer of turn ${turn.SequenceNumber}` }, el('h2', {}, `Turn ${turn.SequenceNumber}`), el('div', { class: 'answer' }, markdown(answer)))
