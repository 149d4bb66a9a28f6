r"""Events of a turn, and its answer.

Read them with `match`, or by `type`:

    for event in turn:
        match event:
            case DeltaEvent(text=text):
                print(text, end="")
            case ResetEvent():
                print("\n-- the text so far is not the answer")
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Union

from .errors import AptixError
from .wire import ClientToolContinuation, FileRef, Final, StreamStatus, Usage


@dataclass(frozen=True)
class Call:
    """A client tool call."""

    id: str
    name: str
    args: Any
    """The parsed arguments; `None` if they are not valid JSON."""
    args_json: str


@dataclass(frozen=True)
class Answer:
    """The result of a turn."""

    text: str
    calls: list[Call]
    """Pending tool calls of a turn that was sent without `tools`. Continue it with `session.submit_tool_results`."""
    files: list[FileRef]
    usage: Usage | None
    warnings: list[str]
    mode: str
    response: Final | ClientToolContinuation = field(repr=False)
    """The API's response."""


@dataclass(frozen=True)
class DeltaEvent:
    """A piece of the answer. `index` is its start: the length of the text so far."""

    text: str
    index: int
    type: Literal["delta"] = "delta"


@dataclass(frozen=True)
class ResetEvent:
    """The end of a text that is not the answer: discard it.

    `reason` comes from the API (`tools`, `retry`, `restated`, `taken_over`, `replaced`, `failed`), or is `corrected` if
    this client found a mismatch.
    """

    reason: str | None = None
    type: Literal["reset"] = "reset"


@dataclass(frozen=True)
class StatusEvent:
    """A change of phase. Not replayed: a resumed stream can skip some."""

    status: StreamStatus
    type: Literal["status"] = "status"


@dataclass(frozen=True)
class ReasoningEvent:
    """A piece of the model's reasoning, as far as its provider shows it.

    It is not part of the answer, and not replayed. `round` is the number of the model's reply. `index` is the start in
    UTF-16 code units; at 0 the reasoning of another model call begins.
    """

    text: str
    index: int
    round: int
    type: Literal["reasoning"] = "reasoning"


@dataclass(frozen=True)
class ToolCallEvent:
    """A client tool is about to run."""

    call: Call
    type: Literal["tool-call"] = "tool-call"


@dataclass(frozen=True)
class ToolResultEvent:
    """The result of a tool call: `output` or `error`. `refused` is true if the tool did not run."""

    call: Call
    output: Any = None
    error: str | None = None
    refused: bool = False
    duration: float = 0.0
    """Seconds."""
    type: Literal["tool-result"] = "tool-result"


@dataclass(frozen=True)
class RetryEvent:
    """A request failed and is retried automatically after `delay` seconds."""

    error: AptixError
    delay: float
    type: Literal["retry"] = "retry"


@dataclass(frozen=True)
class StoppedEvent:
    """The end of a turn that was stopped. `text` is the partial answer."""

    text: str
    type: Literal["stopped"] = "stopped"


@dataclass(frozen=True)
class ResultEvent:
    """The end of a turn that succeeded."""

    answer: Answer
    type: Literal["result"] = "result"


Event = Union[
    DeltaEvent,
    ResetEvent,
    StatusEvent,
    ReasoningEvent,
    ToolCallEvent,
    ToolResultEvent,
    RetryEvent,
    StoppedEvent,
    ResultEvent,
]
"""Any event of a turn."""


@dataclass(frozen=True)
class ToolOutput:
    """A result for `session.submit_tool_results`: `output`, or `error` if the tool failed."""

    id: str
    output: Any = None
    error: str | None = None
    duration: float = 0.0
    """Seconds."""


ToolOutputs = Sequence[ToolOutput]
