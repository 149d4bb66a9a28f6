// Uses the packages `ai` and `@ai-sdk/openai`, unmodified, against the base URL and key in the environment. Prints a line per check.
import assert from "node:assert/strict";
import { createOpenAI } from "@ai-sdk/openai";
import { Output, generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const provider = createOpenAI({ baseURL: process.env.OPENAI_BASE, apiKey: process.env.OPENAI_KEY });

function check(name, condition, shown) {
  assert.ok(condition, `${name}: ${JSON.stringify(shown)}`);
  console.log(`ai-sdk ${name}`);
}

for (const [api, model] of [
  ["responses", provider("scripted")],
  ["chat", provider.chat("scripted")],
]) {
  const answer = await generateText({ model, prompt: 'Hi [[script: say "Hello."]]' });
  check(`${api}: text`, answer.text === "Hello." && answer.usage.outputTokens > 0, answer.text);

  const streamed = streamText({ model, prompt: "Hi [[script: pace 5ms; words 20]]" });
  let text = "";
  for await (const piece of streamed.textStream) text += piece;
  check(`${api}: stream`, text.endsWith("word20"), text);

  const cities = [];
  const getWeather = tool({
    description: "Returns the weather of a city.",
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => {
      cities.push(city);
      return "sunny";
    },
  });
  const called = await generateText({
    model,
    tools: { get_weather: getWeather },
    stopWhen: stepCountIs(3),
    prompt: 'Weather? [[script: call get_weather {"city":"Bern"}; then; say "Sunny."]]',
  });
  check(`${api}: function`, called.text === "Sunny." && cities.join() === "Bern", [called.text, cities]);

  const counted = await generateText({
    model,
    output: Output.object({ schema: z.object({ n: z.number() }) }),
    prompt: 'Count [[script: say "{\\"n\\":1}"]]',
  });
  check(`${api}: structured output`, counted.output.n === 1, counted.text);
}
