"""Tests without a cloud: event parser, queue, error codes, and responses that a local cloud never sends."""

from __future__ import annotations

import asyncio
import json
import pickle
import re
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Union

import httpx
import pytest

from aptix import AptixError, AsyncAptix, DeltaEvent, FolderStore, ReasoningEvent, ResetEvent, RetryOptions
from aptix._queue import EventQueue
from aptix._retry import Backoff
from aptix._sse import MAX_CHARS, EventParser, ServerEvent
from aptix._threads import Portal
from aptix.errors import NEW_TURN, SAME_REQUEST
from support import collect, runs, wait_for

REPOSITORY = Path(__file__).parents[3]
STREAM = (
    'retry: 1000\n:\nid: 1\nevent: delta\ndata: {"a":\ndata: 1}\n\nid:2\r\ndata: x\r\n\r\n\rdata\rid: 3\r\r: c\n\n'
    "event: lost\ndata: y"
)


def test_events_are_the_same_for_every_chunking() -> None:
    expected = [
        ServerEvent("1", "delta", '{"a":\n1}'),
        ServerEvent("2", "message", "x"),
        ServerEvent("3", "message", ""),
    ]
    for cut in range(len(STREAM) + 1):
        parser = EventParser()
        assert [*parser.push(STREAM[:cut]), *parser.push(STREAM[cut:])] == expected, cut
        assert parser.retry_ms == 1000
    parser = EventParser()
    assert [event for character in STREAM for event in parser.push(character)] == expected


def test_oversized_event_is_rejected() -> None:
    parser = EventParser()
    with pytest.raises(OverflowError):
        parser.push("x" * (MAX_CHARS + 1))


@runs
async def test_queue_merges_deltas_and_drops_them_at_a_reset() -> None:
    queue = EventQueue()
    for index in range(1000):
        queue.push(DeltaEvent("a", index))
    queue.push(ResetEvent())
    queue.push(DeltaEvent("b", 0))
    queue.push(DeltaEvent("c", 1))
    queue.close()
    assert [await queue.next() for _ in range(3)] == [ResetEvent(), DeltaEvent("bc", 0), None]


@runs
async def test_queue_merges_reasoning_until_another_model_call_begins() -> None:
    queue = EventQueue()
    for text, index, number in [("Let", 0, 1), (" me", 3, 1), ("Now", 0, 2)]:
        queue.push(ReasoningEvent(text, index, number))
    queue.close()
    merged = [ReasoningEvent("Let me", 0, 1), ReasoningEvent("Now", 0, 2), None]
    assert [await queue.next() for _ in range(3)] == merged


@runs
async def test_queue_raises_its_error_once_after_earlier_events() -> None:
    queue = EventQueue()
    queue.push(ResetEvent())
    queue.close(ValueError("over"))
    assert await queue.next() == ResetEvent()
    with pytest.raises(ValueError, match="over"):
        await queue.next()
    assert await queue.next() is None


def test_error_codes_match_the_openapi_document() -> None:
    document = (REPOSITORY / "infra/openapi.yaml").read_text(encoding="utf-8")
    meanings = dict(re.findall(r"- `(\w+)`: ([^\n]+)", document))
    assert {code for code, text in meanings.items() if "Send the same request again later" in text} == set(SAME_REQUEST)
    assert {code for code, text in meanings.items() if "under a new `TurnId`" in text} == set(NEW_TURN)


def test_error_survives_pickling() -> None:
    error = AptixError("No.", code="SessionBusy", status=409, retry="same_request", retry_after=1.5)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), repr(copy), copy.retry_after) == ("No.", repr(error), 1.5)


def test_folder_store_keeps_entries_that_only_the_owner_reads(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "turns")
    store["aptix:../a"] = "1"
    store["aptix:../a"] = "2"
    assert (store["aptix:../a"], len(store), store.get("b")) == ("2", 1, None)
    (file,) = (tmp_path / "turns").iterdir()
    assert file.stat().st_mode & 0o77 == 0
    del store["aptix:../a"]
    with pytest.raises(KeyError):
        del store["aptix:../a"]


Outcome = Union[httpx.Response, Exception, Callable[[], httpx.Response]]
FINAL = {"Kind": "final", "SessionId": "s", "TurnId": "t", "ModeDisplayName": "General", "PrimaryOutputText": "Hello"}
SUCCEEDED = json.dumps({"Successful": True, "Result": FINAL, "Errors": [], "Warnings": []})
RESULT = f"event: result\nid: 1\ndata: {SUCCEEDED}\n\n"


class MockApi(httpx.AsyncBaseTransport):
    """Responds with these outcomes in order, and records the requests."""

    def __init__(self, *outcomes: Outcome) -> None:
        self.outcomes = list(outcomes)
        self.requests: list[httpx.Request] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        self.requests.append(request)
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome if isinstance(outcome, httpx.Response) else outcome()

    def client(self, **options: Any) -> AsyncAptix:
        options = {"retry": RetryOptions(initial_backoff=0.001), "token": "t", **options}
        return AsyncAptix("https://api.example/live", transport=self, **options)


def stream(body: str) -> httpx.Response:
    return httpx.Response(200, text=body, headers={"content-type": "text/event-stream"})


def failed(status: int, error: dict[str, Any], headers: dict[str, str] | None = None) -> httpx.Response:
    errors = [{"Message": "No.", "SystemError": False, **error}]
    return httpx.Response(status, json={"Successful": False, "Result": None, "Errors": errors}, headers=headers)


class Silence(httpx.AsyncByteStream):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        raise httpx.ReadTimeout("silent")
        yield b""


@runs
async def test_retries_send_identical_request_with_last_event_id() -> None:
    first = 'id: 5\nevent: delta\ndata: {"Index":0,"Text":"He"}\n\n'
    second = 'id: 7\nevent: delta\ndata: {"Index":2,"Text":"llo"}\n\n'
    api = MockApi(
        httpx.ConnectError("refused"),
        httpx.Response(502, text="<html>Bad gateway</html>"),
        stream(f"{first}id: 6\nevent: de"),
        stream(f"{first}{second}id: 8\nevent: result\ndata: {SUCCEEDED}\n\n"),
    )
    collected = await collect(api.client().session("s").stream("Hi", turn_id="t"))
    assert collected.text == "Hello"
    assert collected.types == ["retry", "retry", "delta", "retry", "delta", "result"]
    assert {str(request.url) for request in api.requests} == {"https://api.example/live/api/ai/agent/execute"}
    assert len({request.content for request in api.requests}) == 1
    assert [request.headers.get("last-event-id") for request in api.requests] == [None, None, None, "5"]


@runs
async def test_retry_after_is_respected_up_to_the_time_limit() -> None:
    api = MockApi(
        failed(429, {"ErrorCode": "TooManyRequests"}, {"retry-after": "0"}),
        failed(
            409, {"ErrorCode": "SessionBusy", "Retry": "same_request", "RetryAfterSeconds": 0.05}, {"retry-after": "30"}
        ),
        stream(RESULT),
    )
    collected = await collect(api.client().session().stream("Hi"))
    delays = [event.delay for event in collected.events if event.type == "retry"]
    assert delays[0] <= 0.001
    assert delays[1] == 0.05
    too_late = MockApi(failed(409, {"ErrorCode": "SessionBusy"}, {"retry-after": "3600"}))
    with pytest.raises(AptixError) as caught:
        await too_late.client().session().run("Hi")
    assert (caught.value.code, caught.value.retry_after) == ("SessionBusy", 3600)


@runs
async def test_unknown_error_code_follows_retry_member() -> None:
    api = MockApi(
        failed(409, {"ErrorCode": "NewOne", "Retry": "same_request", "RetryAfterSeconds": 0}),
        failed(409, {"ErrorCode": "NewOther", "Retry": "new_turn", "Details": "Member"}, {"x-request-id": "r1"}),
    )
    with pytest.raises(AptixError, match=r"No\.") as caught:
        await api.client().session().run("Hi")
    error = caught.value
    assert (error.code, error.retry, error.details, error.request_id) == ("NewOther", "new_turn", "Member", "r1")
    assert [each.error_code for each in error.errors] == ["NewOther"]
    assert len(api.requests) == 2


@runs
async def test_retries_stop_at_the_limit() -> None:
    api = MockApi(*(httpx.ConnectError("refused") for _ in range(4)))
    with pytest.raises(AptixError) as caught:
        await api.client(retry=RetryOptions(initial_backoff=0.001, max_retries=3)).session().run("Hi")
    assert (caught.value.code, caught.value.status, len(api.requests)) == ("Unreachable", None, 4)
    assert str(caught.value) == "Can't reach the API at https://api.example/live. Is it running?"


def test_api_that_has_never_answered_is_tried_for_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)

    def tried(was_reached: bool) -> float:
        nonlocal now
        backoff = Backoff(RetryOptions(), lambda: was_reached)
        started = now
        try:
            while True:
                now += backoff.next_delay(AptixError.unreachable(httpx.URL("http://127.0.0.1:9")))
        except AptixError:
            return now - started

    assert tried(False) <= 5
    assert tried(True) > 15


@runs
async def test_silent_connection_counts_as_lost() -> None:
    headers = {"content-type": "text/event-stream"}
    api = MockApi(
        httpx.Response(200, stream=Silence(), headers=headers),
        httpx.ReadTimeout("silent"),
        httpx.Response(503, stream=Silence()),
        stream(RESULT),
    )
    collected = await collect(api.client().session().stream("Hi"))
    assert collected.types == ["retry", "retry", "retry", "delta", "result"]


@runs
async def test_unknown_events_are_ignored_and_status_events_delivered() -> None:
    status = 'event: status\ndata: {"Phase":"dreaming","Attempt":1,"New":true}\n\n'
    api = MockApi(stream(f"{status}id: 2\nevent: new\ndata: {{}}\n\nid: 3\nevent: result\ndata: {SUCCEEDED}\n\n"))
    collected = await collect(api.client().session().stream("Hi"))
    assert collected.types == ["status", "delta", "result"]
    event = collected.events[0]
    assert event.type == "status"
    assert (event.status.phase, event.status.attempt) == ("dreaming", 1)


@runs
async def test_status_events_alone_do_not_reset_the_retry_limit() -> None:
    working = 'event: status\ndata: {"Phase":"working","Attempt":1}\n\n'
    api = MockApi(*(stream(working) for _ in range(12)))
    with pytest.raises(AptixError) as caught:
        await api.client().session().run("Hi")
    assert caught.value.code == "Interrupted"


@runs
async def test_error_in_started_stream_is_retried_or_reported() -> None:
    errors = [{"ErrorCode": "StorageUnavailable", "Message": "No.", "SystemError": True}]
    busy = json.dumps({"Successful": False, "Result": None, "Errors": errors})
    never = busy.replace("StorageUnavailable", "DataTooNew")
    api = MockApi(stream(f"event: result\ndata: {busy}\n\n"), stream(f"event: result\ndata: {never}\n\n"))
    with pytest.raises(AptixError) as caught:
        await api.client().session().run("Hi")
    assert (caught.value.code, caught.value.retry) == ("DataTooNew", "never")


@runs
async def test_malformed_event_is_a_lost_connection() -> None:
    api = MockApi(
        stream("id: 1\nevent: delta\ndata: {\n\n"), stream("id: 1\nevent: result\ndata: 1\n\n"), stream(RESULT)
    )
    collected = await collect(api.client().session().stream("Hi"))
    assert collected.types == ["retry", "retry", "delta", "result"]


@runs
async def test_gap_in_deltas_is_corrected_in_utf16_units() -> None:
    first = 'id: 1\nevent: delta\ndata: {"Index":0,"Text":"a🦀b"}\n\n'
    again = 'id: 2\nevent: delta\ndata: {"Index":3,"Text":"c"}\n\n'
    result = SUCCEEDED.replace("Hello", "a🦀c")
    api = MockApi(stream(f"{first}{again}id: 3\nevent: result\ndata: {result}\n\n"))
    collected = await collect(api.client().session().stream("Hi"))
    assert (collected.text, collected.types) == ("a🦀c", ["reset", "delta", "result"])


@runs
async def test_response_with_leading_whitespace_is_parsed() -> None:
    api = MockApi(httpx.Response(200, text=f"  \n {SUCCEEDED}", headers={"content-type": "application/json"}))
    assert (await collect(api.client().session().stream("Hi"))).text == "Hello"
    text = " " + failed(200, {"ErrorCode": "ModelTimedOut"}).text
    with pytest.raises(AptixError) as caught:
        await MockApi(httpx.Response(200, text=text)).client().session().run("Hi")
    assert (caught.value.code, caught.value.status) == ("ModelTimedOut", 504)


@runs
async def test_full_resume_store_does_not_fail_the_turn() -> None:
    class FullStore(dict[str, str]):
        def __setitem__(self, key: str, value: str) -> None:
            raise OSError("No space left on device")

    aptix = MockApi(stream(RESULT)).client(resume_store=FullStore())
    assert (await aptix.session().run("Hi")).text == "Hello"


@runs
async def test_closed_client_ends_its_turns() -> None:
    api = MockApi(*(httpx.ConnectError("refused") for _ in range(9)))
    async with api.client(retry=RetryOptions(initial_backoff=5)) as aptix:
        turn = aptix.session().stream("Hi")
        await wait_for(turn, "retry")
    with pytest.raises(AptixError) as caught:
        await turn.final()
    assert caught.value.code == "Closed"
    assert api.requests


@runs
async def test_failed_token_function_is_called_again() -> None:
    calls = 0

    def token() -> str:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise RuntimeError("signed out")
        return "t"

    aptix = MockApi(stream(RESULT)).client(token=token)
    with pytest.raises(RuntimeError, match="signed out"):
        await aptix.session().run("Hi")
    assert (await aptix.session().run("Hi")).text == "Hello"


@runs
async def test_events_have_one_reader_at_a_time_which_can_stop_and_continue() -> None:
    api = MockApi(
        stream(f'event: status\nid: 1\ndata: {{"Phase":"thinking","Attempt":1}}\n\n{RESULT.replace("1", "2")}')
    )
    turn = api.client().session().stream("Hi")
    waiting = asyncio.create_task(turn.__anext__())
    await asyncio.sleep(0)
    with pytest.raises(TypeError, match="one loop"):
        await turn.__anext__()
    assert (await waiting).type == "status"
    assert (await collect(turn)).types == ["delta", "result"]


def test_client_needs_a_token_and_a_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("APTIX_TOKEN", raising=False)
    with pytest.raises(ValueError, match="APTIX_TOKEN"):
        AsyncAptix()
    with pytest.raises(ValueError, match="base_url"):
        AsyncAptix("127.0.0.1:9000", "t")


@runs
async def test_token_is_sent_only_to_the_api() -> None:
    aptix = MockApi().client()
    for link in ("https://elsewhere.example/x", "//elsewhere.example/x"):
        with pytest.raises(ValueError, match="origin"):
            await aptix.open(link)


def test_synchronous_client_in_its_own_loop_is_refused() -> None:
    portal = Portal.shared()

    async def nested() -> None:
        portal.call(lambda: None)

    with pytest.raises(RuntimeError, match="AsyncAptix"):
        portal.run(nested())
