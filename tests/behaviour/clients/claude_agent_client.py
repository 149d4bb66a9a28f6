"""Uses the package `claude-agent-sdk`, unmodified, against the base URL and token in the environment: a task of two
rounds of tools, and a follow-up. Prints a line per check."""

import asyncio
import os
import pathlib
import tempfile

from claude_agent_sdk import AssistantMessage, ClaudeAgentOptions, ClaudeSDKClient, ResultMessage, ToolUseBlock


async def ask(client, prompt):
    await client.query(prompt)
    calls = []
    async for message in client.receive_response():
        if isinstance(message, AssistantMessage):
            calls += [block.name for block in message.content if isinstance(block, ToolUseBlock)]
        if isinstance(message, ResultMessage):
            return message.result, calls


async def main():
    names = ["ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN"]
    with tempfile.TemporaryDirectory() as home:
        options = ClaudeAgentOptions(
            model="agent/default", cwd=home, allowed_tools=["Bash"], setting_sources=[],
            env={"HOME": home, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"} | {name: os.environ[name] for name in names},
        )
        async with ClaudeSDKClient(options) as client:
            task = ('Do it. [[script: call Bash {"command":"echo lemon >note","description":"Write"}; then; '
                    'call Bash {"command":"cat note","description":"Read"}; then; say "It is done."]]')
            answer, calls = await ask(client, task)
            assert (answer, calls) == ("It is done.", ["Bash", "Bash"]), (answer, calls)
            assert pathlib.Path(home, "note").read_text() == "lemon\n"
            print("claude-agent-sdk task", flush=True)
            answer, _ = await ask(client, 'And now? [[script: say "Nothing more."]]')
            assert answer == "Nothing more.", answer
            print("claude-agent-sdk follow-up", flush=True)


asyncio.run(main())
