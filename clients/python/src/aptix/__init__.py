"""Client for the Aptix API: resumable streams, client tools, approvals and typed errors.

from aptix import Aptix

session = Aptix().session()
for event in session.stream("What is a lease?"):
if event.type == "delta":
print(event.text, end="", flush=True)
"""

from ._client import AsyncAptix
from ._request import File, Image, RagCondition
from ._retry import RetryOptions
from ._session import AsyncSession
from ._sync import Aptix, Session, Turn
from ._turn import AsyncTurn
from .errors import AptixError
from .events import (
    Answer,
    Call,
    DeltaEvent,
    Event,
    ReasoningEvent,
    ResetEvent,
    ResultEvent,
    RetryEvent,
    StatusEvent,
    StoppedEvent,
    ToolCallEvent,
    ToolOutput,
    ToolResultEvent,
)
from .resume_store import FolderStore, ResumeStore
from .tools import Tool, ToolContext, agent_context, tool

__all__ = [
    "Answer",
    "Aptix",
    "AptixError",
    "AsyncAptix",
    "AsyncSession",
    "AsyncTurn",
    "Call",
    "DeltaEvent",
    "Event",
    "File",
    "FolderStore",
    "Image",
    "RagCondition",
    "ReasoningEvent",
    "ResetEvent",
    "ResultEvent",
    "ResumeStore",
    "RetryEvent",
    "RetryOptions",
    "Session",
    "StatusEvent",
    "StoppedEvent",
    "Tool",
    "ToolCallEvent",
    "ToolContext",
    "ToolOutput",
    "ToolResultEvent",
    "Turn",
    "agent_context",
    "tool",
]
