"""Tools from functions: schemas, validation and definitions."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from aptix import Call, Event, Tool, ToolContext, ToolResultEvent, agent_context, tool
from aptix._run_tools import Toolbox, parse_call, run_call, serialize_output
from aptix.tools import to_tools
from support import runs


def search(query: str, limit: int = 10, kind: Literal["file", "symbol"] = "file") -> list[str]:
    """Searches the project.

    Finds names only.

    Args:
        query: Words to find,
            in any order.
        limit (int): Number of results.

    Returns:
        The names.
    """
    return [query] * limit + [kind]


def test_schema_has_hints_defaults_and_descriptions() -> None:
    made = Tool.from_function(search)
    assert (made.name, made.description) == ("search", "Searches the project.\n\nFinds names only.")
    assert made.parameters == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "Words to find, in any order."},
            "limit": {"type": "integer", "description": "Number of results.", "default": 10},
            "kind": {"type": "string", "enum": ["file", "symbol"], "default": "file"},
        },
        "required": ["query"],
        "additionalProperties": False,
    }
    assert made.definition()["Strict"] is False


def test_definition_is_strict_if_all_arguments_are_required() -> None:
    @tool(name="editor_open", description="Opens a file.")
    def open_file(path: Annotated[str, Field(description="Its path.")], context: ToolContext) -> None:
        """Not shown."""

    assert agent_context("editor", tools=[open_file]) == {
        "Kind": "agent",
        "Id": "editor",
        "Name": "editor",
        "ClientTools": [
            {
                "Name": "editor_open",
                "Description": "Opens a file.",
                "Parameters": {
                    "type": "object",
                    "properties": {"path": {"type": "string", "description": "Its path."}},
                    "required": ["path"],
                    "additionalProperties": False,
                },
                "ExecutedBy": "client",
                "Strict": True,
            }
        ],
    }


def test_docstring_fields_of_restructuredtext_are_read() -> None:
    def add(a: int, b: int) -> int:
        """Adds.

        :param a: The first.
        :param int b: The second.
        :returns: The sum.
        """
        return a + b

    made = Tool.from_function(add)
    assert made.description == "Adds."
    assert [value["description"] for value in made.parameters["properties"].values()] == ["The first.", "The second."]


def test_unusable_functions_are_refused() -> None:
    def positional(a: int, /) -> int:
        return a

    with pytest.raises(TypeError, match="by name"):
        Tool.from_function(positional)
    with pytest.raises(ValueError, match="<lambda>"):
        Tool.from_function(lambda: 1)
    with pytest.raises(ValueError, match="Two tools"):
        to_tools([search, search])


async def call(function: Any, args: Any, timeout: float = 5) -> ToolResultEvent:
    events: list[Event] = []
    made = function if isinstance(function, Tool) else Tool.from_function(function)
    toolbox = Toolbox({made.name: made}, None, timeout, events.append)
    await run_call(Call("c", made.name, args, ""), toolbox)
    assert isinstance(events[-1], ToolResultEvent)
    return events[-1]


class Point(BaseModel):
    x: int
    y: int = 0


@runs
async def test_arguments_are_validated_and_converted() -> None:
    def move(to: Point, on: date, schema: str = "s", **rest: Any) -> list[Any]:
        return [to, on.year, schema, rest]

    end = await call(move, {"to": {"x": "1"}, "on": "2026-11-25", "more": 1})
    assert end.output == [Point(x=1), 2026, "s", {"more": 1}]
    end = await call(search, {"limit": "many", "other": 1})
    assert end.error is not None
    for part in ("Invalid arguments: ", "query: Field required", "limit: ", "other: "):
        assert part in end.error


@runs
async def test_async_tools_and_callable_objects_run() -> None:
    async def wait(seconds: float) -> float:
        await asyncio.sleep(seconds)
        return seconds

    class Doubler:
        def __call__(self, number: int) -> int:
            return 2 * number

    assert (await call(wait, {"seconds": 0.001})).output == 0.001
    assert (await call(Tool.from_function(Doubler(), name="double"), {"number": 2})).output == 4


@runs
async def test_arguments_that_are_not_an_object_are_refused() -> None:
    for text, why in (
        ("{", "The arguments are not JSON."),
        ("null", "Invalid arguments: "),
        ("[1]", "Invalid arguments: "),
    ):
        events: list[Event] = []
        parsed = parse_call({"ToolCallId": "c", "Name": "search", "ArgumentsJson": text})
        await run_call(parsed, Toolbox(to_tools([search]), None, 5, events.append))
        assert isinstance(events[-1], ToolResultEvent)
        assert (events[-1].error or "").startswith(why)


@runs
async def test_timed_out_tool_is_told_to_stop() -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()

    def block(context: ToolContext) -> None:
        context.stopped.wait(5)
        loop.call_soon_threadsafe(stopped.set)

    end = await call(block, {}, timeout=0.02)
    assert end.error == "The tool exceeded its timeout of 0.02 seconds."
    await asyncio.wait_for(stopped.wait(), 5)


@runs
async def test_errors_of_tools_are_results() -> None:
    def fail(message: str) -> None:
        raise LookupError(message)

    def leave() -> None:
        raise SystemExit(3)

    def end_iteration() -> None:
        raise StopIteration

    assert (await call(fail, {"message": "no such file"})).error == "no such file"
    assert (await call(fail, {"message": " "})).error == "The tool failed."
    assert "SystemExit" in ((await call(leave, {})).error or "")
    assert "StopIteration" in ((await call(end_iteration, {})).error or "")


def test_outputs_are_serialized_as_pydantic_does() -> None:
    @dataclass
    class Row:
        day: date

    assert serialize_output([Row(date(2026, 11, 25)), Point(x=1), "ü", float("nan")]) == (
        '[{"day":"2026-11-25"},{"x":1,"y":0},"ü",null]',
        None,
    )
    for unserializable in (object(), "\ud800"):
        assert serialize_output(unserializable) == (None, "The tool's result can't be serialized as JSON.")
