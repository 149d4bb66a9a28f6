"""The asynchronous client."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable
from datetime import datetime
from types import TracebackType
from typing import Any

import httpx
from typing_extensions import Unpack

from . import _paths as paths
from ._approvals import AsyncApprovals
from ._http import Http, Token
from ._retry import RetryOptions
from ._session import AsyncSession, paginate
from .options import SessionFilter, SessionOptions
from .resume_store import ResumeStore
from .wire import AgentSession, AgentSessionSummary, FoundSession

DEFAULT_URL = "http://127.0.0.1:9000"


class AsyncSessions:
    """The sessions of the caller's organization."""

    def __init__(self, http: Http, open_session: Callable[[str], AsyncSession]) -> None:
        self._http = http
        self._open_session = open_session

    def list(self, **conditions: Unpack[SessionFilter]) -> AsyncGenerator[AgentSessionSummary, None]:
        """Lists sessions, newest activity first."""
        return paginate(self._http, paths.SESSIONS, _filter_query(conditions), AgentSessionSummary)

    def search(self, words: str, **conditions: Unpack[SessionFilter]) -> AsyncGenerator[FoundSession, None]:
        """Searches names, descriptions and turns for sessions that contain all the words, at most eight.

        Yields the sessions with the matching excerpts.
        """
        return paginate(self._http, paths.SEARCH, {"q": words, **_filter_query(conditions)}, FoundSession)

    async def get(self, id: str) -> AgentSession:
        """Returns a session with its first hundred turns."""
        return await self._open_session(id).read()


def _filter_query(conditions: SessionFilter) -> dict[str, Any]:
    def time(value: datetime | str | None) -> str | None:
        return value.isoformat() if isinstance(value, datetime) else value

    return {
        "userId": conditions.get("user_id"),
        "status": conditions.get("status"),
        "mode": conditions.get("mode"),
        "from": time(conditions.get("since")),
        "to": time(conditions.get("until")),
        "includeDeleted": conditions.get("include_deleted"),
        "pageSize": conditions.get("page_size"),
    }


class AsyncAptix:
    """Client of one caller, for asyncio. `Aptix` is the same without `await`.

    Example:
        async with AsyncAptix() as aptix:
            async for event in aptix.session().stream("What is a lease?"):
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
        token = token or os.environ.get("APTIX_TOKEN")
        if not token:
            raise ValueError("No token. Pass `token`, or set APTIX_TOKEN; `aptix token` prints one of a local cloud.")
        base_url = base_url or os.environ.get("APTIX_URL") or DEFAULT_URL
        self._http = Http(base_url, token, retry or RetryOptions(), transport)
        self._resume_store = resume_store
        self.sessions = AsyncSessions(self._http, self.session)
        self.approvals = AsyncApprovals(self._http)

    def session(self, id: str | None = None, **defaults: Unpack[SessionOptions]) -> AsyncSession:
        """Returns the session with this id, or a new session. The defaults apply to all of its turns."""
        return AsyncSession(self._http, self._resume_store, id, defaults)

    async def open(self, link: str) -> httpx.Response:
        """Downloads the target of a link in a response, such as a file's `url` or a turn's `full_agent_answer_url`."""
        return await self._http.fetch_payload(link)

    async def close(self) -> None:
        """Stops reading all turns, and closes the connections. The turns continue at the API."""
        await self._http.close()

    async def __aenter__(self) -> AsyncAptix:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()
