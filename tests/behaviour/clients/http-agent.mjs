// Uses `HttpAgent` of the package `@ag-ui/client`, unmodified and of any version, against the URL in the environment. Prints a line
// per check, and records each stream in $AG_UI_CLIENTS/streams for `ag-ui-validate`.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { HttpAgent } from "@ag-ui/client";

const { AG_UI_URL: url, AG_UI_AUTHORIZATION: authorization, AG_UI_CLIENT: client, AG_UI_CLIENTS: folder } = process.env;
const streams = `${folder}/streams`;
mkdirSync(streams, { recursive: true });
let recorded = 0;

// Records what the agent reads.
async function recording(address, init) {
  const response = await fetch(address, init);
  const [read, kept] = response.body.tee();
  const name = `${streams}/${client}-${(recorded += 1)}.sse`;
  new Response(kept).text().then((text) => response.ok && writeFileSync(name, text), () => {});
  return new Response(read, { status: response.status, headers: response.headers });
}

const agent = (threadId, more = {}) =>
  new HttpAgent({ url, threadId, headers: { Authorization: authorization }, fetch: recording, ...more });
const user = (content) => ({ id: crypto.randomUUID(), role: "user", content });
const last = (of) => of.messages.at(-1);

function check(name, condition, shown) {
  assert.ok(condition, `${name}: ${JSON.stringify(shown)}`);
  console.log(`${client} ${name}`);
}

const one = agent("one");
one.addMessage(user('Hi [[script: words 20]]'));
const deltas = [];
await one.runAgent({}, { onTextMessageContentEvent: ({ event }) => deltas.push(event.delta) });
check("text", deltas.join("") === last(one).content && last(one).content.endsWith("word20"), one.messages);

const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const tools = [{ name: "get_weather", description: "Returns the weather of a city.", parameters }];
const two = agent("two");
two.addMessage(
  user(
    'Weather? [[script: say "I look."; call agent_list_modes {}; then; call get_weather {"city":"Bern"}; call get_weather {"city":"Thun"}; then; call get_weather {"city":"Chur"}; then; say "Sunny."]]',
  ),
);
const cities = [];
for (let calls = []; ; ) {
  const { newMessages } = await two.runAgent({ tools });
  const answered = new Set(newMessages.filter(({ role }) => role === "tool").map(({ toolCallId }) => toolCallId));
  calls = newMessages.flatMap(({ toolCalls }) => toolCalls ?? []).filter(({ id }) => !answered.has(id));
  if (calls.length === 0) break;
  for (const call of calls) {
    cities.push(JSON.parse(call.function.arguments).city);
    two.addMessage({ id: crypto.randomUUID(), role: "tool", toolCallId: call.id, content: "sunny" });
  }
}
check("tools", cities.join() === "Bern,Thun,Chur" && last(two).content === "Sunny.", two.messages);
check("server tools", two.messages.some(({ role, content }) => role === "tool" && content.includes("general")), two.messages);
two.addMessage(user('Thanks [[script: say "Bye."]]'));
await two.runAgent({ tools });
check("follow-up", last(two).content === "Bye.", two.messages);

const retried = agent("three");
retried.addMessage(user("Hi [[script: words 9]]"));
await retried.runAgent({ runId: "same" });
const first = structuredClone(retried.messages);
await retried.runAgent({ runId: "same" });
check("repeated run", JSON.stringify(retried.messages) === JSON.stringify(first), retried.messages);

// A client that has lost everything but the name of its thread.
const reloaded = agent("three");
reloaded.addMessage(user('And? [[script: say "More."]]'));
await reloaded.runAgent();
check("thread", last(reloaded).content === "More.", reloaded.messages);

const state = agent("four", { initialState: { items: 2 } });
state.addMessage(user('Hi [[script: say "Hello."]]'));
await state.runAgent({ context: [{ description: "The page", value: "/cart" }] });
check("state", state.state.items === 2 && last(state).content === "Hello.", state.state);

const error = console.error;
console.error = () => {};
const refused = agent("");
refused.addMessage(user("Hi"));
const message = await refused.runAgent().then(() => "", (caught) => String(caught));
check("refusal", message.includes("400") && message.includes("threadId"), message);
const failing = agent("five");
failing.addMessage(user("Hi [[script: fail bio_policy]]"));
let code;
await failing.runAgent({}, { onRunErrorEvent: ({ event }) => void (code = event.code) }).catch(() => {});
console.error = error;
check("failure", code?.startsWith("Model"), code);
