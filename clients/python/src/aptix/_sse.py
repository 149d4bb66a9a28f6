"""Parser for server-sent events, as specified by WHATWG."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Size limit of a line and of an event, far above the API's largest response.
MAX_CHARS = 32 << 20
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class ServerEvent:
    """An event of a stream."""

    id: str | None
    event: str
    data: str


class EventParser:
    """Parses a stream chunk by chunk."""

    def __init__(self) -> None:
        self._buffer: list[str] = []
        self._buffer_length = 0
        self._after_cr = False
        self.retry_ms: int | None = None
        """Reconnection delay in milliseconds, if the stream sets one."""
        self._clear()

    def _clear(self) -> None:
        self._id: str | None = None
        self._event = ""
        self._data: list[str] = []
        self._length = 0

    def push(self, text: str) -> list[ServerEvent]:
        """Adds a chunk of text and returns the events that it completes."""
        if self._after_cr and text.startswith("\n"):
            text = text[1:]
        if text:
            self._after_cr = text.endswith("\r")
        first, *rest = _LINE_END.split(text)
        self._buffer.append(first)
        self._buffer_length += len(first)
        _check_length(self._buffer_length)
        if not rest:
            return []
        lines = ["".join(self._buffer), *rest[:-1]]
        self._buffer, self._buffer_length = [rest[-1]], len(rest[-1])
        events = (self._line(line) for line in lines)
        return [event for event in events if event is not None]

    def _line(self, line: str) -> ServerEvent | None:
        if line == "":
            return self._dispatch()
        field, colon, value = line.partition(":")
        if colon and not field:
            return None
        value = value.removeprefix(" ")
        if field == "data":
            self._length += len(value)
            _check_length(self._length)
            self._data.append(value)
        elif field == "event":
            self._event = value
        elif field == "id" and "\0" not in value:
            self._id = value
        elif field == "retry" and value.isascii() and value.isdigit():
            self.retry_ms = int(value)
        return None

    def _dispatch(self) -> ServerEvent | None:
        # Unlike in browsers, an id applies to its own event only: an event without one is not part of the turn.
        event = ServerEvent(self._id, self._event or "message", "\n".join(self._data)) if self._data else None
        self._clear()
        return event


def _check_length(length: int) -> None:
    if length > MAX_CHARS:
        raise OverflowError(f"The event exceeds {MAX_CHARS} characters")
