"""Options of sessions, turns and lists, as keyword arguments."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from typing_extensions import TypedDict

from ._request import InputFile, InputImage, RagCondition
from ._run_tools import Approve
from .tools import AnyTool


class TurnOptions(TypedDict, total=False):
    """Options of every turn."""

    tools: Sequence[AnyTool] | None
    """Client tools. Without them, a turn with tool calls ends with those calls; `[]` refuses every call."""
    approve: Approve | None
    """Approves each call before it runs."""
    tool_timeout: float
    """Time limit of a tool call in seconds; 15 minutes by default."""


class InputOptions(TurnOptions, total=False):
    """Context of an instruction."""

    files: Sequence[InputFile]
    images: Sequence[InputImage]
    workspace_id: str | None
    repo: str | None
    language: str | None
    rag_scope: Sequence[RagCondition]
    solution_context: str | None
    """Replaces the session's solution context."""


class SessionOptions(InputOptions, total=False):
    """Options of all turns of a session."""

    agent: str | None
    """Id of the agent context, fixed by the session's first turn."""
    conversation: str | None
    """Id of the conversation context, fixed by the session's first turn."""


class SendOptions(SessionOptions, total=False):
    """Options of a new turn."""

    turn_id: str
    """Your own id. The same id with the same input is the same turn."""


class RerunOptions(InputOptions, total=False):
    """Options of a rerun. What is absent is that of the original turn."""

    text: str | None
    model: str | None
    mode: str | None
    turn_id: str


class SessionFilter(TypedDict, total=False):
    """Conditions on sessions."""

    user_id: str | None
    """Owned by or shared with this user."""
    status: Literal["pending", "completed", "failed"] | None
    """Status of the last turn."""
    mode: str | None
    """Current mode."""
    since: datetime | str | None
    """Last activity at this time or later. A `datetime` needs a time zone."""
    until: datetime | str | None
    """Last activity before this time."""
    include_deleted: bool
    page_size: int | None
