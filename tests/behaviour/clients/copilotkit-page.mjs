// A page with CopilotKit's chat, unmodified, in headless Chromium: it sends a message, reloads in mid-run, shows the rest, calls a
// tool of the page, and stops a run. Prints a line per check.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { writeFileSync } from "node:fs";
import { build } from "esbuild";
import puppeteer from "puppeteer-core";

const { AG_UI_URL: url, AG_UI_AUTHORIZATION: authorization, AG_UI_CLIENT: client } = process.env;
const here = import.meta.dirname;
writeFileSync(
  `${here}/page.jsx`,
  `import { createRoot } from "react-dom/client";
   import { CopilotChat, CopilotKitProvider, useAgent, useFrontendTool } from "@copilotkit/react-core/v2";
   import { z } from "zod";
   function Page() {
     window.agent = useAgent({ agentId: "default" }).agent;
     useFrontendTool({ name: "get_weather", description: "Returns the weather of a city.",
       parameters: z.object({ city: z.string() }), handler: async ({ city }) => "sunny in " + city });
     return <CopilotChat agentId="default" threadId={window.AG_UI.thread} />;
   }
   createRoot(document.getElementById("root")).render(
     <CopilotKitProvider runtimeUrl={window.AG_UI.url} headers={{ Authorization: window.AG_UI.authorization }}>
       <Page />
     </CopilotKitProvider>);`,
);
await build({
  entryPoints: [`${here}/page.jsx`], bundle: true, format: "iife", outfile: `${here}/page.js`, jsx: "automatic", logLevel: "error",
  loader: { ".woff": "empty", ".woff2": "empty", ".ttf": "empty" }, define: { "process.env.NODE_ENV": '"production"' },
});
const settings = JSON.stringify({ url, authorization, thread: "page" });
const { readFileSync } = await import("node:fs");
const files = { "/page.js": ["text/javascript", readFileSync(`${here}/page.js`)], "/": ["text/html",
  `<!doctype html><meta charset="utf-8"><div id="root"></div><script>window.AG_UI = ${settings}</script><script src="/page.js"></script>`] };
const server = createServer((request, response) => {
  const [type, body] = files[request.url] ?? [];
  response.writeHead(type ? 200 : 404, { "content-type": type ?? "text/plain" }).end(body);
}).listen(0, "127.0.0.1");
await new Promise((resolve) => server.on("listening", resolve));

const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await browser.newPage();
page.setDefaultTimeout(60_000);
if (process.env.AG_UI_VERBOSE) {
  page.on("console", (message) => console.error(message.text()));
  page.on("pageerror", (error) => console.error(error));
  page.on("response", (response) => console.error(response.status(), response.request().method(), response.url()));
}

const said = () => page.evaluate(() => document.body.innerText);
const shows = (text) => page.waitForFunction((text) => document.body.innerText.includes(text), {}, text);
function check(name, condition, shown) {
  assert.ok(condition, `${name}: ${shown}`);
  console.log(`${client} ${name}`);
}
async function ask(text) {
  await page.waitForFunction(() => window.agent && !window.agent.isRunning);
  await page.waitForSelector("textarea");
  await page.type("textarea", text);
  await page.keyboard.press("Enter");
}

try {
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await ask("First [[script: pace 50ms; words 100]]");
  await shows("word20");
  check("runs", !(await said()).includes("word100"), await said());
  await page.reload();
  await shows("word20");
  check("shows the history after a reload in mid-run", (await said()).includes("First"), await said());
  await shows("word100");
  check("follows the running turn to its end", (await said()).match(/word100/g).length >= 1, await said());
  await ask('Second [[script: call get_weather {"city":"Bern"}; then; say "Sunny everywhere."]]');
  const isAnswered = () => window.agent?.messages.some((m) => m.role === "assistant" && m.content === "Sunny everywhere.");
  await page.waitForFunction(isAnswered);
  const results = await page.evaluate(() => window.agent.messages.filter((m) => m.role === "tool").map((m) => m.content));
  check("calls a tool of the page", results.join().includes("sunny in Bern"), results);
  await ask("Third [[script: pace 50ms; words 400]]");
  await page.waitForFunction(() => window.agent.isRunning && window.agent.messages.at(-1)?.content?.includes("word10"));
  await page.evaluate(() => window.agent.abortRun());
  await page.waitForFunction(() => !window.agent.isRunning);
  check("stops a run", !(await said()).includes("word399"), await said());
  await page.reload();
  await page.waitForFunction(isAnswered);
  const roles = await page.waitForFunction(() => window.agent?.messages.length >= 7 && window.agent.messages.map((m) => m.role).join());
  const shown = await roles.jsonValue();
  check("shows the whole thread again", shown.startsWith("user,assistant,user,assistant,tool,assistant,user"), shown);
} finally {
  await browser.close();
  server.close();
}
