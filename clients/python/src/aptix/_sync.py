"""The synchronous client: the asynchronous one, run in an event loop of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Literal

import httpx
from typing_extensions import Unpack

from ._approvals import Approvals
from ._client import AsyncAptix, AsyncSessions
from ._http import Token
from ._retry import RetryOptions
from ._session import AsyncSession, Payload
from ._threads import Portal
from ._turn import AsyncTurn
from .events import Answer, Event, ToolOutputs
from .options import RerunOptions, SendOptions, SessionFilter, SessionOptions, TurnOptions
from .resume_store import ResumeStore
from .wire import (
    AgentSession,
    AgentSessionSummary,
    AgentSessionTurn,
    AgentSessionTurnSummary,
    FoundSession,
    ModeChange,
    TurnStep,
)

if TYPE_CHECKING:
    from .testing import Script


class Turn:
    """A running turn: its events and its answer. Iterate over it to read the events.

    The turn runs whether or not its events are read.

    Example:
        turn = session.stream("What is a lease?")
        for event in turn:
            if event.type == "delta":
                print(event.text, end="", flush=True)
        print(turn.final().usage)
    """

    def __init__(self, portal: Portal, turn: AsyncTurn) -> None:
        self._portal = portal
        self._turn = turn

    @property
    def id(self) -> str:
        """The turn's id, known before anything is sent. Store it to find the turn again."""
        return self._turn.id

    @property
    def session_id(self) -> str:
        """The session's id."""
        return self._turn.session_id

    @property
    def text(self) -> str:
        """The text of the answer so far."""
        return self._turn.text

    def final(self) -> Answer:
        """Returns the answer, whether or not the events are read.

        Raises an `AptixError` if the turn failed or was stopped.
        """
        return self._portal.run(self._turn.final())

    def stop(self) -> AgentSessionTurnSummary | None:
        """Cancels the turn at the API and returns its summary, which can show that the turn had ended already.

        Any thread can call it. Returns `None` if the turn never started.
        """
        return self._portal.run(self._turn.stop())

    def close(self) -> None:
        """Stops reading. The turn continues, and `session.resume()` reads the rest of it."""
        self._portal.run(self._turn.close())

    def __iter__(self) -> Iterator[Event]:
        """Returns the turn. Each event is read once, and a later loop continues where an earlier one stopped."""
        return self

    def __next__(self) -> Event:
        try:
            return self._portal.run(self._turn.__anext__())
        except StopAsyncIteration:
            raise StopIteration from None

    def __enter__(self) -> Turn:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class Session:
    """A session. Creating the object sends nothing.

    Example:
        session = aptix.session(agent="workspace")
        answer = session.run("What does main.py do?", tools=[workspace_read_file])
    """

    def __init__(self, portal: Portal, session: AsyncSession) -> None:
        self._portal = portal
        self._session = session

    @property
    def id(self) -> str:
        """The session's id, known before anything is sent. Store it to find the session again."""
        return self._session.id

    def stream(self, text: str | Script, **options: Unpack[SendOptions]) -> Turn:
        """Sends an instruction as a new turn, and returns the turn to read its events from.

        `turn_id` is also the idempotency key: the same id with the same input is the same turn with the same answer.
        Waits for a previous turn that is being stopped.
        """
        return self._start(lambda: self._session.stream(text, **options))

    def run(self, text: str | Script, **options: Unpack[SendOptions]) -> Answer:
        """Sends an instruction as a new turn, and returns its answer."""
        return self.stream(text, **options).final()

    def rerun(self, turn_id_of_original: str, **options: Unpack[RerunOptions]) -> Turn:
        """Runs a finished turn again as a new turn, optionally with another `text`, `model`, `mode` or other files.

        The model sees neither the original turn nor the turns after it.
        """
        return self._start(lambda: self._session.rerun(turn_id_of_original, **options))

    def fork(self, turn_id: str, *, id: str | None = None, name: str | None = None) -> Session:
        """Creates a session that continues from a completed turn of this one."""
        return Session(self._portal, self._portal.run(self._session.fork(turn_id, id=id, name=name)))

    def resume(self, turn_id: str | None = None, **options: Unpack[TurnOptions]) -> Turn:
        """Resumes a turn: the open turn in the resume store, or the one with this id.

        A stored turn sends its original request again. So the request takes the turn over if its function died, and
        finished tool calls are not run again. Raises `ValueError` if there is no open turn.
        """
        return self._start(lambda: self._session.resume(turn_id, **options))

    def submit_tool_results(self, turn_id: str, results: ToolOutputs, **options: Unpack[TurnOptions]) -> Turn:
        """Submits the results of a turn's pending tool calls and follows the rest of the turn.

        Needs one result per call, in the order of the calls.
        """
        return self._start(lambda: self._session.submit_tool_results(turn_id, results, **options))

    @property
    def open_turn_id(self) -> str | None:
        """Id of the open turn, which `resume()` continues. Needs the client's option `resume_store`."""
        return self._session.open_turn_id

    def read(self, *, page_size: int | None = None) -> AgentSession:
        """Returns the session with its first turns, at most 100. `turns()` returns all of them."""
        return self._portal.run(self._session.read(page_size=page_size))

    def update(
        self,
        *,
        name: str | None = None,
        description: str | None = None,
        visibility: Literal["org", "participants"] | None = None,
    ) -> AgentSessionSummary:
        """Updates the session's name, description or visibility. Absent ones stay as they are."""
        return self._portal.run(self._session.update(name=name, description=description, visibility=visibility))

    def delete(self) -> AgentSessionSummary:
        """Deletes the session. It can be restored until its `kept_until_date`."""
        return self._portal.run(self._session.delete())

    def restore(self) -> AgentSessionSummary:
        """Restores the deleted session."""
        return self._portal.run(self._session.restore())

    def turns(self, *, order: Literal["asc", "desc"] | None = None) -> Iterator[AgentSessionTurn]:
        """Yields all turns, oldest first by default."""
        return self._portal.iterate(self._session.turns(order=order))

    def steps(self, turn_id: str, *, full: bool = False) -> Iterator[TurnStep]:
        """Yields the steps of a turn: the model's replies in order, with their tool calls and results.

        Values over 16 KiB are truncated, with a link to the full value, unless `full` is set.
        """
        return self._portal.iterate(self._session.steps(turn_id, full=full))

    def turn(self, turn_id: str) -> AgentSessionTurn:
        """Returns a turn by its id; `last` is the newest one."""
        return self._portal.run(self._session.turn(turn_id))

    def summary(self, turn_id: str) -> AgentSessionTurnSummary:
        """Returns a summary of a turn, cheap enough to poll."""
        return self._portal.run(self._session.summary(turn_id))

    def cancel(self, turn_id: str) -> AgentSessionTurnSummary:
        """Cancels a turn, no matter which client started it, and returns its summary."""
        return self._portal.run(self._session.cancel(turn_id))

    def payload(self, turn_id: str, payload: Payload) -> httpx.Response:
        """Downloads a complete value of a turn. `.text`, `.content` and `.json()` of the response have it."""
        return self._portal.run(self._session.payload(turn_id, payload))

    def mode_history(self) -> Iterator[ModeChange]:
        """Yields the session's mode changes, newest first."""
        return self._portal.iterate(self._session.mode_history())

    def _start(self, start: Callable[[], AsyncTurn]) -> Turn:
        return Turn(self._portal, self._portal.call(start))


class Sessions:
    """The sessions of the caller's organization."""

    def __init__(self, portal: Portal, sessions: AsyncSessions) -> None:
        self._portal = portal
        self._sessions = sessions

    def list(self, **conditions: Unpack[SessionFilter]) -> Iterator[AgentSessionSummary]:
        """Lists sessions, newest activity first."""
        return self._portal.iterate(self._sessions.list(**conditions))

    def search(self, words: str, **conditions: Unpack[SessionFilter]) -> Iterator[FoundSession]:
        """Searches names, descriptions and turns for sessions that contain all the words, at most eight.

        Yields the sessions with the matching excerpts.
        """
        return self._portal.iterate(self._sessions.search(words, **conditions))

    def get(self, id: str) -> AgentSession:
        """Returns a session with its first hundred turns."""
        return self._portal.run(self._sessions.get(id))


class Aptix:
    """Client of one caller. Threads can share it. `AsyncAptix` is the same for asyncio.

    Example:
        aptix = Aptix()
        for event in aptix.session().stream("What is a lease?"):
            if event.type == "delta":
                print(event.text, end="", flush=True)
    """

    def __init__(
        self,
        base_url: str | None = None,
        token: Token | None = None,
        *,
        resume_store: ResumeStore | None = None,
        retry: RetryOptions | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """Creates a client. Nothing is sent.

        Args:
            base_url: URL of the API: `http://127.0.0.1:9000`, or a deployment's `ApiUrl`, stage included. Defaults to
                `APTIX_URL`, and else to the local cloud.
            token: A token, or a function that returns one, which is called once more if the API rejects the token.
                Defaults to `APTIX_TOKEN`.
            resume_store: Store for open turns, which `session.resume()` needs: a `FolderStore` or any mapping of texts.
                It holds the requests, files included.
            retry: Limits of retries and timeouts.
            transport: Replacement for httpx's transport.
        """
        self._client = AsyncAptix(base_url, token, resume_store=resume_store, retry=retry, transport=transport)
        self._portal = Portal.shared()
        self.sessions = Sessions(self._portal, self._client.sessions)
        self.approvals = Approvals(self._portal, self._client.approvals)

    def session(self, id: str | None = None, **defaults: Unpack[SessionOptions]) -> Session:
        """Returns the session with this id, or a new session. The defaults apply to all of its turns."""
        return Session(self._portal, self._client.session(id, **defaults))

    def open(self, link: str) -> httpx.Response:
        """Downloads the target of a link in a response, such as a file's `url` or a turn's `full_agent_answer_url`."""
        return self._portal.run(self._client.open(link))

    def close(self) -> None:
        """Stops reading all turns, and closes the connections. The turns continue at the API."""
        self._portal.run(self._client.close())

    def __enter__(self) -> Aptix:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
