"""Pydantic AI: an Aptix session as a model.

    from pydantic_ai import Agent
    from aptix.pydantic_ai import aptix_model

    agent = Agent(aptix_model(aptix.session(agent="engineer")))
    result = await agent.run("What is a lease?")

Requires `pip install 'aptix[pydantic-ai]'`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from ._session import AsyncSession
from .tools import AnyTool


def aptix_model(session: AsyncSession, *, tools: Sequence[AnyTool] | None = None) -> FunctionModel:
    """Returns a model that sends each prompt to the session, which keeps the history.

    Aptix runs the agent's loop, with `tools` as its client tools. Tools and output types of the Pydantic AI agent are
    not sent to it. A streamed text also has what the model wrote before its tool calls.
    """

    async def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        answer = await session.run(_prompt(messages), tools=tools)
        usage = RequestUsage()
        if answer.usage is not None:
            usage = RequestUsage(input_tokens=answer.usage.prompt_tokens, output_tokens=answer.usage.completion_tokens)
        return ModelResponse(parts=[TextPart(answer.text)], usage=usage, model_name="aptix")

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        async for event in session.stream(_prompt(messages), tools=tools):
            if event.type == "delta":
                yield event.text

    return FunctionModel(respond, stream_function=stream, model_name="aptix")


def _prompt(messages: Sequence[ModelMessage]) -> str:
    """Returns the text of the newest prompt."""
    last = messages[-1]
    prompts = (
        [part for part in last.parts if isinstance(part, UserPromptPart)] if isinstance(last, ModelRequest) else []
    )
    texts = [prompt.content if isinstance(prompt.content, str) else _text_of(prompt.content) for prompt in prompts]
    return "\n\n".join(texts)


def _text_of(content: Sequence[object]) -> str:
    return "\n\n".join(part for part in content if isinstance(part, str))
