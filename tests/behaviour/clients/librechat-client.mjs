// Uses `@librechat/agents`, the client code of LibreChat, unmodified, against the base URL and key in the environment. Prints a line
// per check.

import assert from "node:assert/strict";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { GraphEvents, Providers, Run } from "@librechat/agents";
import { z } from "zod";

const PNG = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

function check(name, condition, shown) {
  assert.ok(condition, `${name}: ${JSON.stringify(shown)}`);
  console.log(`librechat ${name}`);
}

/** Runs an agent of LibreChat on a chat. Returns its content, and the deltas that it streamed. */
async function run(messages, { tools = [], model = "agent/default" } = {}) {
  const deltas = [];
  const runId = crypto.randomUUID();
  const agent = await Run.create({
    runId,
    returnContent: true,
    graphConfig: {
      type: "standard",
      instructions: "You are a helpful assistant.",
      tools,
      llmConfig: {
        provider: Providers.OPENAI,
        model,
        apiKey: process.env.OPENAI_KEY,
        configuration: { baseURL: process.env.OPENAI_BASE },
        streaming: true,
        streamUsage: true,
      },
    },
    customHandlers: {
      [GraphEvents.ON_MESSAGE_DELTA]: {
        handle: (event, data) => deltas.push(...data.delta.content.map((part) => part.text ?? "")),
      },
    },
  });
  const config = { runId, configurable: { thread_id: runId }, streamMode: "values", version: "v2" };
  const content = await agent.processStream({ messages }, config);
  const text = (content ?? []).map((part) => part.text ?? "").join("");
  return { text, deltas, content };
}

const hello = new HumanMessage('Hi [[script: say "Hello."]]');
const text = await run([hello]);
check("text", text.text === "Hello.", text);

const stream = await run([new HumanMessage("Hi [[script: pace 5ms; words 20]]")]);
check("stream", stream.deltas.length > 1 && stream.deltas.join("").endsWith("word20"), stream);

const history = await run([hello, new AIMessage(text.text), new HumanMessage('More [[script: say "Again."]]')]);
check("history", history.text === "Again.", history);

const weather = tool(async ({ city }) => `sunny in ${city}`, {
  name: "get_weather",
  description: "Returns the weather of a city.",
  schema: z.object({ city: z.string() }),
});
const question = 'Weather? [[script: call get_weather {"city":"Bern"}; then; say "Sunny."]]';
const called = await run([new HumanMessage(question)], { tools: [weather] });
const call = called.content.find((part) => part.type === "tool_call")?.tool_call;
check("function", call?.output === "sunny in Bern" && called.text === "Sunny.", called);

const image = new HumanMessage({
  content: [
    { type: "text", text: 'Look [[script: say "Red."]]' },
    { type: "image_url", image_url: { url: PNG, detail: "auto" } },
  ],
});
const seen = await run([image]);
check("image", seen.text === "Red.", seen);
