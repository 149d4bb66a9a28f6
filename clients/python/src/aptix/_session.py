"""A session of the asynchronous client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import httpx
from typing_extensions import Unpack

from . import _paths as paths
from ._http import Http, to_json
from ._request import Input, execute_body, present
from ._run_tools import to_wire_results
from ._turn import AsyncTurn
from ._turn import TurnOptions as ParsedOptions
from .events import Answer, ToolOutputs
from .options import RerunOptions, SendOptions, SessionOptions, TurnOptions
from .resume_store import ResumeEntry, ResumePoint, ResumeStore, TurnRequest
from .wire import (
    AgentSession,
    AgentSessionSummary,
    AgentSessionTurn,
    AgentSessionTurnSummary,
    ModeChange,
    StepCall,
    StepList,
    TurnStep,
    WireModel,
)

if TYPE_CHECKING:
    from .testing import Script

M = TypeVar("M", bound=WireModel)

Payload = Literal["instruction", "answer", "llm-request", "llm-response"]
"""A complete value of a turn. Only operators can read the `llm-` ones."""

_INPUT_NAMES = {field.name for field in fields(Input)}


class AsyncSession:
    """A session. Creating the object sends nothing.

    Example:
        session = aptix.session(agent="workspace")
        answer = await session.run("What does main.py do?", tools=[workspace_read_file])
    """

    def __init__(self, http: Http, resume_store: ResumeStore | None, id: str | None, defaults: SessionOptions) -> None:
        self.id = id or paths.new_id()
        """The session's id, known before anything is sent. Store it to find the session again."""
        self._http = http
        self._resume_store = resume_store
        self._resume_entry = ResumeEntry(resume_store, self.id)
        self._defaults = defaults
        self._newest_turn: AsyncTurn | None = None

    def stream(self, text: str | Script, **options: Unpack[SendOptions]) -> AsyncTurn:
        """Sends an instruction as a new turn, and returns the turn to read its events from.

        `turn_id` is also the idempotency key: the same id with the same input is the same turn with the same answer.
        Waits for a previous turn that is being stopped.
        """
        merged: SendOptions = {**self._defaults, **options}
        turn_id = merged.get("turn_id") or paths.new_id()
        context = _input(merged)

        async def request() -> TurnRequest:
            body = await asyncio.to_thread(execute_body, self.id, turn_id, str(text), context)
            return TurnRequest("POST", paths.EXECUTE, to_json(body))

        return self._start_turn(turn_id, self._parse(options), request)

    async def run(self, text: str | Script, **options: Unpack[SendOptions]) -> Answer:
        """Sends an instruction as a new turn, and returns its answer."""
        return await self.stream(text, **options).final()

    def rerun(self, turn_id_of_original: str, **options: Unpack[RerunOptions]) -> AsyncTurn:
        """Runs a finished turn again as a new turn, optionally with another `text`, `model`, `mode` or other files.

        The model sees neither the original turn nor the turns after it.
        """
        turn_id = options.get("turn_id") or paths.new_id()
        path = paths.turn(self.id, turn_id_of_original, "/rerun")
        context = _input(options)

        async def request() -> TurnRequest:
            body = await asyncio.to_thread(execute_body, self.id, turn_id, options.get("text") or "", context)
            del body["SessionId"]
            body.update(present({"Model": options.get("model"), "Mode": options.get("mode")}))
            return TurnRequest("POST", path, to_json(body))

        return self._start_turn(turn_id, self._parse(options), request)

    async def fork(self, turn_id: str, *, id: str | None = None, name: str | None = None) -> AsyncSession:
        """Creates a session that continues from a completed turn of this one."""
        fork_id = id or paths.new_id()
        body = present({"SessionId": fork_id, "TurnId": turn_id, "Name": name})
        await self._http.call("POST", f"{paths.session(self.id)}/fork", body)
        return AsyncSession(self._http, self._resume_store, fork_id, self._defaults)

    def resume(self, turn_id: str | None = None, **options: Unpack[TurnOptions]) -> AsyncTurn:
        """Resumes a turn: the open turn in the resume store, or the one with this id.

        A stored turn sends its original request again. So the request takes the turn over if its function died, and
        finished tool calls are not run again. Raises `ValueError` if there is no open turn.
        """
        saved = self._resume_entry.turn
        if saved is not None and turn_id in (None, saved[0]):
            resumed_id, point = saved
        elif turn_id is not None:
            resumed_id, point = turn_id, ResumePoint(TurnRequest("GET", paths.turn(self.id, turn_id, "/stream")))
        else:
            raise ValueError("No open turn is stored. Pass a turn_id.")

        async def prepare() -> ResumePoint:
            return point

        return self._open_turn(resumed_id, self._parse(options), prepare)

    def submit_tool_results(self, turn_id: str, results: ToolOutputs, **options: Unpack[TurnOptions]) -> AsyncTurn:
        """Submits the results of a turn's pending tool calls and follows the rest of the turn.

        Needs one result per call, in the order of the calls.
        """
        body = to_json({"SessionId": self.id, "TurnId": turn_id, "ToolResults": to_wire_results(results)})

        async def prepare() -> ResumePoint:
            return ResumePoint(TurnRequest("POST", paths.TOOL_RESULTS, body))

        return self._open_turn(turn_id, self._parse(options), prepare)

    @property
    def open_turn_id(self) -> str | None:
        """Id of the open turn, which `resume()` continues. Needs the client's option `resume_store`."""
        saved = self._resume_entry.turn
        return None if saved is None else saved[0]

    async def read(self, *, page_size: int | None = None) -> AgentSession:
        """Returns the session with its first turns, at most 100. `turns()` returns all of them."""
        path = paths.session(self.id) + paths.query({"pageSize": page_size})
        return AgentSession.model_validate(await self._http.call("GET", path))

    async def update(
        self,
        *,
        name: str | None = None,
        description: str | None = None,
        visibility: Literal["org", "participants"] | None = None,
    ) -> AgentSessionSummary:
        """Updates the session's name, description or visibility. Absent ones stay as they are."""
        changes = present({"Name": name, "Description": description, "Visibility": visibility})
        return AgentSessionSummary.model_validate(await self._http.call("PATCH", paths.session(self.id), changes))

    async def delete(self) -> AgentSessionSummary:
        """Deletes the session. It can be restored until its `kept_until_date`."""
        return AgentSessionSummary.model_validate(await self._http.call("DELETE", paths.session(self.id)))

    async def restore(self) -> AgentSessionSummary:
        """Restores the deleted session."""
        return AgentSessionSummary.model_validate(await self._http.call("POST", f"{paths.session(self.id)}/restore"))

    async def turns(self, *, order: Literal["asc", "desc"] | None = None) -> AsyncGenerator[AgentSessionTurn, None]:
        """Yields all turns, oldest first by default."""
        token: str | None = None
        while True:
            path = paths.session(self.id) + paths.query({"order": order, "continuationToken": token})
            page = AgentSession.model_validate(await self._http.call("GET", path))
            for turn in page.turns:
                yield turn
            token = page.continuation_token
            if token is None:
                return

    async def steps(self, turn_id: str, *, full: bool = False) -> AsyncGenerator[TurnStep, None]:
        """Yields the steps of a turn: the model's replies in order, with their tool calls and results.

        Values over 16 KiB are truncated, with a link to the full value, unless `full` is set.
        """
        token: str | None = None
        while True:
            path = paths.turn(self.id, turn_id, "/steps") + paths.query({"continuationToken": token})
            page = StepList.model_validate(await self._http.call("GET", path))
            for step in page.items:
                yield await self._with_full_values(step) if full else step
            token = page.continuation_token
            if token is None:
                return

    async def turn(self, turn_id: str) -> AgentSessionTurn:
        """Returns a turn by its id; `last` is the newest one."""
        return AgentSessionTurn.model_validate(await self._http.call("GET", paths.turn(self.id, turn_id)))

    async def summary(self, turn_id: str) -> AgentSessionTurnSummary:
        """Returns a summary of a turn, cheap enough to poll."""
        path = paths.turn(self.id, turn_id, "/summary")
        return AgentSessionTurnSummary.model_validate(await self._http.call("GET", path))

    async def cancel(self, turn_id: str) -> AgentSessionTurnSummary:
        """Cancels a turn, no matter which client started it, and returns its summary."""
        path = paths.turn(self.id, turn_id, "/cancel")
        return AgentSessionTurnSummary.model_validate(await self._http.call("POST", path))

    async def payload(self, turn_id: str, payload: Payload) -> httpx.Response:
        """Downloads a complete value of a turn. `.text`, `.content` and `.json()` of the response have it."""
        return await self._http.fetch_payload(paths.turn(self.id, turn_id, f"/payloads/{payload}"))

    def mode_history(self) -> AsyncGenerator[ModeChange, None]:
        """Yields the session's mode changes, newest first."""
        return paginate(self._http, f"{paths.session(self.id)}/mode-history", {}, ModeChange)

    async def _with_full_values(self, step: TurnStep) -> TurnStep:
        """Returns the step with its truncated values replaced by the complete ones."""

        async def read(link: str | None, excerpt: str | None) -> str | None:
            return excerpt if link is None else (await self._http.fetch_payload(link)).text

        async def complete(call: StepCall) -> StepCall:
            values = {
                "arguments_json": await read(call.full_arguments_json_url, call.arguments_json),
                "result_json": await read(call.full_result_json_url, call.result_json),
                "error_message": await read(call.full_error_message_url, call.error_message),
            }
            links = dict.fromkeys(("full_arguments_json_url", "full_result_json_url", "full_error_message_url"))
            return call.model_copy(update={**values, **links})

        calls = None if step.calls is None else [await complete(call) for call in step.calls]
        text = await read(step.full_text_url, step.text)
        return step.model_copy(update={"text": text, "full_text_url": None, "calls": calls})

    def _parse(self, options: TurnOptions | RerunOptions) -> ParsedOptions:
        merged: dict[str, Any] = {**self._defaults, **options}
        return ParsedOptions.of(merged.get("tools"), merged.get("approve"), merged.get("tool_timeout"))

    def _start_turn(self, id: str, options: ParsedOptions, request: Callable[[], Awaitable[TurnRequest]]) -> AsyncTurn:
        """Starts a turn after a previous one that is being stopped."""
        previous = self._newest_turn

        async def prepare() -> ResumePoint:
            point = ResumePoint(await request())
            if previous is not None:
                await previous.stop_settled()
            return point

        return self._open_turn(id, options, prepare)

    def _open_turn(self, id: str, options: ParsedOptions, prepare: Callable[[], Awaitable[ResumePoint]]) -> AsyncTurn:
        self._newest_turn = AsyncTurn(self._http, self._resume_entry, self.id, id, prepare, options)
        return self._newest_turn


def _input(options: Mapping[str, Any]) -> Input:
    return Input(**{name: options[name] for name in _INPUT_NAMES if options.get(name) is not None})


async def paginate(http: Http, path: str, params: dict[str, Any], item_type: type[M]) -> AsyncGenerator[M, None]:
    """Yields the items of a list, one page after another."""
    token: str | None = None
    while True:
        page = await http.call("GET", path + paths.query({**params, "continuationToken": token}))
        for item in page["Items"]:
            yield item_type.model_validate(item)
        token = page.get("ContinuationToken") if page.get("HasMore") else None
        if token is None:
            return
