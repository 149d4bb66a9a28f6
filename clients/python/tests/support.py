"""Helpers of the tests."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import pytest

from aptix import AsyncTurn, Event, RetryOptions, Turn
from aptix.testing import LocalCloud

P = ParamSpec("P")
T = TypeVar("T")

#: Fast retries: tests lose connections on purpose.
RETRY = RetryOptions(initial_backoff=0.005, max_retries=200)

needs_cloud = pytest.mark.skipif(
    not os.environ.get("APTIX_PROGRAM"), reason="APTIX_PROGRAM is not set. Run scripts/python."
)
needs_proc = pytest.mark.skipif(not Path("/proc/self").exists(), reason="requires /proc")


def runs(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Runs an async test."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), 120))

    return run


@dataclass
class Collected:
    """The events of a turn, and the text that a page would show at its end."""

    text: str
    events: list[Event]

    @property
    def types(self) -> list[str]:
        return [event.type for event in self.events]


def _collected(events: list[Event]) -> Collected:
    text = ""
    for event in events:
        if event.type == "delta":
            assert event.index == len(text)
            text += event.text
        elif event.type == "reset":
            text = ""
    return Collected(text, events)


async def collect(turn: AsyncTurn) -> Collected:
    return _collected([event async for event in turn])


def collect_sync(turn: Turn) -> Collected:
    return _collected(list(turn))


async def wait_for(turn: AsyncTurn, kind: str) -> Event:
    """Waits for the first event of a type."""
    async for event in turn:
        if event.type == kind:
            return event
    raise AssertionError(f"The turn ended without the event {kind}")


async def items(values: AsyncIterator[T]) -> list[T]:
    return [value async for value in values]


def kill(cloud: LocalCloud, name: str = "execute") -> int:
    """Kills every process of a function, like a crash, and returns their number."""
    killed = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            status = (folder / "status").read_text()
            command = (folder / "cmdline").read_text()
            if f"\nPPid:\t{cloud.pid}\n" in status and f"\0{name}\0" in command:
                os.kill(int(folder.name), signal.SIGKILL)
                killed += 1
        except OSError:
            pass  # The process has ended.
    return killed
