// "Try it" forms: send requests to this API, with a token from the console.
import { consoleApi } from '/console/connection.js';

// Characters of a response that are shown, at most.
const MOST_CHARS = 200_000;

// The identity that is selected in the console.
const identity = () => ({ Org: 'acme', User: 'ada', Operator: true, ...JSON.parse(sessionStorage.getItem('aptix-console:identity') || '{}') });

// Requests a token, if this cloud issues them.
async function token() {
  const { Token } = await consoleApi('POST', 'token', identity());
  return Token;
}

// Ids of the newest turn that was sent from this page. They fill the fields of the other operations.
const newest = {};

// Returns an id for a session or a turn.
const newId = () => crypto.randomUUID().replaceAll('-', '');

// Returns the body of a form. A user turn gets ids of its own, so that it is a new one.
function initialBody(body) {
  const isTurn = typeof body.Instruction === 'string' && 'SessionId' in body;
  return JSON.stringify(isTurn ? { ...body, SessionId: newId(), TurnId: newId() } : body, null, 2);
}

// Remembers the ids of a sent body.
function remember(text) {
  try {
    const { SessionId, TurnId } = JSON.parse(text);
    if (SessionId && TurnId) Object.assign(newest, { SessionId, TurnId });
  } catch {
    // The API reports what is wrong with the body.
  }
}

// Sends the request that a form describes.
async function request({ method, path, parameters }, values) {
  const present = parameters.filter(({ name }) => values.get(name));
  const expanded = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values.get(name) || ''));
  const url = new URL(expanded, location.origin);
  for (const { name } of present.filter(parameter => parameter.in === 'query')) url.searchParams.set(name, values.get(name));
  const headers = { authorization: `Bearer ${values.get(':token') || await token()}` };
  for (const { name } of present.filter(parameter => parameter.in === 'header')) headers[name] = values.get(name);
  const body = values.get(':body');
  if (body) {
    headers['content-type'] = 'application/json';
    remember(body);
  }
  return fetch(url, { method, headers, body: body || undefined, cache: 'no-store' });
}

// Shows a response as it arrives.
async function show(el, response, output) {
  const start = performance.now();
  const head = el('p', {}, el('code', {}, `${response.status} ${response.statusText}`));
  const body = el('pre', { tabindex: '0', role: 'group', 'aria-label': 'Response' });
  output.replaceChildren(head, body);
  const decoder = new TextDecoder();
  let text = '';
  for (const reader = response.body.getReader(); text.length < MOST_CHARS;) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
    body.textContent = text;
  }
  try {
    body.textContent = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // Not JSON, or truncated.
  }
  head.append(` ${text.length} characters, ${Math.round(performance.now() - start)} ms`);
}

// Returns a form for an operation, which is created when it is opened.
export function tryIt(el, operation) {
  const details = el('details', { class: 'try-it' }, el('summary', {}, 'Try it'));
  details.addEventListener('toggle', () => {
    if (details.querySelector('form')) return;
    const output = el('output');
    const field = ({ name, required, schema, in: location }) => el('label', {}, el('span', {}, name),
      el('input', { name, autocomplete: 'off', ...(required ? { required: '', value: newest[name] ?? '' } : {}), placeholder: `${location} ${schema?.type || ''}` }));
    const form = el('form', { class: 'try' }, operation.parameters.map(field),
      operation.body === undefined ? '' : el('label', { class: 'whole' }, el('span', {}, 'Body'),
        el('textarea', { name: ':body', rows: '8', spellcheck: 'false' }, initialBody(operation.body))),
      el('label', {}, el('span', {}, 'Token (optional)'), el('input', { name: ':token', autocomplete: 'off' })),
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
