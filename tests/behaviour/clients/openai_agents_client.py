"""Uses the package `openai-agents`, unmodified, against the base URL and key in the environment. Prints a line per check."""

import asyncio
import os

from agents import Agent, ModelSettings, Runner, function_tool, set_default_openai_client, set_tracing_disabled
from openai import AsyncOpenAI
from openai.types.responses import ResponseTextDeltaEvent
from pydantic import BaseModel

client = AsyncOpenAI(base_url=os.environ["OPENAI_BASE"], api_key=os.environ["OPENAI_KEY"])
set_default_openai_client(client, use_for_tracing=False)
set_tracing_disabled(True)
cities = []


class Count(BaseModel):
    n: int


@function_tool
def get_weather(city: str) -> str:
    """Returns the weather of a city."""
    cities.append(city)
    return "sunny"


def check(name, condition, shown=""):
    assert condition, f"{name}: {shown}"
    print(f"openai-agents {name}", flush=True)


async def main():
    agent = Agent(name="Helper", instructions="Be brief.", model="scripted", tools=[get_weather])
    answer = await Runner.run(agent, 'Hi [[script: say "Hello."]]')
    check("text", answer.final_output == "Hello.", answer)

    script = '[[script: call get_weather {"city":"Bern"}; then; say "Sunny."]]'
    answer = await Runner.run(agent, f"Weather? {script}")
    check("function", answer.final_output == "Sunny." and cities == ["Bern"], (answer, cities))

    streamed, text = Runner.run_streamed(agent, "Hi [[script: pace 5ms; words 20]]"), ""
    async for event in streamed.stream_events():
        if event.type == "raw_response_event" and isinstance(event.data, ResponseTextDeltaEvent):
            text += event.data.delta
    check("stream", text == streamed.final_output and text.endswith("word20"), (text, streamed.final_output))

    counter = Agent(name="Counter", model="scripted", output_type=Count, model_settings=ModelSettings(parallel_tool_calls=None))
    answer = await Runner.run(counter, 'Count [[script: say "{\\"n\\":1}"]]')
    check("structured output", answer.final_output == Count(n=1), answer)

    first = await Runner.run(agent, 'Hi [[script: say "Hello."]]')
    second = await Runner.run(agent, "More", previous_response_id=first.last_response_id)
    check("previous response", "One turn of this chain came before" in second.final_output, second)

    conversation = await client.conversations.create()
    for words in ("Hi", "More"):
        answer = await Runner.run(agent, words, conversation_id=conversation.id)
    check("conversation", "One turn of this chain came before" in answer.final_output, answer)


asyncio.run(main())
