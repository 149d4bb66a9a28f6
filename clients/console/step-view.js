/**
 * One reply of the model: what it wrote and called, what came of the calls, and what was asked and answered on the wire.
 *
 * @module
 */

import { compared } from './compare.js'
import { copying, modelCurl } from './curl.js'
import { button, el, failure, fill } from './dom.js'
import { pretty, tokens, took, when } from './format.js'
import { markdown } from './markdown.js'
import { rounds } from './rounds.js'

/** @typedef {import('./trace.js').Step} Step */

const KINDS = /** @type {Record<string, string>} */ ({
  tools: 'calls tools',
  answer: 'the answer',
  partial_answer: 'cut short',
})

/**
 * @param {import('../javascript/src/index.js').Aptix} aptix
 * @param {Step} step
 * @param {Step | undefined} before the round before, or the last one of the turn before
 */
export function stepView(aptix, step, before) {
  const { Round, Kind, Attempt, OpenAIModel, ModelMs, Usage, AskedDate, Text, FullTextUrl, Calls = [] } = step
  const answer = el('div', { class: 'answer' })
  const tell = (/** @type {string} */ text) => fill(answer, markdown(text))
  tell(Text ?? '')
  const told = [OpenAIModel, Attempt !== undefined && `attempt ${Attempt}`, took(ModelMs), tokens(Usage)]
  return el(
    'section',
    { class: 'card step', 'aria-label': `Round ${Round}` },
    el('h2', {}, `Round ${Round}`, el('span', { class: 'tag' }, KINDS[Kind] ?? Kind)),
    el('p', { class: 'soft' }, when(AskedDate), AskedDate ? ' · ' : '', told.filter(Boolean).join(' · ')),
    Text !== undefined && answer,
    rest(aptix, FullTextUrl, tell),
    Calls.length > 0 &&
      el(
        'ul',
        { class: 'calls', 'aria-label': 'Calls' },
        Calls.map((call) => callView(aptix, call)),
      ),
    step.OpenAIRequestPayloadUrl && wire(aptix, step, before),
  )
}

/**
 * What shows all of a value that is told by its head.
 * @param {import('../javascript/src/index.js').Aptix} aptix
 * @param {string | undefined} link
 * @param {(text: string) => void} show
 */
function rest(aptix, link, show) {
  if (!link) return ''
  const place = el('div', {})
  const load = async () => {
    try {
      show(await (await aptix.open(link)).text())
      place.remove()
    } catch (error) {
      place.append(failure(error))
    }
  }
  place.append(button('Show all of it', load, { class: 'quiet' }))
  return place
}

/**
 * @param {import('../javascript/src/index.js').Aptix} aptix
 * @param {import('../javascript/src/wire.js').StepCall} call
 */
function callView(aptix, call) {
  const { Name, ArgumentsJson, IsPending, RanBy, ExecutionMs, ResultJson, ErrorMessage } = call
  const told = [RanBy && `by the ${RanBy}`, took(ExecutionMs), IsPending && 'its result is waited for']
    .filter(Boolean)
    .join(', ')
  const value = (
    /** @type {string} */ label,
    /** @type {string} */ text,
    /** @type {string | undefined} */ link,
    /** @type {string | undefined} */ kind = undefined,
  ) => {
    const shown = el('pre', { tabindex: 0, role: 'group', 'aria-label': `${label} of ${Name}`, class: kind }, pretty(text))
    return [shown, rest(aptix, link, (whole) => fill(shown, pretty(whole)))]
  }
  return el(
    'li',
    {},
    el('p', {}, el('code', {}, Name), el('span', { class: 'soft' }, ` ${told}`)),
    value('Arguments', ArgumentsJson, call.FullArgumentsJsonUrl),
    ...(ErrorMessage === undefined ? [] : value('Result', ErrorMessage, call.FullErrorMessageUrl, 'failure')),
    ...(ResultJson === undefined ? [] : value('Result', ResultJson, call.FullResultJsonUrl)),
  )
}

/**
 * The request and the response, read when they are looked at.
 * @param {import('../javascript/src/index.js').Aptix} aptix
 * @param {Step} step
 * @param {Step | undefined} before
 */
function wire(aptix, step, before) {
  const details = el('details', {}, el('summary', {}, 'Request and response'))
  const place = el('div', {}, el('p', { class: 'soft' }, 'Reading them.'))
  details.append(place)
  const text = async (/** @type {string | undefined} */ link) => (link ? (await aptix.open(link)).text() : '')

  const calls = async (/** @type {Step} */ of) => {
    const [request, response] = await Promise.all([text(of.OpenAIRequestPayloadUrl), text(of.OpenAIResponsePayloadUrl)])
    return { request, response }
  }

  async function read() {
    const now = await calls(step)
    const requests = el('div', {})
    const responses = el('div', {})
    const show = (/** @type {{ request: string, response: string } | undefined} */ old) => {
      fill(requests, compared(pretty(now.request), old && pretty(old.request), 'Request'))
      fill(responses, compared(pretty(now.response), old && pretty(old.response), 'Response'))
    }
    show(undefined)
    fill(
      place,
      rounds(now.request, now.response),
      el('div', { class: 'row' }, against(show), copying('Copy as curl', () => modelCurl(now.request))),
      el(
        'div',
        { class: 'columns' },
        el('div', {}, el('h3', {}, 'Request'), requests),
        el('div', {}, el('h3', {}, 'Response'), responses),
      ),
    )
  }

  /**
   * Shows what was asked and answered against the round before.
   * @param {(old: { request: string, response: string } | undefined) => void} show
   */
  function against(show) {
    if (!before?.OpenAIRequestPayloadUrl) return ''
    const isCompared = el('input', { type: 'checkbox' })
    const problem = el('span', {})
    isCompared.addEventListener('change', async () => {
      try {
        show(isCompared.checked ? await calls(before) : undefined)
        fill(problem)
      } catch (error) {
        fill(problem, failure(error))
      }
    })
    const label = before.Round < step.Round ? 'Against the round before' : 'Against the turn before'
    return [el('label', { class: 'check' }, isCompared, label), problem]
  }

  details.addEventListener('toggle', () => details.open && read().catch((error) => fill(place, failure(error))), {
    once: true,
  })
  return details
}
