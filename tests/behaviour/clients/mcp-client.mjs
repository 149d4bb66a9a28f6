// Uses the package `@modelcontextprotocol/client`, unmodified, in both eras, against the URL and token in the environment.
// Prints a line per check.
import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const { MCP_URL, MCP_TOKEN } = process.env;

async function run(era, versionNegotiation) {
  const check = (name, condition, shown) => {
    assert.ok(condition, `${name}: ${JSON.stringify(shown)}`);
    console.log(`mcp-typescript ${era} ${name}`);
  };
  const client = new Client({ name: "check", version: "1.0.0" }, { versionNegotiation });
  const transport = new StreamableHTTPClientTransport(new URL(MCP_URL), {
    requestInit: { headers: { Authorization: `Bearer ${MCP_TOKEN}` } },
  });
  await client.connect(transport);
  const call = (text, more = {}, options = {}) =>
    client.callTool({ name: "default", arguments: { message: text, ...more.arguments }, _meta: more.meta }, options);

  const { tools } = await client.listTools();
  check("tools", tools.some((tool) => tool.name === "default" && tool.title === "Default"), tools);

  const first = await call('Hi [[script: say "Hello."]]');
  check("call", first.content[0].text === "Hello." && first.structuredContent.answer === "Hello.", first);
  const { session, turn } = first.structuredContent;

  const more = await call('More [[script: say "Again."]]', { arguments: { session } });
  check("session", more.structuredContent.session === session, more);

  const meta = { "aptix/idempotencyKey": `${era} 1` };
  const [one, two] = [await call("Once", { meta }), await call("Once", { meta })];
  check("key", one.structuredContent.turn === two.structuredContent.turn, two);

  const seen = [];
  const onprogress = ({ progress, message }) => seen.push([progress, message]);
  const long = await call("Hi [[script: call agent_list_modes {}; then; words 500]]", {}, { onprogress });
  check("progress", seen.length > 3 && seen.every(([progress], n) => progress === n), seen);
  check("progress result", long.content[0].text.endsWith("word500"), long);

  const script = 'Read [[script: call workspace_read_file {"path":"a"}; then; say "Read."]]';
  const waits = await client.callTool({ name: "workspace", arguments: { message: script } });
  check("client tools", waits.isError && waits.content[0].text.includes("workspace_read_file"), waits);

  const { resources } = await client.listResources();
  check("resources", resources.some((resource) => resource.uri === `aptix://sessions/${session}`), resources);
  const answer = await client.readResource({ uri: `aptix://sessions/${session}/turns/${turn}/answer` });
  check("read", answer.contents[0].text === "Hello.", answer);
  await assert.rejects(client.readResource({ uri: "aptix://sessions/nobodys" }));
  check("not found", true);

  const stop = new AbortController();
  setTimeout(() => stop.abort(), 1000);
  await assert.rejects(call("Work [[script: hang 60s; say \"Done.\"]]", {}, { signal: stop.signal }));
  check("cancel", true);
  await client.close();
}

await run("legacy", { mode: "legacy" });
await run("modern", { mode: { pin: "2026-07-28" } });
await run("auto", { mode: "auto" });
