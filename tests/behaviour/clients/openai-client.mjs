// Uses the package `openai`, unmodified, against the base URL and key in the environment. Prints a line per check.
import assert from "node:assert/strict";
import OpenAI, { toFile } from "openai";

const client = new OpenAI({ baseURL: process.env.OPENAI_BASE, apiKey: process.env.OPENAI_KEY });
const PNG =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const SCHEMA = { type: "object", properties: { n: { type: "integer" } }, required: ["n"], additionalProperties: false };
const WEATHER = {
  type: "function",
  name: "get_weather",
  description: "Returns the weather of a city.",
  strict: true,
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false },
};

function check(name, condition, shown) {
  assert.ok(condition, `${name}: ${JSON.stringify(shown)}`);
  console.log(`openai-javascript ${name}`);
}

const text = await client.responses.create({ model: "scripted", input: 'Hi [[script: say "Hello."]]' });
check("text", text.output_text === "Hello." && text.status === "completed", text);

let streamed = "";
const stream = client.responses.stream({ model: "scripted", input: "Hi [[script: pace 5ms; words 20]]" });
stream.on("response.output_text.delta", (event) => (streamed += event.delta));
const final = await stream.finalResponse();
check("stream", streamed === final.output_text && streamed.endsWith("word20"), final);

const input = [
  { role: "user", content: 'Weather? [[script: call get_weather {"city":"Bern"}; then; say "Sunny."]]' },
];
const called = await client.responses.create({ model: "scripted", input, tools: [WEATHER] });
const call = called.output[0];
input.push(...called.output, { type: "function_call_output", call_id: call.call_id, output: "sunny" });
const resumed = await client.responses.create({ model: "scripted", input, tools: [WEATHER] });
check("function", call.name === "get_weather" && resumed.output_text === "Sunny.", resumed);

const image = await client.responses.create({
  model: "agent/default",
  input: [
    {
      role: "user",
      content: [
        { type: "input_text", text: 'Look [[script: say "Red."]]' },
        { type: "input_image", image_url: PNG, detail: "auto" },
      ],
    },
  ],
});
check("image", image.output_text === "Red.", image);

const uploaded = await client.files.create({
  file: await toFile(Buffer.from(PNG.split(",")[1], "base64"), "dot.png", { type: "image/png" }),
  purpose: "vision",
  expires_after: { anchor: "created_at", seconds: 3600 },
});
check("file", uploaded.filename === "dot.png" && uploaded.expires_at === uploaded.created_at + 3600, uploaded);
const ofFile = await client.responses.create({
  model: "agent/default",
  input: [
    {
      role: "user",
      content: [
        { type: "input_text", text: 'Look [[script: say "Red."]]' },
        { type: "input_image", file_id: uploaded.id, detail: "auto" },
      ],
    },
  ],
});
check("image of a file", ofFile.output_text === "Red." && (await client.files.delete(uploaded.id)).deleted, ofFile);

const structured = await client.responses.create({
  model: "scripted",
  input: 'Count [[script: say "{\\"n\\":1}"]]',
  text: { format: { type: "json_schema", name: "count", schema: SCHEMA, strict: true } },
});
check("structured output", structured.output_text === '{"n":1}', structured);

const conversation = await client.conversations.create();
for (const words of ['Hi [[script: say "Hello."]]', "More"]) {
  await client.responses.create({ model: "scripted", input: words, conversation: conversation.id });
}
const roles = [];
for await (const item of client.conversations.items.list(conversation.id, { limit: 3, order: "asc" })) roles.push(item.role);
check("conversation", roles.join() === "user,assistant,user,assistant", roles);

const running = await client.responses.create({
  model: "scripted",
  input: 'Go [[script: say "One"; hang 60s]]',
  stream: true,
});
let cancelled;
for await (const event of running) {
  if (event.type === "response.created") {
    cancelled = event.response.id;
    setTimeout(() => client.responses.cancel(cancelled), 500);
  }
}
check("cancel", (await client.responses.retrieve(cancelled)).status === "cancelled");

let [seen, number, id] = ["", 0, undefined];
const broken = await client.responses.create({
  model: "scripted",
  input: "Go [[script: pace 30ms; words 30]]",
  stream: true,
  background: true,
});
for await (const event of broken) {
  number = event.sequence_number;
  if (event.type === "response.created") id = event.response.id;
  if (event.type === "response.output_text.delta") seen += event.delta;
  if (seen.includes("word5")) break;
}
for await (const event of await client.responses.retrieve(id, { stream: true, starting_after: number })) {
  if (event.type === "response.output_text.delta") seen += event.delta;
}
const whole = await client.responses.retrieve(id);
check("taken up", seen === whole.output_text, [seen, whole.output_text]);

await client.responses.delete(image.id);
await assert.rejects(client.responses.retrieve(image.id), (error) => error.status === 404);
check("delete", true);

const models = [];
for await (const model of client.models.list()) models.push(model.id);
check("models", models.includes("agent/default"), models);

for (const [failure, status, code] of [
  ["status 400 code x", 400, "invalid_prompt"],
  ["status 401", 403, "ModelMisconfigured"],
  ["status 429 code insufficient_quota", 429, "insufficient_quota"],
]) {
  const chat = { model: "scripted", messages: [{ role: "user", content: `Hi [[script: ${failure}]]` }] };
  const failed = (error) => error.code === code && (error.status === status || error.status === undefined);
  await assert.rejects(client.chat.completions.create(chat), failed);
  await assert.rejects(async () => {
    for await (const _ of await client.chat.completions.create({ ...chat, stream: true }));
  }, failed);
  check(`failure ${code}`, true);
}
