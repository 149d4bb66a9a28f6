/**
 * The comparison page: turns of a session side by side, with the words in which their answers differ. It also runs the variants of a turn
 * that are compared, one after another: a session has one running turn.
 *
 * @module
 */

import { alwaysAllowed } from './always.js'
import { forkTurn } from './branches.js'
import { wordDiff } from './diff.js'
import { announce, button, el, errorMessage, fill } from './dom.js'
import { duration, formatCost, formatTokens, pageUrl } from './format.js'
import { takeHandoff } from './handoff.js'
import { markdown } from './markdown.js'
import { isUnknownSession, notFound } from './not-found.js'
import { toolsFor } from './page-tools.js'
import { bars, elapsed } from './timeline.js'
import { splitInstruction } from './title.js'
import { collect } from './trace.js'
import { runTurn } from './turn-runner.js'
import { recordedFiles } from './workspace-files.js'
import { Workspace } from './workspace.js'

/** Turns to choose from. */
const MAX_TURNS = 100
/** Turns beside each other, at most. */
const MAX_SIDES = 5

/**
 * A compared turn. Without `turn` it isn't stored yet.
 * @typedef {{ id: string, turn?: import('./trace.js').TracedTurn, steps: import('./trace.js').Step[], answer: string }} Side
 * @typedef {{ id: string, rerunOf: string, variant: import('./branches.js').Variant }} Rerun
 */

/**
 * @param {import('./connection.js').Connection} connection
 * @param {string[]} parts
 * @returns {import('./main.js').View}
 */
export function compare({ aptix }, [sessionId = '', ...parts]) {
  const abort = new AbortController()
  const session = aptix.session(sessionId, { signal: abort.signal })
  const ids = parts.slice(0, MAX_SIDES)
  const workspace = new Workspace()
  workspace.loadLater(() => recordedFiles(session))
  const reruns = /** @type {Rerun[]} */ (takeHandoff('reruns') ?? []).filter(({ id }) => ids.includes(id))
  const node = el('div', {}, el('h1', {}, 'Compare turns'), el('p', { class: 'muted' }, 'Loading…'))
  const figures = el('div', { class: 'scroll-x', tabindex: 0, role: 'group', 'aria-label': 'Figures' })
  const differences = el('div', {})
  const choices = el('div', { class: 'columns sides' })
  const links = el('div', { class: 'row' })
  const cards = ids.map((id) => ({ id, head: el('h2', {}), answer: el('div', { class: 'answer' }), foot: el('div', { class: 'row' }) }))
  /** @type {import('../javascript/src/wire.js').SessionTurn[]} */
  let turns = []
  let name = ''

  /**
   * @param {string} id
   * @returns {Promise<Side>}
   */
  async function read(id) {
    const turn = await session.turn(id).catch((error) => {
      if (error.code === 'TurnNotFound') return undefined
      throw error
    })
    if (!turn) return { id, steps: [], answer: '' }
    const steps = await collect(session.steps(id))
    const isLong = turn.AgentAnswerSummaryTruncated
    const answer = isLong ? await (await session.payload(id, 'answer')).text() : (turn.AgentAnswerSummary ?? turn.PartialAnswerSummary ?? '')
    return { id, turn: /** @type {import('./trace.js').TracedTurn} */ (turn), steps, answer }
  }

  /** Reads all turns, and shows what is stored of them. */
  async function show() {
    const [sides, newestTurns, details] = await Promise.all([Promise.all(ids.map(read)), newest(session.turns({ order: 'desc' })), session.read({ pageSize: 1 })])
    ;[turns, name] = [newestTurns, details.Name]
    const stored = sides.filter(({ turn }) => turn !== undefined)
    fill(links, el('a', { href: pageUrl('chat', sessionId) }, 'Conversation'), stored.map(({ turn }) => turn && traceLink(sessionId, turn)))
    fill(choices, ids.map((id, at) => chooser(`Turn ${at + 1}`, id, (other) => ids.with(at, other))), ids.length < MAX_SIDES && chooser('Another turn', '', (other) => [...ids, other]))
    fill(figures, table(sides))
    cards.forEach((card, at) => showCard(card, /** @type {Side} */ (sides[at])))
    const [first, ...others] = stored.filter(({ turn }) => turn?.Status.Id === 'completed')
    fill(differences, first && others.map((other) => difference(first, other, others.length > 1)))
    return sides
  }

  /**
   * @param {string} label
   * @param {string} chosen
   * @param {(id: string) => string[]} change
   */
  function chooser(label, chosen, change) {
    const options = turns.map(({ Id, SequenceNumber, InstructionSummary }) =>
      el('option', { value: Id, selected: Id === chosen }, `${SequenceNumber}: ${(splitInstruction(InstructionSummary).text || 'Script').slice(0, 50)}`),
    )
    const isListed = turns.some(({ Id }) => Id === chosen)
    const select = el('select', { 'aria-label': label }, !isListed && el('option', { value: '', selected: true }, chosen ? 'Not started' : 'Add a turn…'), options)
    select.addEventListener('change', () => select.value && (location.hash = pageUrl('compare', sessionId, ...change(select.value))))
    return select
  }

  /**
   * @param {{ id: string, head: HTMLElement, answer: HTMLElement, foot: HTMLElement }} card
   * @param {Side} side
   */
  function showCard({ head, answer, foot }, { id, turn, answer: text }) {
    const variant = reruns.find((rerun) => rerun.id === id)?.variant
    fill(head, turn ? `Turn ${turn.SequenceNumber}` : 'Rerun', el('small', { class: 'variant' }, turn?.OpenAIModel ?? variant?.model ?? ''))
    if (!turn) return fill(answer, el('p', { class: 'muted' }, variant ? 'Waits for the variants before it.' : 'This rerun was not started.'))
    if (turn.Status.Id === 'pending') return
    fill(answer, turn.Status.Id === 'failed' && errorMessage({ message: turn.Errors.join(' ') || 'The turn failed.' }), markdown(text))
    fill(foot, turn.Status.Id === 'completed' && button('Continue from this answer', () => forkTurn(session, id, name).catch((error) => foot.append(errorMessage(error))), { title: 'In a new session' }))
  }

  /** Runs the variants, and what still runs, one after another. */
  async function run() {
    const sides = await show()
    for (const { id, turn } of sides) {
      const rerun = turn ? undefined : reruns.find((other) => other.id === id)
      const isRunning = turn?.Status.Id === 'pending'
      if (!rerun && !isRunning) continue
      const card = cards.find((other) => other.id === id)
      const running = rerun ? session.rerun(rerun.rerunOf, { turnId: id, ...rerun.variant }) : session.resume({ turnId: id })
      fill(/** @type {HTMLElement} */ (card?.answer))
      // A failure is part of the stored turn, or of this card if there is none.
      const error = await runTurn(session, running, /** @type {HTMLElement} */ (card?.answer), toolsFor(workspace), alwaysAllowed(sessionId)).then(() => undefined, (reason) => reason)
      if (abort.signal.aborted) return
      await settled(id)
      const [side] = (await show()).filter((other) => other.id === id)
      if (error && !side?.turn) fill(/** @type {HTMLElement} */ (card?.answer), errorMessage(error))
      announce(`Answer of ${side?.turn ? `turn ${side.turn.SequenceNumber}` : 'a rerun'} complete.`)
    }
  }

  /** Waits until the record of a turn has its end, which follows the answer. */
  async function settled(/** @type {string} */ id) {
    for (let attempts = 20; attempts > 0; attempts--) {
      const { turn } = await read(id)
      if (turn?.Status.Id !== 'pending') return
      await new Promise((wait) => setTimeout(wait, 250))
    }
  }

  const showError = (/** @type {unknown} */ error) => abort.signal.aborted || fill(node, el('h1', {}, 'Compare turns'), isUnknownSession(error) ? notFound(sessionId) : errorMessage(error))
  fill(
    node,
    el('h1', {}, 'Compare turns'),
    links,
    el('details', {}, el('summary', {}, 'Choose turns'), choices),
    el('div', { class: 'columns sides' }, cards.map(({ head, answer, foot }, at) => el('section', { class: 'card', 'aria-label': `Answer ${at + 1}` }, head, answer, foot))),
    figures,
    differences,
  )
  run().catch(showError)
  return { title: 'Compare', node, dispose: () => abort.abort() }
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
 * The words in which an answer differs from the first one.
 * @param {Side} first
 * @param {Side} other
 * @param {boolean} isFolded
 */
function difference(first, other, isFolded) {
  const title = `Differences of turns ${first.turn?.SequenceNumber} and ${other.turn?.SequenceNumber}`
  const content = first.answer === other.answer ? el('p', { class: 'muted' }, 'The answers are the same.') : wordDiff(first.answer, other.answer)
  if (isFolded) return el('details', { class: 'card' }, el('summary', {}, title), content)
  return el('section', { class: 'card', 'aria-label': 'Differences' }, el('h2', {}, 'Differences of the answers'), content)
}

/** @param {Side[]} sides */
function table(sides) {
  const head = sides.map(({ turn }) => el('th', { scope: 'col' }, turn ? `Turn ${turn.SequenceNumber}` : 'Rerun'))
  return el('table', { class: 'compare' }, el('thead', {}, el('tr', {}, el('td', {}), head)), el('tbody', {}, rows(sides)))
}

/**
 * Rows of the table; a value that differs from the first one is marked.
 * @param {Side[]} sides
 */
function rows(sides) {
  const values = (/** @type {Side} */ { turn, steps, answer }) => {
    if (!turn) return {}
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
  const columns = sides.map((side) => /** @type {Record<string, string>} */ (values(side)))
  const names = Object.keys(columns.find((column) => Object.keys(column).length > 0) ?? {})
  return names.flatMap((name) => {
    const all = columns.map((column) => column[name] ?? '')
    if (all.every((value) => value === '')) return []
    const isChanged = new Set(all.filter(Boolean)).size > 1
    return [el('tr', {}, el('th', { scope: 'row' }, name), all.map((value) => el('td', { class: isChanged ? 'changed' : undefined }, value || '–')))]
  })
}
