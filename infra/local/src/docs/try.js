// Requests that are tried from the page: with a token of the console's, to this API alone.
import { consoleApi } from '/console/connection.js';

// As much of an answer is shown.
const MOST_CHARS = 200_000;

// Whom the console takes the page for.
const who = () => ({ Org: 'acme', User: 'ada', Operator: true, ...JSON.parse(sessionStorage.getItem('aptix-console:who') || '{}') });

// A token, where this cloud makes them.
async function token() {
  const { Token } = await consoleApi('POST', 'token', who());
  return Token;
}

// The request that a form says.
async function request({ method, path, parameters }, values) {
  const given = parameters.filter(({ name }) => values.get(name));
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values.get(name) || ''));
  const url = new URL(filled, location.origin);
  for (const { name } of given.filter(parameter => parameter.in === 'query')) url.searchParams.set(name, values.get(name));
  const headers = { authorization: `Bearer ${values.get(':token') || await token()}` };
  for (const { name } of given.filter(parameter => parameter.in === 'header')) headers[name] = values.get(name);
  const body = values.get(':body');
  if (body) headers['content-type'] = 'application/json';
  return fetch(url, { method, headers, body: body || undefined, cache: 'no-store' });
}

// What came of it, as it comes.
async function show(el, response, output) {
  const began = performance.now();
  const head = el('p', {}, el('code', {}, `${response.status} ${response.statusText}`));
  const held = el('pre', { tabindex: '0', role: 'group', 'aria-label': 'Answer' });
  output.replaceChildren(head, held);
  const decoder = new TextDecoder();
  let text = '';
  for (const reader = response.body.getReader(); text.length < MOST_CHARS;) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
    held.textContent = text;
  }
  try {
    held.textContent = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // Events, a text, or more than is shown.
  }
  head.append(` ${text.length} characters, ${Math.round(performance.now() - began)} ms`);
}

// A form for an operation, made when it is opened.
export function tryIt(el, operation) {
  const details = el('details', {}, el('summary', {}, 'Try it'));
  details.addEventListener('toggle', () => {
    if (details.querySelector('form')) return;
    const output = el('output');
    const field = ({ name, required, schema, in: place }) => el('label', {}, el('span', {}, name),
      el('input', { name, autocomplete: 'off', ...(required ? { required: '' } : {}), placeholder: `${place} ${schema?.type || ''}` }));
    const form = el('form', { class: 'try' }, operation.parameters.map(field),
      operation.body === undefined ? '' : el('label', { class: 'whole' }, el('span', {}, 'Body'),
        el('textarea', { name: ':body', rows: '8', spellcheck: 'false' }, JSON.stringify(operation.body, null, 2))),
      el('label', {}, el('span', {}, 'Token, if another'), el('input', { name: ':token', autocomplete: 'off' })),
      el('button', {}, 'Send'), output);
    form.addEventListener('submit', async event => {
      event.preventDefault();
      try {
        await show(el, await request(operation, new FormData(form)), output);
      } catch (error) {
        output.replaceChildren(el('p', { role: 'alert' }, error.message));
      }
    });
    details.append(form);
  });
  return details;
}
