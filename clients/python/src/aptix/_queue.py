"""Queue of a turn's events between the stream and its consumer."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from .events import DeltaEvent, Event, ReasoningEvent, ResetEvent, StatusEvent


class EventQueue:
    """A bounded queue: consecutive deltas and pieces of reasoning are merged. A reset drops the deltas before it."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._is_closed = False
        self._error: BaseException | None = None
        self._wake = asyncio.Event()

    def push(self, event: Event) -> None:
        """Adds an event."""
        last = self._events[-1] if self._events else None
        if (isinstance(event, DeltaEvent) and isinstance(last, DeltaEvent)) or (
            isinstance(event, ReasoningEvent) and isinstance(last, ReasoningEvent) and event.index > 0
        ):
            self._events[-1] = replace(last, text=last.text + event.text)
        elif isinstance(event, StatusEvent) and isinstance(last, StatusEvent):
            self._events[-1] = event
        else:
            if isinstance(event, ResetEvent):
                self._events = [other for other in self._events if not isinstance(other, (DeltaEvent, ResetEvent))]
            self._events.append(event)
        self._wake.set()

    def close(self, error: BaseException | None = None) -> None:
        """Ends the queue, with an error for its reader if one is given."""
        self._error = error
        self._is_closed = True
        self._wake.set()

    async def next(self) -> Event | None:
        """Returns the next event, or `None` at the end. Raises the queue's error once."""
        while not self._events and not self._is_closed:
            self._wake.clear()
            await self._wake.wait()
        if self._events:
            return self._events.pop(0)
        error, self._error = self._error, None
        if error is not None:
            raise error
        return None
