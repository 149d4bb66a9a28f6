/**
 * One step of a turn: the model's text, its tool calls with their results, and the raw request and response.
 *
 * @module
 */

import { diffView } from './diff.js'
import { copyButton, providerCurl } from './curl.js'
import { button, el, errorMessage, fill } from './dom.js'
import { prettyJson, formatTokens, duration, timestamp } from './format.js'
import { markdown } from './markdown.js'
import { modelItems } from './model-io.js'

/** @typedef {import('./trace.js').Step} Step */

const KINDS = /** @type {Record<string, string>} */ ({
  tools: 'tool calls',
  answer: 'answer',
  partial_answer: 'partial answer',
})

/**
 * @param {import('../javascript/src/index.js').Aptix} aptix
 * @param {Step} step
 * @param {Step | undefined} before the previous step, or the last step of the previous turn
 * @param {string} cost estimate of the step's cost
 */
export function stepView(aptix, step, before, cost) {
  const { Round, Kind, Attempt, OpenAIModel, ModelMs, Usage, AskedDate, Text, FullTextUrl, Calls = [] } = step
  const answer = el('div', { class: 'answer' })
  const showText = (/** @type {string} */ text) => fill(answer, markdown(text))
  showText(Text ?? '')
  const details = [OpenAIModel, Attempt !== undefined && `attempt ${Attempt}`, duration(ModelMs), formatTokens(Usage), cost]
  return el(
    'section',
    { class: 'card step', 'aria-label': `Round ${Round}` },
    el('h2', {}, `Round ${Round}`, el('span', { class: 'tag' }, KINDS[Kind] ?? Kind)),
    el('p', { class: 'muted' }, timestamp(AskedDate), AskedDate ? ' · ' : '', details.filter(Boolean).join(' · ')),
    Text !== undefined && answer,
    showAllButton(aptix, FullTextUrl, showText),
    Calls.length > 0 &&
      el(
        'ul',
        { class: 'calls', 'aria-label': 'Calls' },
        Calls.map((call) => callView(aptix, call)),
      ),
    step.OpenAIRequestPayloadUrl && payloadView(aptix, step, before),
  )
}

/**
 * Creates a button that loads the full value, if the value is truncated.
 * @param {import('../javascript/src/index.js').Aptix} aptix
 * @param {string | undefined} link
 * @param {(text: string) => void} show
 */
function showAllButton(aptix, link, show) {
  if (!link) return ''
  const container = el('div', {})
  const load = async () => {
    try {
      show(await (await aptix.open(link)).text())
      container.remove()
    } catch (error) {
      container.append(errorMessage(error))
    }
  }
  container.append(button('Show all', load, { class: 'ghost' }))
  return container
}

/**
 * @param {import('../javascript/src/index.js').Aptix} aptix
 * @param {import('../javascript/src/wire.js').StepCall} call
 */
function callView(aptix, call) {
  const { Name, ArgumentsJson, IsPending, RanBy, ExecutionMs, ResultJson, ErrorMessage } = call
  const details = [RanBy && `run by the ${RanBy}`, duration(ExecutionMs), IsPending && 'waiting for its result']
    .filter(Boolean)
    .join(', ')
  const value = (
    /** @type {string} */ label,
    /** @type {string} */ text,
    /** @type {string | undefined} */ link,
    /** @type {string | undefined} */ kind = undefined,
  ) => {
    const shown = el('pre', { tabindex: 0, role: 'group', 'aria-label': `${label} of ${Name}`, class: kind }, prettyJson(text))
    return [el('small', { 'aria-hidden': 'true' }, label), shown, showAllButton(aptix, link, (full) => fill(shown, prettyJson(full)))]
  }
  return el(
    'li',
    {},
    el('p', {}, el('code', {}, Name), el('span', { class: 'muted' }, ` ${details}`)),
    value('Arguments', ArgumentsJson, call.FullArgumentsJsonUrl),
    ...(ErrorMessage === undefined ? [] : value('Result', ErrorMessage, call.FullErrorMessageUrl, 'error')),
    ...(ResultJson === undefined ? [] : value('Result', ResultJson, call.FullResultJsonUrl)),
  )
}

/**
 * Shows the raw request and response, loaded when the section is opened.
 * @param {import('../javascript/src/index.js').Aptix} aptix
 * @param {Step} step
 * @param {Step | undefined} before
 */
function payloadView(aptix, step, before) {
  const details = el('details', {}, el('summary', {}, 'Request and response'))
  const container = el('div', {}, el('p', { class: 'muted' }, 'Loading…'))
  details.append(container)
  const text = async (/** @type {string | undefined} */ link) => (link ? (await aptix.open(link)).text() : '')

  const loadPayloads = async (/** @type {Step} */ target) => {
    const [request, response] = await Promise.all([text(target.OpenAIRequestPayloadUrl), text(target.OpenAIResponsePayloadUrl)])
    return { request, response }
  }

  async function load() {
    const current = await loadPayloads(step)
    const requests = el('div', {})
    const responses = el('div', {})
    const show = (/** @type {{ request: string, response: string } | undefined} */ other) => {
      fill(requests, diffView(prettyJson(current.request), other && prettyJson(other.request), 'Request'))
      fill(responses, diffView(prettyJson(current.response), other && prettyJson(other.response), 'Response'))
    }
    show(undefined)
    fill(
      container,
      modelItems(current.request, current.response),
      el('div', { class: 'row' }, compareCheckbox(show), copyButton('Copy as curl', () => providerCurl(current.request))),
      el(
        'div',
        { class: 'columns' },
        el('div', {}, el('h3', {}, 'Request'), requests),
        el('div', {}, el('h3', {}, 'Response'), responses),
      ),
    )
  }

  /**
   * Creates a checkbox that compares the request and response with the previous step's.
   * @param {(other: { request: string, response: string } | undefined) => void} show
   */
  function compareCheckbox(show) {
    if (!before?.OpenAIRequestPayloadUrl) return ''
    const isCompared = el('input', { type: 'checkbox' })
    const problem = el('span', {})
    isCompared.addEventListener('change', async () => {
      try {
        show(isCompared.checked ? await loadPayloads(before) : undefined)
        fill(problem)
      } catch (error) {
        fill(problem, errorMessage(error))
      }
    })
    const label = before.Round < step.Round ? 'Compare with the previous round' : 'Compare with the previous turn'
    return [el('label', { class: 'checkbox' }, isCompared, label), problem]
  }

  details.addEventListener('toggle', () => details.open && load().catch((error) => fill(container, errorMessage(error))), {
    once: true,
  })
  return details
}
