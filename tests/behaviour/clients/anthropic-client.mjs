// Uses the package `@anthropic-ai/sdk`, unmodified, against the base URL and token in the environment. Prints a line per check.
import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";

const client = new Anthropic(); // Reads ANTHROPIC_BASE_URL and ANTHROPIC_AUTH_TOKEN.
const common = { model: "agent/default", max_tokens: 1024 };
const user = (content) => ({ role: "user", content });
const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const ROUNDS =
  'Weather? [[script: say "I look."; call get_weather {"city":"Bern"}; then; call get_weather {"city":"Thun"}; then; say "Sunny."]]';

function check(name, condition, shown) {
  assert.ok(condition, `${name}: ${JSON.stringify(shown)}`);
  console.log(`anthropic-javascript ${name}`);
}

const text = await client.messages.create({ ...common, messages: [user('Hi [[script: say "Hello."]]')] });
check("text", text.content[0].text === "Hello." && text.stop_reason === "end_turn", text);

let streamed = "";
const stream = client.messages.stream({ ...common, messages: [user("Hi [[script: words 20]]")] });
stream.on("text", (delta) => (streamed += delta));
const final = await stream.finalMessage();
check("stream", streamed === final.content[0].text && streamed.endsWith("word20"), final);

const tools = [{ name: "get_weather", description: "Returns the weather of a city.", input_schema: schema }];
const messages = [user(ROUNDS)];
const seen = [];
let reply;
while ((reply = await client.messages.create({ ...common, tools, messages })).stop_reason === "tool_use") {
  const calls = reply.content.filter((block) => block.type === "tool_use");
  seen.push(...calls.map((call) => call.input.city));
  const results = calls.map((call) => ({ type: "tool_result", tool_use_id: call.id, content: "sunny" }));
  messages.push({ role: "assistant", content: reply.content }, user(results));
}
check("tools", seen.join() === "Bern,Thun" && reply.content[0].text === "Sunny.", reply);
messages.push({ role: "assistant", content: reply.content }, user('Thanks [[script: say "Bye."]]'));
const bye = await client.messages.create({ ...common, tools, messages });
check("follow-up", bye.content[0].text === "Bye.", bye);

const asked = [];
const weather = betaTool({
  name: "get_weather",
  description: "Returns the weather of a city.",
  inputSchema: schema,
  run: ({ city }) => (asked.push(city), "sunny"),
});
for (const [name, options] of [
  ["tool runner", {}],
  ["tool runner without a thread", { thread: false }],
]) {
  asked.length = 0;
  const runner = client.beta.messages.toolRunner({ ...common, tools: [weather], messages: [user(ROUNDS)], ...options });
  const answer = await runner;
  check(name, asked.join() === "Bern,Thun" && answer.content[0].text === "Sunny.", answer);
}

const thread = client.beta.messages.thread({ ...common, system: "Be kind." });
const first = await thread.send([user('Hi [[script: say "Hello."]]')]);
const second = await thread.send([user('More [[script: say "Again."]]')]);
check("thread", first.content[0].text === "Hello." && second.content[0].text === "Again.", second);

const counted = await client.messages.countTokens({ model: "agent/default", messages: [user("How many?")] });
check("countTokens", counted.input_tokens > 0, counted);

const models = (await client.models.list()).data.map((model) => model.id);
check("models", models.includes("agent/default"), models);

await assert.rejects(
  client.messages.create({ ...common, model: "claude-unknown", messages: [user("Hi")] }),
  (error) => error.status === 404 && error.error.error.type === "not_found_error",
);
check("unknown model", true);

for (const [failure, status, kind] of [
  ["status 400 code x", 400, "invalid_request_error"],
  ["status 401", 403, "permission_error"],
  ["status 429 code insufficient_quota", 402, "billing_error"],
]) {
  const request = { ...common, messages: [user(`Hi [[script: ${failure}]]`)] };
  const failed = (error) => error.error.error.type === kind && (error.status === status || error.status === undefined);
  await assert.rejects(client.messages.create(request), failed);
  await assert.rejects(client.messages.stream(request).finalMessage(), failed);
  check(`failure ${kind}`, true);
}
