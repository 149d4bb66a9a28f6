"""Uses the package `langchain-openai`, unmodified, against the base URL and key in the environment. Prints a line per check."""

import os

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel


class Count(BaseModel):
    """A number."""

    n: int


@tool
def get_weather(city: str) -> str:
    """Returns the weather of a city."""
    return "sunny"


def check(name, condition, shown=""):
    assert condition, f"{name}: {shown}"
    print(f"langchain-openai {name}", flush=True)


for api in ("chat", "responses"):
    model = ChatOpenAI(model="scripted", base_url=os.environ["OPENAI_BASE"], api_key=os.environ["OPENAI_KEY"],
                       use_responses_api=api == "responses")
    answer = model.invoke('Hi [[script: say "Hello."]]')
    check(f"{api}: text", answer.text == "Hello." and answer.usage_metadata["output_tokens"] > 0, answer)

    text = "".join(chunk.text for chunk in model.stream("Hi [[script: pace 5ms; words 20]]"))
    check(f"{api}: stream", text.endswith("word20"), text)

    messages = [HumanMessage('Weather? [[script: call get_weather {"city":"Bern"}; then; say "Sunny."]]')]
    with_tools = model.bind_tools([get_weather])
    called = with_tools.invoke(messages)
    [call] = called.tool_calls
    messages += [called, ToolMessage(get_weather.invoke(call["args"]), tool_call_id=call["id"])]
    answer = with_tools.invoke(messages)
    check(f"{api}: function", call["args"] == {"city": "Bern"} and answer.text == "Sunny.", answer)

    structured = model.with_structured_output(Count, method="json_schema")
    check(f"{api}: structured output", structured.invoke('Count [[script: say "{\\"n\\":1}"]]') == Count(n=1))
