"""LangChain and LangGraph: an Aptix agent as a chat model, and LangChain tools as client tools.

    from aptix.langchain import AptixChatModel

    model = AptixChatModel(aptix=Aptix(), agent="engineer", tools=[search])
    model.invoke("What is a lease?", {"configurable": {"thread_id": "chat-1"}})

Requires `pip install 'aptix[langchain]'`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables.config import ensure_config
from langchain_core.tools import BaseTool
from pydantic import TypeAdapter

from ._sync import Aptix, Turn
from .events import Answer
from .tools import AnyTool, Tool, ToolContext


class AptixChatModel(BaseChatModel):
    """A chat model whose conversation is an Aptix session.

    The thread's id (`configurable.thread_id`) is the session's id; without one, each call is a new session. The session
    keeps the history, so only the messages after the last answer are sent. Aptix runs the agent's loop, with `tools` as
    its client tools. A streamed message also has the texts that the model wrote before its tool calls.
    """

    aptix: Aptix
    agent: str | None = None
    conversation: str | None = None
    tools: Sequence[Any] | None = None
    """LangChain tools, functions, or tools of this package."""

    @property
    def _llm_type(self) -> str:
        return "aptix"

    def _start(self, messages: list[BaseMessage]) -> Turn:
        thread_id = ensure_config().get("configurable", {}).get("thread_id")
        session = self.aptix.session(thread_id, agent=self.agent, conversation=self.conversation)
        tools = None if self.tools is None else from_langchain(self.tools)
        return session.stream(_new_text(messages), tools=tools)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        turn = self._start(messages)
        answer = turn.final()
        message = AIMessage(content=answer.text, id=turn.id, usage_metadata=_usage(answer))
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        turn = self._start(messages)
        for event in turn:
            if event.type == "delta":
                chunk = ChatGenerationChunk(message=AIMessageChunk(content=event.text, id=turn.id))
                if run_manager is not None:
                    run_manager.on_llm_new_token(event.text, chunk=chunk)
                yield chunk
            elif event.type == "result":
                usage = _usage(event.answer)
                yield ChatGenerationChunk(message=AIMessageChunk(content="", id=turn.id, usage_metadata=usage))


def from_langchain(tools: Sequence[BaseTool | AnyTool]) -> list[AnyTool]:
    """Makes client tools of LangChain tools. Other tools stay as they are.

    Example:
        session.run("Find it.", tools=from_langchain([search_tool]))
    """
    return [_from_langchain(tool) if isinstance(tool, BaseTool) else tool for tool in tools]


def _from_langchain(tool: BaseTool) -> Tool:
    async def run(args: Any, context: ToolContext) -> Any:
        return await tool.ainvoke(args)

    def run_in_thread(args: Any, context: ToolContext) -> Any:
        return tool.invoke(args)

    arguments = tool.tool_call_schema
    schema = dict(arguments) if isinstance(arguments, dict) else TypeAdapter(arguments).json_schema()
    schema.pop("title", None)
    schema.pop("description", None)
    is_async = asyncio.iscoroutinefunction(getattr(tool, "coroutine", None))
    return Tool(tool.name, tool.description, schema, run if is_async else run_in_thread)


def _new_text(messages: Sequence[BaseMessage]) -> str:
    """Returns the text of the user's messages after the last answer."""
    texts: list[str] = []
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            break
        if isinstance(message, HumanMessage):
            texts.insert(0, str(message.text))
    return "\n\n".join(texts)


def _usage(answer: Answer) -> Any:
    usage = answer.usage
    if usage is None:
        return None
    return {
        "input_tokens": usage.prompt_tokens,
        "output_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
    }
