"""Uses the package `mcp`, unmodified, in both eras, against the URL and token in the environment. Prints a line per check."""

import asyncio
import os

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

TOKEN = {"Authorization": f"Bearer {os.environ['MCP_TOKEN']}"}


def check(era, name, condition, shown=""):
    assert condition, f"{name}: {shown}"
    print(f"mcp-python {era} {name}", flush=True)


def ask(text, **more):
    return {"message": text, **more}


async def run(era, version):
    async with httpx2.AsyncClient(headers=TOKEN, timeout=60) as http:
        async with Client(streamable_http_client(os.environ["MCP_URL"], http_client=http), mode=era) as client:
            check(era, "version", client.protocol_version == version, client.protocol_version)

            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            check(era, "tools", {"default", "workspace"} <= tools.keys() and tools["default"].title == "Default", tools)

            first = await client.call_tool("default", ask('Hi [[script: say "Hello."]]'))
            check(era, "call", first.content[0].text == "Hello." and not first.is_error, first)
            session = first.structured_content["session"]

            more = await client.call_tool("default", ask('More [[script: say "Again."]]', session=session))
            check(era, "session", more.structured_content["session"] == session, more)

            key = {"aptix/idempotencyKey": f"{era} 1"}
            one, two = [await client.call_tool("default", ask("Once"), meta=key) for _ in range(2)]
            check(era, "key", one.structured_content == two.structured_content, two)

            seen = []

            async def progress(done, _total, message):
                seen.append((done, message))

            script = "Hi [[script: call agent_list_modes {}; then; words 500]]"
            long = await client.call_tool("default", ask(script), progress_callback=progress)
            steps = [done for done, _ in seen]
            check(era, "progress", len(steps) > 3 and steps == sorted(set(steps)), seen)
            check(era, "progress result", long.content[0].text.endswith("word500"), long)

            waits = await client.call_tool(
                "workspace", ask('Read [[script: call workspace_read_file {"path":"a"}; then; say "Read."]]'))
            check(era, "client tools", waits.is_error and "workspace_read_file" in waits.content[0].text, waits)

            invalid = await client.call_tool("default", {"message": ""})
            check(era, "invalid arguments", invalid.is_error and "message" in invalid.content[0].text, invalid)

            resources = (await client.list_resources()).resources
            uri = f"aptix://sessions/{session}"
            check(era, "resources", uri in [str(resource.uri) for resource in resources], resources)
            answer = f"{uri}/turns/{first.structured_content['turn']}/answer"
            check(era, "read", (await client.read_resource(answer)).contents[0].text == "Hello.", answer)
            found = await client.read_resource("aptix://search?q=again")
            check(era, "search", session in found.contents[0].text, found)
            templates = (await client.list_resource_templates()).resource_templates
            check(era, "templates", len(templates) == 4, templates)
            try:
                await client.read_resource("aptix://sessions/nobodys")
                check(era, "not found", False)
            except MCPError as error:
                check(era, "not found", error.code in (-32002, -32602), error)


asyncio.run(run("legacy", "2025-11-25"))
asyncio.run(run("auto", "2026-07-28"))
