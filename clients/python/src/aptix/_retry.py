"""Retries with exponential backoff."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from .errors import AptixError

#: Longest delay in seconds that the client chooses itself.
MAX_BACKOFF = 8.0
#: Longest time in seconds to keep retrying an API that has never answered: its URL is probably wrong.
MAX_UNREACHABLE = 5.0


@dataclass(frozen=True)
class RetryOptions:
    """Limits of retries and timeouts.

    Example:
        Aptix(retry=RetryOptions(max_retries=3, idle_timeout=20))
    """

    max_retries: int = 10
    """Consecutive retries without progress."""
    max_elapsed: float = 15 * 60
    """Total seconds since the last progress."""
    initial_backoff: float = 0.25
    """First delay in seconds. It doubles up to 8 s; the API can ask for a longer one."""
    idle_timeout: float = 60
    """Longest silence on a connection in seconds. Streams of the API are never silent for more than 15 s."""


class Backoff:
    """Counts failures since the last progress and computes the delay before the next retry."""

    def __init__(self, options: RetryOptions, was_reached: Callable[[], bool], max_retries: int | None = None) -> None:
        self._options = options
        self._was_reached = was_reached
        self._max_retries = options.max_retries if max_retries is None else min(max_retries, options.max_retries)
        self.reset()

    def reset(self) -> None:
        """Resets the failure count and the elapsed time after progress."""
        self._failures = 0
        self._since = time.monotonic()

    def next_delay(self, error: AptixError) -> float:
        """Returns the seconds before the next retry. Raises the error if it can't be retried or a limit is reached."""
        if error.retry != "same_request" or self._failures >= self._max_retries:
            raise error
        longest = min(self._options.initial_backoff * 2.0**self._failures, MAX_BACKOFF)
        # Half of the delay is random, so that clients that failed together don't retry together.
        delay = max(error.retry_after or 0.0, longest * (0.5 + random.random() / 2))
        max_elapsed = self._options.max_elapsed
        if not self._was_reached():
            max_elapsed = min(max_elapsed, MAX_UNREACHABLE)
        if time.monotonic() - self._since + delay > max_elapsed:
            raise error
        self._failures += 1
        return delay
