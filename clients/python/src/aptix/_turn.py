"""A running turn of the asynchronous client."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

from pydantic import TypeAdapter, ValidationError

from . import _paths as paths
from ._follow import follow
from ._http import Http, require_success, to_json
from ._queue import EventQueue
from ._run_tools import Approve, Toolbox, fit_to_request, parse_call, run_call
from .errors import AptixError
from .events import (
    Answer,
    DeltaEvent,
    Event,
    ReasoningEvent,
    ResetEvent,
    ResultEvent,
    RetryEvent,
    StatusEvent,
    StoppedEvent,
)
from .resume_store import ResumeEntry, ResumePoint, TurnRequest
from .tools import AnyTool, Tool, to_tools
from .wire import AgentExecuteResponse, AgentSessionTurnSummary, ClientToolContinuation, Final, StreamStatus

TOOL_TIMEOUT = 15 * 60.0
#: Retries of a cancel request that arrives before the turn it cancels.
MAX_CANCEL_RETRIES = 8
NOT_FOUND_CODES = ("TurnNotFound", "SessionNotFound")
_RESPONSE: TypeAdapter[Final | ClientToolContinuation] = TypeAdapter(AgentExecuteResponse)


@dataclass(frozen=True)
class TurnOptions:
    """Options of a turn."""

    tools: dict[str, Tool] | None = None
    approve: Approve | None = None
    tool_timeout: float = TOOL_TIMEOUT

    @classmethod
    def of(cls, tools: Sequence[AnyTool] | None, approve: Approve | None, tool_timeout: float | None) -> TurnOptions:
        """Returns the options. The tools are made from functions, which raises if one of them can't be a tool."""
        made = None if tools is None else to_tools(tools)
        return cls(made, approve, TOOL_TIMEOUT if tool_timeout is None else tool_timeout)


class AsyncTurn:
    """A running turn: its events and its answer. Iterate over it to read the events.

    Example:
        turn = session.stream("What is a lease?")
        async for event in turn:
            if event.type == "delta":
                print(event.text, end="")
        answer = await turn.final()
    """

    def __init__(
        self,
        http: Http,
        resume_entry: ResumeEntry,
        session_id: str,
        id: str,
        prepare: Callable[[], Awaitable[ResumePoint]],
        options: TurnOptions,
    ) -> None:
        self.session_id = session_id
        self.id = id
        """The turn's id, known before anything is sent. Store it to find the turn again."""
        self._http = http
        self._resume_entry = resume_entry
        self._options = options
        self._queue = EventQueue()
        self._is_reading = False
        self._text = ""
        self._utf16_length = 0
        self._discarded_text = ""
        self._has_request_in_flight = False
        self._abort_error: AptixError | None = None
        self._stop_task: asyncio.Task[AgentSessionTurnSummary | None] | None = None
        self._tool_task: asyncio.Task[dict[str, Any]] | None = None
        self._result: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        # A consumer that only reads the events gets a failure from them.
        self._result.add_done_callback(lambda result: result.cancelled() or result.exception())
        self._task = asyncio.create_task(self._run(prepare))
        http.on_close.add(self.close)
        self._task.add_done_callback(lambda task: http.on_close.discard(self.close))

    @property
    def text(self) -> str:
        """The text of the answer so far."""
        return self._text

    async def final(self) -> Answer:
        """Returns the answer, whether or not the events are read.

        Raises an `AptixError` if the turn failed or was stopped.
        """
        return await asyncio.shield(self._result)

    async def stop(self) -> AgentSessionTurnSummary | None:
        """Cancels the turn at the API and returns its summary, which can show that the turn had ended already.

        Returns `None` if the turn never started.
        """
        if self._stop_task is None:
            self._stop_task = asyncio.create_task(self._cancel())
            self._stop_task.add_done_callback(lambda task: task.cancelled() or task.exception())
        return await asyncio.shield(self._stop_task)

    async def stop_settled(self) -> None:
        """Waits until a `stop()` in progress is over. Never raises the error of the stop."""
        if self._stop_task is not None:
            await asyncio.wait({self._stop_task})

    async def close(self) -> None:
        """Stops reading. The turn continues, and `session.resume()` reads the rest of it."""
        self._abort(AptixError.closed())
        await asyncio.wait({self._task})

    async def __aenter__(self) -> AsyncTurn:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def __aiter__(self) -> AsyncTurn:
        """Returns the turn. Each event is read once, and a later loop continues where an earlier one stopped."""
        return self

    async def __anext__(self) -> Event:
        if self._is_reading:
            raise TypeError("Only one loop at a time can read a turn's events")
        self._is_reading = True
        try:
            event = await self._queue.next()
        finally:
            self._is_reading = False
        if event is None:
            raise StopAsyncIteration
        return event

    def _abort(self, error: AptixError) -> None:
        if not self._task.done() and self._abort_error is None:
            self._abort_error = error
            self._task.cancel()

    async def _run(self, prepare: Callable[[], Awaitable[ResumePoint]]) -> None:
        try:
            answer = await self._read_turn(prepare)
        except asyncio.CancelledError:
            self._fail(self._abort_error or AptixError.closed())
        except Exception as error:
            self._fail(error)
        else:
            self._result.set_result(answer)

    async def _read_turn(self, prepare: Callable[[], Awaitable[ResumePoint]]) -> Answer:
        point = await prepare()
        while True:
            self._resume_entry.save(self.id, point)
            envelope, last_event_id = await self._read_stream(point)
            result = require_success(envelope)["Result"]
            response = _parse_response(result)
            if isinstance(response, Final) or self._options.tools is None:
                return self._finish(response, result)
            results = await self._run_tools(result["ToolCalls"], point, self._options.tools)
            if results is None:
                request = TurnRequest("GET", paths.turn(self.session_id, self.id, "/stream"))
            else:
                fitted = fit_to_request(results)
                body = {"SessionId": self.session_id, "TurnId": self.id, "ToolResults": fitted}
                request = TurnRequest("POST", paths.TOOL_RESULTS, to_json(body))
            point = ResumePoint(request, last_event_id)

    async def _read_stream(self, point: ResumePoint) -> tuple[dict[str, Any], int | None]:
        """Reads the stream of one request until its `result` event."""

        def on_request() -> None:
            self._has_request_in_flight = True

        def on_retry(error: AptixError, delay: float) -> None:
            self._has_request_in_flight = False
            self._queue.push(RetryEvent(error, delay))

        async with contextlib.aclosing(follow(self._http, point, on_request, on_retry)) as events:
            async for event in events:
                if event.name == "result":
                    return event.data, point.last_event_id if event.id is None else event.id
                # Ignore other events: the answer never depends on them.
                if event.name == "delta":
                    self._delta(event.data["Text"], event.data["Index"])
                elif event.name == "reset":
                    self._reset(event.data.get("Reason"))
                elif event.name == "status":
                    self._status(event.data)
                elif event.name == "reasoning":
                    data = event.data
                    self._queue.push(ReasoningEvent(data["Text"], data["Index"], data["Round"]))
        raise AptixError.interrupted()

    async def _run_tools(
        self, calls: list[dict[str, Any]], point: ResumePoint, tools: dict[str, Tool]
    ) -> list[dict[str, Any]] | None:
        """Runs the calls sequentially, in order. Returns `None` if the turn is stopped meanwhile."""
        calls_json = to_json(calls)
        # A restarted program has some of the results already.
        results = list(point.results) if point.calls_json == calls_json else []
        toolbox = Toolbox(tools, self._options.approve, self._options.tool_timeout, self._queue.push)
        for call in calls[len(results) :]:
            if self._stop_task is None:
                self._tool_task = asyncio.create_task(run_call(parse_call(call), toolbox))
                try:
                    results.append(await self._tool_task)
                except asyncio.CancelledError:
                    self._tool_task.cancel()
                    if self._stop_task is None or self._abort_error is not None:
                        raise
            if self._stop_task is not None:
                await asyncio.shield(self._stop_task)
                return None
            self._resume_entry.save(self.id, replace(point, calls_json=calls_json, results=results))
        return results

    async def _cancel(self) -> AgentSessionTurnSummary | None:
        if self._tool_task is not None:
            self._tool_task.cancel()
        path = paths.turn(self.session_id, self.id, "/cancel")
        for attempt in range(MAX_CANCEL_RETRIES + 1):
            try:
                return AgentSessionTurnSummary.model_validate(await self._http.call("POST", path))
            except AptixError as error:
                if error.code not in NOT_FOUND_CODES:
                    raise
                if not self._has_request_in_flight or attempt == MAX_CANCEL_RETRIES:
                    self._abort(AptixError.stopped())
                    return None
            # The turn's own request is still in flight.
            await asyncio.sleep(0.05 * 2**attempt)
        return None

    def _delta(self, text: str, index: int) -> None:
        if index != self._utf16_length:
            # A gap or an overlap: replace the text.
            kept = self._text.encode("utf-16-le")[: 2 * index].decode("utf-16-le", errors="ignore")
            self._reset("corrected")
            text = kept + text
        self._queue.push(DeltaEvent(text, len(self._text)))
        self._text += text
        self._utf16_length += len(text.encode("utf-16-le")) // 2

    def _reset(self, reason: str | None) -> None:
        self._discarded_text = self._text or self._discarded_text
        self._text, self._utf16_length = "", 0
        self._queue.push(ResetEvent(reason))

    def _status(self, data: Any) -> None:
        # A status that a newer API sends in another form is left out.
        with contextlib.suppress(ValidationError):
            self._queue.push(StatusEvent(StreamStatus.model_validate(data)))

    def _finish(self, response: Final | ClientToolContinuation, result: dict[str, Any]) -> Answer:
        if isinstance(response, Final):
            text = response.primary_output_text
            if text != self._text:
                # The turn was not streamed, or its stream has expired: use the text of the result.
                if self._text:
                    self._reset("corrected")
                if text:
                    self._delta(text, 0)
            answer = Answer(
                text=text,
                calls=[],
                files=response.files or [],
                usage=response.usage,
                warnings=response.user_warnings or [],
                mode=response.mode_display_name,
                response=response,
            )
        else:
            calls = [parse_call(call) for call in result["ToolCalls"]]
            text = response.tool_continuation_message or ""
            answer = Answer(text, calls, [], None, [], response.mode_display_name, response)
        self._resume_entry.clear(self.id)
        self._queue.push(ResultEvent(answer))
        self._queue.close()
        return answer

    def _fail(self, error: Exception) -> None:
        is_stopped = self._stop_task is not None and isinstance(error, AptixError) and error.code == "TurnCancelled"
        # An error that can be retried leaves the turn open. Any other error is its outcome.
        if isinstance(error, AptixError) and error.retry != "same_request":
            self._resume_entry.clear(self.id)
        if is_stopped:
            self._queue.push(StoppedEvent(self._text or self._discarded_text))
        self._queue.close(None if is_stopped else error)
        self._result.set_exception(error)


def _parse_response(result: Any) -> Final | ClientToolContinuation:
    try:
        return _RESPONSE.validate_python(result)
    except ValidationError as error:
        message = "The answer has an unknown format. Is this client older than the API?"
        raise AptixError(message, code="Unreadable") from error
