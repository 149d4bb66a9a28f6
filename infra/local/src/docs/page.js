// Renders the OpenAPI document, which the page embeds as JSON.
import { tryIt } from './try.js';

const api = JSON.parse(document.getElementById('document').textContent);

// Creates an element with attributes and children. Text is always text, never markup.
function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.flat(Infinity).filter(child => child !== undefined && child !== null && child !== ''));
  return element;
}

const code = text => el('code', {}, String(text));
const muted = text => el('span', { class: 'muted' }, text);

// Resolves a reference.
const resolve = item => item && item.$ref
  ? item.$ref.slice(2).split('/').reduce((at, key) => at[key], api)
  : item;

// Renders the Markdown subset of descriptions: paragraphs, lists, code.
function prose(text = '') {
  const inline = line => line.split('`').map((part, index) => index % 2 ? code(part) : part);
  return text.split('\n\n').map(block => block.startsWith('- ')
    ? el('ul', {}, block.split(/\n?^- /m).filter(Boolean).map(item => el('li', {}, inline(item))))
    : el('p', {}, inline(block)));
}

// Summarizes a schema, with links to the named ones.
function describe(schema) {
  if (!schema || !Object.keys(schema).length) return ['anything'];
  if (schema.$ref) {
    const name = schema.$ref.split('/').pop();
    return [el('a', { href: '#schema-' + name }, name)];
  }
  const between = (items, word) => items.flatMap((item, at) => at ? [word, ...describe(item)] : describe(item));
  if (schema.enum) return schema.enum.flatMap((value, at) => at ? [' | ', code(value)] : [code(value)]);
  if (schema.oneOf) return between(schema.oneOf, ' or ');
  if (schema.allOf) return schema.allOf.some(part => part.$ref)
    ? between(schema.allOf.filter(part => part.$ref), ' and ') : ['object'];
  const types = [].concat(schema.type || 'object').join(' or ');
  const kind = types.startsWith('array') ? [types, ' of ', ...describe(schema.items)] : [types];
  return [...kind, ' ', muted(limits(schema))];
}

function limits(schema) {
  const range = (least, most, what) => [
    ...(least === undefined ? [] : [`at least ${least}${what}`]), ...(most === undefined ? [] : [`at most ${most}${what}`]),
  ];
  return [
    ...range(schema.minLength, schema.maxLength, ' characters'),
    ...range(schema.minItems, schema.maxItems, ' items'),
    ...range(schema.minimum, schema.maximum, ''),
    ...['format', 'pattern', 'contentEncoding', 'contentMediaType', 'default']
      .filter(key => schema[key] !== undefined).map(key => `${key} ${schema[key]}`),
  ].join(', ');
}

// Lists the members of an object schema, including those of its `allOf` parts.
function members(schema) {
  const parts = schema.allOf ? schema.allOf.filter(part => !part.$ref) : [schema];
  const rows = parts.flatMap(part => Object.entries(part.properties || {}).map(([name, member]) =>
    el('tr', {}, el('td', {}, code(name), (part.required || []).includes(name) ? '' : muted(' optional')),
      el('td', {}, el('p', {}, describe(member)), prose(member.description)))));
  return rows.length ? el('table', {}, rows) : '';
}

const preformatted = value => el('pre', {}, typeof value === 'string' ? value : JSON.stringify(value, null, 2));

function contents(content = {}) {
  return Object.entries(content).map(([type, { schema, example, examples = {} }]) => [
    el('p', {}, code(type), ' ', describe(schema)),
    schema && !schema.$ref && !schema.allOf ? members(schema) : '',
    [...Object.values(examples), ...(example ? [{ summary: 'Example', value: example }] : [])]
      .map(({ summary, value }) => el('details', {}, el('summary', {}, summary), preformatted(value))),
  ]).flat();
}

// Returns an example of a JSON body: one that needs no earlier request, if there is any.
function firstExample(operation) {
  const json = operation.requestBody?.content?.['application/json'];
  const examples = json?.examples || {};
  return json && ((examples.userTurn ?? Object.values(examples)[0])?.value ?? json.example ?? {});
}

function curl(method, path, operation) {
  const line = [`curl -sS -X ${method} "$API${path}"`, '-H "Authorization: Bearer $TOKEN"'];
  const body = firstExample(operation);
  if (body) line.push("-H 'Content-Type: application/json'", `-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`);
  return line.join(' \\\n  ');
}

// Returns a section that is folded until it is opened or linked to.
const folded = (id, summary, ...contents) =>
  el('section', { id }, el('details', { class: 'fold' }, el('summary', {}, summary), el('div', {}, contents)));

function operationSection(method, path, operation) {
  const parameters = (operation.parameters || []).map(resolve);
  return folded(operation.operationId,
    [el('h3', {}, el('span', { class: 'method' }, method), ' ', operation.summary), el('small', {}, path)],
    el('p', {}, el('span', { class: 'method' }, method), ' ', code(path)),
    prose(operation.description),
    tryIt(el, { method, path, parameters, body: firstExample(operation) }),
    parameters.length ? [el('h4', {}, 'Parameters'), el('table', {}, parameters.map(parameter => el('tr', {},
      el('td', {}, code(parameter.name), muted(` ${parameter.in}${parameter.required ? '' : ', optional'}`)),
      el('td', {}, el('p', {}, describe(parameter.schema)), prose(parameter.description)))))] : '',
    operation.requestBody ? [el('h4', {}, 'Body'), prose(operation.requestBody.description),
      contents(operation.requestBody.content)] : '',
    el('h4', {}, 'Responses'),
    Object.entries(operation.responses).map(([status, response]) => [status, resolve(response)]).map(([status, response]) =>
      el('details', status < 400 ? { open: '' } : {},
        el('summary', {}, code(status), ' ', response.description.match(/^- /) ? muted(
          [...response.description.matchAll(/^- `(\w+)`/gm)].map(match => match[1]).join(', ')) : ''),
        prose(response.description), contents(response.content),
        el('p', { class: 'muted' }, 'Headers: ', Object.keys(response.headers || {}).join(', ')))),
    el('details', {}, el('summary', {}, 'curl'), preformatted(curl(method, path, operation))));
}

const operations = Object.entries(api.paths).flatMap(([path, item]) =>
  ['get', 'put', 'post', 'delete', 'patch'].filter(method => item[method])
    .map(method => ({ method: method.toUpperCase(), path, operation: item[method] })));
const nav = document.querySelector('nav');
const main = document.querySelector('main');

// Entries of the search: a link and a section each, with the text that is searched.
const entries = [];
const groups = [];

// Adds a group with its heading, and returns a function that adds an entry to it.
function addGroup(title, links, sections, description = '') {
  const heading = [el('strong', {}, title), el('h2', {}, title), ...prose(description)];
  const group = { heading, entries: [] };
  groups.push(group);
  links.append(heading[0]);
  sections.append(...heading.slice(1));
  return (link, section, text) => {
    links.append(link);
    sections.append(section);
    const entry = { link, section, text: text.toLowerCase() };
    entries.push(entry);
    group.entries.push(entry);
  };
}

document.title = api.info.title;
const search = el('input', { type: 'search', placeholder: 'Search', 'aria-label': 'Search operations and schemas' });
const noMatch = el('p', { role: 'status', hidden: '' }, 'No operation or schema matches.');
nav.append(el('a', { href: '/', class: 'home' }, '← Console'), search);
main.replaceChildren(el('h1', {}, api.info.title, ' ', muted(api.info.version)), ...prose(api.info.description),
  el('p', {}, 'OpenAPI document: ', el('a', { href: '/openapi.yaml' }, '/openapi.yaml'), `, OpenAPI ${api.openapi}, `,
    api.info.license?.name),
  ...Object.values(api.components.securitySchemes).flatMap(scheme => prose(scheme.description)), noMatch);
for (const tag of api.tags) {
  const add = addGroup(tag.name, nav, main, tag.description);
  for (const { method, path, operation } of operations.filter(({ operation }) => operation.tags.includes(tag.name))) {
    add(el('a', { href: '#' + operation.operationId, title: path },
      el('span', { class: 'method' }, method), ' ', operation.summary),
    operationSection(method, path, operation),
    [method, path, operation.operationId, operation.summary, operation.description].join(' '));
  }
}
// The schemas are one more fold, since there are many.
const schemaLinks = el('details', {}, el('summary', {}, 'All schemas'));
const schemaSections = el('details', { class: 'fold' }, el('summary', {}, 'All schemas'));
const addSchema = addGroup('Schemas', nav, main);
addSchema(schemaLinks, schemaSections, '');
for (const [name, schema] of Object.entries(api.components.schemas)) {
  const link = el('a', { href: '#schema-' + name }, name);
  const section = folded('schema-' + name, el('h3', {}, name), prose(schema.description),
    schema.properties ? '' : el('p', {}, describe(schema)), members(schema));
  schemaLinks.append(link);
  schemaSections.append(section);
  entries.push({ link, section, text: `${name} ${schema.description || ''}`.toLowerCase(), isSchema: true });
}

// Shows the entries whose text contains all words of the query.
function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const schemas = entries.find(({ section }) => section === schemaSections);
  for (const entry of entries) {
    entry.isShown = words.every(word => entry.text.includes(word));
    entry.link.hidden = entry.section.hidden = !entry.isShown;
  }
  schemas.isShown = entries.some(({ isSchema, isShown }) => isSchema && isShown);
  schemas.link.hidden = schemas.section.hidden = !schemas.isShown;
  schemas.link.open = schemas.section.open = words.length > 0;
  for (const { heading, entries } of groups) {
    const isEmpty = !entries.some(({ isShown }) => isShown);
    heading.forEach(element => element.hidden = isEmpty);
  }
  noMatch.hidden = entries.some(({ isShown }) => isShown);
}
search.addEventListener('input', filter);

// Unfolds and shows the section that the address names.
function showTarget() {
  const section = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!section) return;
  for (let fold = section.querySelector('details'); fold; fold = fold.parentElement.closest('details')) fold.open = true;
  section.scrollIntoView();
}
addEventListener('hashchange', showTarget);
// A link to the current address changes no hash.
document.addEventListener('click', event => {
  if (event.target.closest?.('a')?.hash === location.hash) showTarget();
});
showTarget();
