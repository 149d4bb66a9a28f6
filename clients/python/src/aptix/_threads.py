"""Functions that block, and the event loop behind the synchronous client."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import os
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


async def call_function(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls a function: an async one in the event loop, any other in a thread, where it may block."""
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004
        return await function(*args, **kwargs)
    result = await _in_thread(lambda: function(*args, **kwargs))
    return await result if inspect.isawaitable(result) else result


async def _in_thread(function: Callable[[], T]) -> T:
    """Runs a function in a thread of its own. The process can end while the thread is still running."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(settle_future: Callable[[], None]) -> None:
        # The loop may have ended.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(lambda: None if future.done() else settle_future())

    def work() -> None:
        try:
            result = context.run(function)
        except (StopIteration, SystemExit, KeyboardInterrupt) as raised:
            # These would end the event loop.
            error: BaseException = RuntimeError(f"The function raised {type(raised).__name__}")
        except BaseException as raised:
            error = raised
        else:
            settle(lambda: future.set_result(result))
            return
        settle(lambda: future.set_exception(error))

    threading.Thread(target=work, name="aptix-function", daemon=True).start()
    return await future


class Portal:
    """An event loop in a daemon thread, shared by all synchronous clients of the process."""

    _lock = threading.Lock()
    _shared: Portal | None = None

    def __init__(self) -> None:
        self._process = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="aptix", daemon=True)
        self._thread.start()

    @classmethod
    def shared(cls) -> Portal:
        """Returns the portal of this process. A forked process gets its own."""
        with cls._lock:
            if cls._shared is None or cls._shared._process != os.getpid():
                cls._shared = cls()
            return cls._shared

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine to its end and returns its result. An interrupt cancels it."""
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise RuntimeError("An async tool can't use the synchronous client. Use AsyncAptix there.")
        if self._process != os.getpid():
            coroutine.close()
            raise RuntimeError("The client belongs to the parent process. Create a new one after a fork.")
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def call(self, function: Callable[[], T]) -> T:
        """Calls a function in the event loop."""

        async def work() -> T:
            return function()

        return self.run(work())

    def iterate(self, items: AsyncGenerator[T, None]) -> Iterator[T]:
        """Iterates over an async generator."""
        try:
            while True:
                try:
                    yield self.run(_next(items))
                except StopAsyncIteration:
                    return
        finally:
            self.run(_close(items))


async def _next(items: AsyncGenerator[T, None]) -> T:
    return await items.__anext__()


async def _close(items: AsyncGenerator[Any, None]) -> None:
    await items.aclose()
