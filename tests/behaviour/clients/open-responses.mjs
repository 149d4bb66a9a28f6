// Sends what the compliance tests of Open Responses send (openresponses/openresponses, src/lib/compliance-tests.ts), and checks what
// they check: statuses, output items, events, and the members that a response must have. The mock model needs a script in
// the text, which replaces the question. Prints a line per check.
//
// One rule differs: the tests want `usage` in a response that is in progress, where OpenAI's published document allows no null.
import assert from "node:assert/strict";

const MEMBERS = [
  ..."id object created_at completed_at status incomplete_details model previous_response_id instructions output error".split(" "),
  ..."tools tool_choice truncation parallel_tool_calls text top_p presence_penalty frequency_penalty top_logprobs".split(" "),
  ..."temperature reasoning max_output_tokens max_tool_calls store background service_tier metadata".split(" "),
  ..."safety_identifier prompt_cache_key".split(" "),
];
const ITEMS = {
  message: ["id", "status", "role", "content"],
  function_call: ["id", "status", "call_id", "name", "arguments"],
};
const IMAGE =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const WEATHER = {
  type: "function",
  name: "get_weather",
  description: "Get the current weather for a location",
  parameters: {
    type: "object",
    properties: { location: { type: "string", description: "The city and state, e.g. San Francisco, CA" } },
    required: ["location"],
  },
};
const message = (role, content) => ({ type: "message", role, content });

function check(name, condition, shown) {
  assert.ok(condition, `${name}: ${JSON.stringify(shown)}`);
  console.log(`open-responses ${name}`);
}

function checkResponse(response, isFinal) {
  const missing = MEMBERS.filter((member) => !(member in response));
  if (isFinal && !("usage" in response)) missing.push("usage");
  for (const item of response.output) {
    assert.ok(item.type in ITEMS, `an item of type ${item.type}`);
    missing.push(...ITEMS[item.type].filter((member) => !(member in item)).map((member) => `${item.type}.${member}`));
  }
  assert.deepEqual(missing, [], JSON.stringify(response));
}

async function post(body) {
  const response = await fetch(`${process.env.OPENAI_BASE}/responses`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${process.env.OPENAI_KEY}` },
    body: JSON.stringify({ model: "scripted", ...body }),
  });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return text;
}

async function create(body) {
  const response = JSON.parse(await post({ ...body, stream: false }));
  checkResponse(response, true);
  return response;
}

async function stream(body) {
  const events = (await post({ ...body, stream: true }))
    .split("\n\n")
    .filter((block) => block.includes("data: ") && !block.includes("data: [DONE]"))
    .map((block) => {
      const [, event] = /^event: (.*)$/m.exec(block);
      const data = JSON.parse(/^data: (.*)$/m.exec(block)[1]);
      assert.equal(data.type, event);
      assert.ok(Number.isInteger(data.sequence_number), block);
      return data;
    });
  for (const event of events) if (event.response) checkResponse(event.response, event === events.at(-1));
  assert.equal(events[0].type, "response.created");
  return events;
}

const hasText = (response) =>
  response.status === "completed" && response.output.some((item) => item.type === "message" && item.content.length > 0);

const basic = await create({ input: [message("user", "Say hello in exactly 3 words.")] });
check("basic response", hasText(basic), basic);

const counted = await stream({ input: [message("user", "Count from 1 to 5.")] });
check("streaming response", counted.at(-1).type === "response.completed" && hasText(counted.at(-1).response), counted);

const pirate = await create({ input: [message("system", "You are a pirate."), message("user", "Say hello.")] });
check("system prompt", hasText(pirate), pirate);

const asked = {
  input: [message("user", '[[script: call get_weather {"location":"San Francisco, CA"}; then; say "Sunny."]]')],
  tools: [WEATHER],
};
const called = await create(asked);
check("tool calling", called.output.some((item) => item.type === "function_call"), called);

const events = await stream(asked);
const ofCall = (type) => events.some((event) => event.type === type && event.item.type === "function_call");
const kinds = events.map((event) => event.type);
check(
  "tool calling, streamed",
  ofCall("response.output_item.added") &&
    ofCall("response.output_item.done") &&
    kinds.includes("response.function_call_arguments.delta") &&
    kinds.includes("response.function_call_arguments.done"),
  kinds,
);

const seen = await create({
  input: [
    message("user", [
      { type: "input_text", text: "What do you see in this image?" },
      { type: "input_image", image_url: IMAGE },
    ]),
  ],
});
check("image input", hasText(seen), seen);

const question = message("user", "What is my name?");
const alone = await create({ input: [question] });
const named = await create({
  input: [
    message("user", "My name is Alice."),
    message("assistant", "Hello Alice! Nice to meet you. How can I help you today?"),
    question,
  ],
});
// The mock model counts what it reads, however the history is laid out.
check("multi-turn conversation", hasText(named) && named.usage.input_tokens > alone.usage.input_tokens, [named, alone]);
