// `openai` and the AI SDK, unmodified, in pages of another origin: browsers ask first for each header that the libraries send, and
// for those that tracing and monitoring add. Prints a line per browser and check.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { createServer } from "node:http";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";

const { OPENAI_BASE: baseURL, OPENAI_KEY: apiKey } = process.env;
const here = import.meta.dirname;
writeFileSync(
  `${here}/page.js`,
  `import OpenAI from "openai";
   import { createOpenAI } from "@ai-sdk/openai";
   import { generateText, streamText } from "ai";
   const { baseURL, apiKey } = ${JSON.stringify({ baseURL, apiKey })};
   // What OpenTelemetry, Sentry and HTTP libraries add. Chromium ignores "user-agent", and Firefox sends it.
   const headers = {
     traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", tracestate: "a=b", baggage: "user=ada",
     "sentry-trace": "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1", "cache-control": "no-cache", pragma: "no-cache",
     "x-requested-with": "XMLHttpRequest", "x-request-id": "r1", "user-agent": "page/1",
   };
   const input = 'Hello [[script: say "Yes."]]';
   const openai = new OpenAI({ baseURL, apiKey, dangerouslyAllowBrowser: true, defaultHeaders: headers, maxRetries: 0 });
   const model = createOpenAI({ baseURL, apiKey, headers })("default");
   const checks = {
     "openai: models": async () => (await openai.models.list()).data.some((one) => one.id === "default"),
     "openai: response": async () => (await openai.responses.create({ model: "default", input })).output_text === "Yes.",
     "openai: stream": async () => {
       let text = "";
       for await (const event of await openai.responses.create({ model: "default", input, stream: true })) {
         if (event.type === "response.output_text.delta") text += event.delta;
       }
       return text === "Yes.";
     },
     "openai: chat completion": async () => {
       const { choices } = await openai.chat.completions.create({ model: "default", messages: [{ role: "user", content: input }] });
       return choices[0].message.content === "Yes.";
     },
     "ai-sdk: text": async () => (await generateText({ model, prompt: input, maxRetries: 0 })).text === "Yes.",
     "ai-sdk: stream": async () => (await streamText({ model, prompt: input, maxRetries: 0 }).text) === "Yes.",
   };
   const outcomes = {};
   for (const [name, check] of Object.entries(checks)) {
     outcomes[name] = await check().catch((error) => String(error));
   }
   await fetch("/outcomes", { method: "POST", body: JSON.stringify(outcomes) });`,
);
await build({ entryPoints: [`${here}/page.js`], bundle: true, format: "esm", outfile: `${here}/bundle.js`, logLevel: "error" });
const files = {
  "/bundle.js": ["text/javascript", readFileSync(`${here}/bundle.js`)],
  "/": ["text/html", '<!doctype html><meta charset="utf-8"><script type="module" src="/bundle.js"></script>'],
};

/** Opens a page, and returns what it reports. */
async function run(program, options) {
  const folder = mkdtempSync(join(tmpdir(), "aptix-browser-"));
  const { promise, resolve, reject } = Promise.withResolvers?.() ?? deferred();
  const server = createServer((request, response) => {
    if (request.method === "POST") {
      let body = "";
      request.on("data", (part) => (body += part)).on("end", () => { response.end(); resolve(JSON.parse(body)); });
      return;
    }
    const [type, body] = files[request.url] ?? [];
    response.writeHead(type ? 200 : 404, { "content-type": type ?? "text/plain" }).end(body);
  }).listen(0, "127.0.0.1");
  await new Promise((listening) => server.on("listening", listening));
  const page = `http://127.0.0.1:${server.address().port}/`;
  const browser = spawn(program, options(folder, page), { stdio: "ignore" });
  browser.on("exit", (code) => reject(new Error(`${program} ended with ${code}`)));
  try {
    return await promise;
  } finally {
    browser.removeAllListeners("exit");
    const ended = browser.exitCode === null && new Promise((resolve) => browser.on("exit", resolve));
    browser.kill();
    await ended;
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
  }
}

function deferred() {
  let resolve, reject;
  const promise = new Promise((...both) => ([resolve, reject] = both));
  return { promise, resolve, reject };
}

const browsers = {
  [process.env.CHROMIUM ?? "chromium"]: (folder, page) => ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", `--user-data-dir=${folder}`, page],
  [process.env.FIREFOX ?? "firefox-esr"]: (folder, page) => ["--headless", "--no-remote", "--profile", folder, page],
};
for (const [program, options] of Object.entries(browsers)) {
  if (spawnSync(program, ["--version"], { stdio: "ignore" }).status !== 0) {
    console.log(`skipped: ${program} is not installed`);
    continue;
  }
  for (const [name, outcome] of Object.entries(await run(program, options))) {
    assert.equal(outcome, true, `${program}, ${name}: ${outcome}`);
    console.log(`${program} ${name}`);
  }
}
