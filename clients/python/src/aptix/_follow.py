"""Events of a turn, read over as many connections as needed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from ._http import Http, parse_envelope, read_envelope, text_chunks
from ._retry import Backoff
from ._sse import EventParser
from .errors import AptixError
from .resume_store import ResumePoint, TurnRequest


@dataclass(frozen=True)
class TurnEvent:
    """An event of the API. The `result` event carries the envelope and comes once, at the end."""

    id: int | None
    name: str
    data: Any


async def follow(
    http: Http, point: ResumePoint, on_request: Callable[[], None], on_retry: Callable[[AptixError, float], None]
) -> AsyncGenerator[TurnEvent, None]:
    """Reads until the `result` event.

    After a lost connection, or one that ends before its turn, it sends the same request again with the id of the last
    event received. A turn runs whether or not a client reads it, and its model is called once. The request also takes
    the turn over if the function that worked on it died.
    """
    backoff = Backoff(http.retry, lambda: http.was_reached)
    last = point.last_event_id
    while True:
        try:
            on_request()
            async with aclosing(_read_connection(http, point.request, last)) as events:
                async for event in events:
                    # Skip events that the connection repeats.
                    if event.id is not None and last is not None and event.id <= last:
                        continue
                    last = last if event.id is None else event.id
                    # An error response is not an event of the turn. Some of them can be retried.
                    if event.name == "result" and event.id is None and not event.data["Successful"]:
                        raise AptixError.from_envelope(event.data)
                    # Every connection sends its status again, so events without an id are not progress.
                    if event.id is not None:
                        backoff.reset()
                    yield event
                    if event.name == "result":
                        return
            raise AptixError.interrupted()
        except AptixError as error:
            delay = backoff.next_delay(error)
            on_retry(error, delay)
        await asyncio.sleep(delay)


async def _read_connection(http: Http, request: TurnRequest, last: int | None) -> AsyncGenerator[TurnEvent, None]:
    """Yields the events of one connection."""
    headers = {"accept": "text/event-stream, application/json"}
    if last is not None:
        headers["last-event-id"] = str(last)
    response = await http.request(request.method, request.path, headers, request.body)
    # 204: no new events after the last one.
    if response.status_code == 204:
        await response.aclose()
        raise AptixError.interrupted()
    if not response.headers.get("content-type", "").startswith("text/event-stream"):
        # A turn that was started without streaming gets a buffered response. A late error has status 200.
        yield TurnEvent(None, "result", await read_envelope(response))
        return
    parser = EventParser()
    try:
        async for text in text_chunks(response):
            for event in parser.push(text):
                number = int(event.id) if event.id else None
                yield TurnEvent(number, event.event, _parse_data(event.event, event.data))
    except (ValueError, OverflowError) as error:
        raise AptixError.interrupted() from error
    finally:
        await response.aclose()
    raise AptixError.interrupted(None if parser.retry_ms is None else parser.retry_ms / 1000)


def _parse_data(name: str, text: str) -> Any:
    data = parse_envelope(text) if name == "result" else json.loads(text)
    if data is None:
        raise ValueError("Malformed event data")
    return data
