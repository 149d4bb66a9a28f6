"""Execution of client tools: approval, time limit and results."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

import pydantic_core
from pydantic import ValidationError

from ._http import to_json
from ._threads import call_function
from .events import Call, Event, ToolCallEvent, ToolOutput, ToolResultEvent
from .tools import Tool, ToolContext, invalid_arguments

Approve = Callable[[Call], Union[bool, str, Awaitable[Union[bool, str]]]]
"""Approves a call before it runs. Anything but `True` refuses it; a text is the reason that the model gets."""

#: The API's limits of a result and an error message, in characters.
MAX_RESULT_CHARS = 1_048_576
MAX_MESSAGE_CHARS = 65_536
#: The API's limit of a request, in bytes, less a margin for the ids around the results. A function receives the request
#: as a JSON string, so escapes count too.
MAX_REQUEST_BYTES = (4 << 20) - 1024
OMITTED_MESSAGE = "This result was omitted: the results of these calls exceed the size limit of a request."

Result = dict[str, Any]


@dataclass(frozen=True)
class Toolbox:
    """The tools of a turn."""

    tools: Mapping[str, Tool]
    approve: Approve | None
    timeout: float
    emit: Callable[[Event], None]


def parse_call(call: Mapping[str, Any]) -> Call:
    """Parses the arguments of a call."""
    try:
        args = json.loads(call["ArgumentsJson"])
    except ValueError:
        args = None
    return Call(call["ToolCallId"], call["Name"], args, call["ArgumentsJson"])


async def run_call(call: Call, toolbox: Toolbox) -> Result:
    """Runs a call once. Raises only if it is cancelled."""
    toolbox.emit(ToolCallEvent(call))
    refusal = await _refusal(call, toolbox)
    started = time.monotonic()
    output, result_json, error = None, None, refusal
    if refusal is None:
        output, error = await _run_tool(call, toolbox.tools[call.name], toolbox.timeout)
        if error is None:
            result_json, error = serialize_output(output)
    duration = time.monotonic() - started
    shown = output if error is None else None
    toolbox.emit(ToolResultEvent(call, output=shown, error=error, refused=refusal is not None, duration=duration))
    return _wire_result(call.id, duration, result_json, error)


async def _run_tool(call: Call, tool: Tool, timeout: float) -> tuple[Any, str | None]:
    """Returns the tool's output or its error."""
    context = ToolContext(call)
    task = asyncio.ensure_future(call_function(tool.run, call.args, context))
    try:
        await asyncio.wait({task}, timeout=timeout)
        if not task.done():
            return None, f"The tool exceeded its timeout of {timeout:g} seconds."
        if task.cancelled():
            return None, "The tool was cancelled."
        error = task.exception()
        if error is not None:
            return None, error_message(error)
        return task.result(), None
    finally:
        # A tool that still runs is told to end, and isn't waited for.
        if not task.done():
            context.stopped.set()
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
            task.cancel()


def fit_to_request(results: Sequence[Result]) -> list[Result]:
    """Limits the results to the size of one request.

    Replaces the largest ones with an error message, so that the model can request less.
    """

    def size(value: Result) -> int:
        return len(to_json(to_json(value)).encode())

    sizes = [size(result) for result in results]
    fitted = list(results)
    total = sum(size + 1 for size in sizes)
    while total > MAX_REQUEST_BYTES:
        largest = sizes.index(max(sizes))
        result = fitted[largest]
        omitted = {
            "ToolCallId": result["ToolCallId"],
            "ExecutionMs": result["ExecutionMs"],
            "ErrorMessage": OMITTED_MESSAGE,
        }
        fitted[largest] = omitted
        total -= sizes[largest] - size(omitted)
        sizes[largest] = 0
    return fitted


def to_wire_results(results: Sequence[ToolOutput]) -> list[Result]:
    """Converts results to the format of the API."""
    converted = []
    for result in results:
        result_json, error = (
            (None, _message(result.error)) if result.error is not None else serialize_output(result.output)
        )
        converted.append(_wire_result(result.id, result.duration, result_json, error))
    return converted


def serialize_output(output: Any) -> tuple[str | None, str | None]:
    """Returns the output as JSON, or an error. Models, dataclasses and dates are serialized as pydantic does."""
    try:
        text = pydantic_core.to_json(output, inf_nan_mode="null").decode()
    except (ValueError, TypeError, RecursionError):
        return None, "The tool's result can't be serialized as JSON."
    if len(text) > MAX_RESULT_CHARS:
        return None, f"The tool's result is larger than {MAX_RESULT_CHARS} characters of JSON."
    return text, None


async def _refusal(call: Call, toolbox: Toolbox) -> str | None:
    """Returns the reason for which a call may not run, or `None` if it may."""
    if call.name not in toolbox.tools:
        return f"This client has no tool {call.name}."
    if call.args is None and call.args_json.strip() != "null":
        return "The arguments are not JSON."
    if toolbox.approve is None:
        return None
    try:
        answer = await call_function(toolbox.approve, call)
    except Exception as error:
        return error_message(error)
    if answer is True:
        return None
    return answer if isinstance(answer, str) and answer.strip() else "The user declined this call."


def error_message(error: BaseException) -> str:
    """Returns the message of an error that a tool raised."""
    return _message(invalid_arguments(error) if isinstance(error, ValidationError) else str(error))


def _message(text: str) -> str:
    return (text if text.strip() else "The tool failed.")[:MAX_MESSAGE_CHARS]


def _wire_result(call_id: str, duration: float, result_json: str | None, error: str | None) -> Result:
    result: Result = {"ToolCallId": call_id, "ExecutionMs": max(0, round(duration * 1000))}
    return {**result, "ResultJson": result_json} if error is None else {**result, "ErrorMessage": error}
