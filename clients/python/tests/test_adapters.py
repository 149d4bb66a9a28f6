"""The adapters, with the real packages."""

from __future__ import annotations

from typing import Any

import pytest

from aptix.testing import LocalCloud, script
from support import needs_cloud, runs

pytestmark = needs_cloud


def test_langgraph_thread_is_a_session_and_runs_langchain_tools(cloud: LocalCloud) -> None:
    pytest.importorskip("langgraph")
    from langchain_core.tools import tool
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import START, MessagesState, StateGraph

    from aptix.langchain import AptixChatModel

    @tool
    def workspace_read_file(path: str) -> str:
        """Reads a file."""
        return f"contents of {path}"

    with cloud.client() as aptix:
        model = AptixChatModel(aptix=aptix, agent="workspace", tools=[workspace_read_file])

        def respond(state: MessagesState) -> dict[str, Any]:
            return {"messages": [model.invoke(state["messages"])]}

        builder: Any = StateGraph(MessagesState)
        graph = builder.add_node("respond", respond).add_edge(START, "respond").compile(checkpointer=InMemorySaver())
        config: Any = {"configurable": {"thread_id": "graph-1"}}
        calls = script().call("workspace_read_file", {"path": "a.py"}).after_tools().echo()
        state = graph.invoke({"messages": [("user", str(calls))]}, config)
        assert '"contents of a.py"' in state["messages"][-1].content
        assert state["messages"][-1].usage_metadata["total_tokens"] > 0
        words: Any = {"messages": [("user", str(script().words(9)))]}
        streamed = [chunk.content for chunk, _ in graph.stream(words, config, stream_mode="messages")]
        assert "".join(streamed) == " ".join(f"word{number}" for number in range(1, 10))
        assert len(streamed) > 2
        assert [turn.sequence_number for turn in aptix.session("graph-1").turns()] == [1, 2]


@runs
async def test_pydantic_ai_agent_runs_on_a_session(cloud: LocalCloud) -> None:
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent

    from aptix.pydantic_ai import aptix_model

    async with cloud.async_client() as aptix:
        session = aptix.session()
        agent = Agent(aptix_model(session))
        first = await agent.run(str(script().say("One.").usage(7, 3)))
        assert (first.output, first.usage.input_tokens) == ("One.", 7)
        async with agent.run_stream(
            str(script().say("Two and three.")), message_history=first.all_messages()
        ) as second:
            texts = [text async for text in second.stream_text(delta=True, debounce_by=None)]
        assert "".join(texts) == "Two and three."
        assert (await session.read()).turn_count == 2
