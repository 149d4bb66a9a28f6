"""Guarantees of the SDK, one at a time, against a local cloud."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from aptix import AptixError, AsyncAptix, Call, File, Image, RetryOptions, ToolOutput, tool
from aptix.testing import LocalCloud, script
from support import RETRY, collect, needs_cloud, runs, wait_for

pytestmark = needs_cloud

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class Offline(httpx.AsyncBaseTransport):
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("offline")


@runs
async def test_ids_are_known_before_anything_is_sent() -> None:
    aptix = AsyncAptix(token="t", transport=Offline(), retry=RetryOptions(max_retries=0))
    session = aptix.session()
    turn = session.stream("Hello")
    assert len(session.id) == len(turn.id) == 32
    assert turn.session_id == session.id
    with pytest.raises(AptixError):
        await turn.final()


@runs
async def test_files_and_images_reach_the_model(cloud: LocalCloud, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("dropped here")
    (tmp_path / "dot.png").write_bytes(PIXEL)
    async with cloud.async_client() as aptix:
        answer = await aptix.session().run(
            "Look.",
            files=[
                File("src/total.rs", "fn total() {}", language="rust"),
                File("data.bin", bytes([0, 255, 1])),
                tmp_path / "notes.txt",
            ],
            images=[Image(PIXEL, "image/png"), tmp_path / "dot.png"],
        )
    assert "mock model" in answer.text
    assert answer.response.kind == "final"
    assert answer.usage is not None
    assert answer.usage.total_tokens > 0
    request = json.dumps(cloud.model.requests()[-1]["body"])
    for part in ("fn total() {}", "dropped here", "notes.txt", "data.bin", "input_image", "iVBORw0KGgo"):
        assert part in request, part


@runs
async def test_same_id_with_same_input_is_same_turn_and_other_input_is_refused(cloud: LocalCloud) -> None:
    async with cloud.async_client() as aptix:
        session = aptix.session()
        first, again = session.stream("Hello", turn_id="t1"), session.stream("Hello", turn_id="t1")
        assert (await first.final()).response == (await again.final()).response
        with pytest.raises(AptixError) as caught:
            await session.run("Bye", turn_id="t1")
        assert caught.value.code == "TurnIdConflict"
        assert (await session.read()).turn_count == 1


@runs
async def test_turn_waits_for_running_turn(cloud: LocalCloud) -> None:
    async with cloud.async_client(retry=RetryOptions(initial_backoff=0.05, max_retries=50)) as aptix:
        session = aptix.session()
        slow = session.stream(script().pace(0.02).words(30))
        await wait_for(slow, "delta")
        following = await collect(session.stream(script().say("Me too.")))
        assert following.text == "Me too."
        assert any(event.type == "retry" and event.error.code == "SessionBusy" for event in following.events)
        assert (await slow.final()).response.kind == "final"


@runs
async def test_busy_session_without_retries_is_reported_as_retryable(cloud: LocalCloud) -> None:
    async with cloud.async_client(retry=RetryOptions(max_retries=0)) as aptix:
        session = aptix.session()
        slow = session.stream(script().pace(0.02).words(30))
        await wait_for(slow, "delta")
        with pytest.raises(AptixError) as caught:
            await session.run("Hello")
        error = caught.value
        assert (error.code, error.status, error.retry) == ("SessionBusy", 409, "same_request")
        assert (error.retry_after or 0) >= 1
        await slow.stop()


@runs
async def test_model_failure_is_reported_with_its_code(cloud: LocalCloud) -> None:
    async with cloud.async_client() as aptix:
        session = aptix.session()
        turn = session.stream(script().status(400, code="content_filter"))
        with pytest.raises(AptixError) as caught:
            await turn.final()
        assert caught.value.code.startswith("Model")
        with pytest.raises(AptixError):
            await collect(turn)
        for refused, code in ((session.run(""), "InputRequired"), (session.turn("nobody"), "TurnNotFound")):
            with pytest.raises(AptixError) as caught:
                await refused
            assert caught.value.code == code


@runs
async def test_turn_without_tools_returns_calls_and_continues_with_results(cloud: LocalCloud) -> None:
    async with cloud.async_client() as aptix:
        session = aptix.session(agent="workspace")
        instruction = script().say("First: ").call("workspace_read_file", {"path": "a"}).after_tools().say("Done.")
        turn = session.stream(instruction)
        answer = await turn.final()
        assert answer.text == "First: "
        assert [(call.name, call.args) for call in answer.calls] == [("workspace_read_file", {"path": "a"})]
        with pytest.raises(AptixError) as caught:
            await session.submit_tool_results(turn.id, [ToolOutput("other", 1)]).final()
        assert caught.value.code == "ToolResultsMismatch"
        results = [ToolOutput(call.id, "A") for call in answer.calls]
        assert (await collect(session.submit_tool_results(turn.id, results))).text == "Done."
        again = await session.submit_tool_results(turn.id, results).final()
        assert again.text == "Done.", "submitting again changes nothing"


@runs
async def test_calls_run_once_in_order_and_their_results_reach_the_model(cloud: LocalCloud) -> None:
    ran: list[str] = []

    @tool
    async def workspace_read_file(path: str) -> Any:
        ran.append(path)
        if path == "bad":
            raise FileNotFoundError("no such file: bad")
        if path == "huge":
            return "x" * 2**21
        await asyncio.sleep(0.02)
        return {"path": path}

    @tool
    def workspace_write_patch(path: str, patch: str) -> None:
        ran.append("patched")

    def approve(call: Call) -> bool | str:
        return call.name != "workspace_write_patch" or "Not today."

    instruction = script().call("workspace_read_file", {"path": "slow"})
    instruction.call("workspace_write_patch", {"path": "x", "patch": "y"})
    for path in ("bad", "huge"):
        instruction.call("workspace_read_file", {"path": path})
    async with cloud.async_client() as aptix:
        session = aptix.session(agent="workspace", tools=[workspace_read_file, workspace_write_patch], approve=approve)
        turn = session.stream(instruction.after_tools().echo())
        collected = await collect(turn)
        text = (await turn.final()).text
    assert ran == ["slow", "bad", "huge"]
    ends = [event for event in collected.events if event.type == "tool-result"]
    assert [(end.call.args["path"], end.output, end.error, end.refused) for end in ends] == [
        ("slow", {"path": "slow"}, None, False),
        ("x", None, "Not today.", True),
        ("bad", None, "no such file: bad", False),
        ("huge", None, "The tool's result is larger than 1048576 characters of JSON.", False),
    ]
    for part in ("slow", "Not today.", "no such file: bad"):
        assert part in text


@runs
async def test_oversized_results_are_omitted_and_reported_to_the_model(cloud: LocalCloud) -> None:
    @tool
    def workspace_read_file(path: str) -> str:
        return '"' * 400_000 if path == "2" else "x" * 1_000_000

    instruction = script()
    for number in range(5):
        instruction.call("workspace_read_file", {"path": str(number)})
    async with cloud.async_client() as aptix:
        session = aptix.session(agent="workspace")
        answer = await session.run(instruction.after_tools().say("Done."), tools=[workspace_read_file])
    assert answer.text == "Done."
    outputs = [
        item["output"]
        for item in cloud.model.requests()[-1]["body"]["input"]
        if item.get("type") == "function_call_output"
    ]
    assert ["This result was omitted" in output for output in outputs] == [False, False, True, False, False]


@runs
async def test_timed_out_tool_call_does_not_block_the_turn(cloud: LocalCloud) -> None:
    @tool
    async def workspace_read_file(path: str) -> None:
        await asyncio.Event().wait()

    async with cloud.async_client() as aptix:
        session = aptix.session(agent="workspace")
        instruction = script().call("workspace_read_file", {"path": "a"}).after_tools().echo()
        collected = await collect(session.stream(instruction, tools=[workspace_read_file], tool_timeout=0.02))
    assert any(event.type == "tool-result" and "timeout" in (event.error or "") for event in collected.events)


@runs
async def test_stop_ends_turn_and_keeps_partial_text(cloud: LocalCloud) -> None:
    async with cloud.async_client(retry=RETRY) as aptix:
        session = aptix.session()
        turn = session.stream(script().pace(0.02).words(500))
        await wait_for(turn, "delta")
        stopped = asyncio.create_task(turn.stop())
        await asyncio.sleep(0)
        following = session.stream(script().say("Next."))
        summary = await stopped
        assert summary is not None
        assert summary.status.id == "failed"
        last = (await collect_rest(turn))[-1]
        assert last.type == "stopped"
        assert last.text.startswith("word1 ")
        with pytest.raises(AptixError) as caught:
            await turn.final()
        assert caught.value.code == "TurnCancelled"
        collected = await collect(following)
        assert collected.text == "Next."
        assert "retry" not in collected.types, "the next turn only waits for the stop"


async def collect_rest(turn: Any) -> list[Any]:
    return [event async for event in turn]


@runs
async def test_stop_during_tool_call_ends_both(cloud: LocalCloud) -> None:
    cancelled = asyncio.Event()

    @tool
    async def workspace_read_file(path: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async with cloud.async_client() as aptix:
        session = aptix.session(agent="workspace")
        instruction = script().call("workspace_read_file", {"path": "a"}).after_tools().say("no")
        turn = session.stream(instruction, tools=[workspace_read_file])
        await wait_for(turn, "tool-call")
        await turn.stop()
        assert [event.type for event in await collect_rest(turn)] == ["stopped"]
        with pytest.raises(AptixError) as caught:
            await turn.final()
        assert caught.value.code == "TurnCancelled"
        await asyncio.wait_for(cancelled.wait(), 5)


@runs
async def test_stop_before_start_leaves_no_turn(cloud: LocalCloud) -> None:
    async with cloud.async_client() as aptix:
        session = aptix.session()
        slow = session.stream(script().pace(0.02).words(500))
        await wait_for(slow, "delta")
        waiting = session.stream("Hello")
        await wait_for(waiting, "retry")
        assert await waiting.stop() is None
        with pytest.raises(AptixError) as caught:
            await waiting.final()
        assert caught.value.code == "TurnCancelled"
        await slow.stop()
        assert (await session.read()).turn_count == 1


@runs
async def test_stop_right_after_start_ends_turn(cloud: LocalCloud) -> None:
    async with cloud.async_client() as aptix:
        session = aptix.session()
        turn = session.stream(script().pace(0.02).words(500))
        await turn.stop()
        with pytest.raises(AptixError) as caught:
            await turn.final()
        assert caught.value.code == "TurnCancelled"
        # The stop can come before the request is sent. Then there is no session.
        with contextlib.suppress(AptixError):
            async for stored in session.turns():
                assert stored.status.id == "failed"


@runs
async def test_stop_after_end_changes_nothing(cloud: LocalCloud) -> None:
    async with cloud.async_client() as aptix:
        turn = aptix.session().stream(script().say("Done."))
        assert (await turn.final()).text == "Done."
        summary = await turn.stop()
        assert summary is not None
        assert summary.status.id == "completed"


@runs
async def test_closed_turn_stops_reading_and_can_be_resumed_by_id(cloud: LocalCloud) -> None:
    async with cloud.async_client() as aptix:
        session = aptix.session()
        async with session.stream(script().pace(0.01).words(60)) as turn:
            await wait_for(turn, "delta")
        for read in (turn.final(), collect(turn)):
            with pytest.raises(AptixError) as caught:
                await read
            assert caught.value.code == "Closed"
        collected = await collect(session.resume(turn.id))
        assert collected.text == " ".join(f"word{number}" for number in range(1, 61))
        with pytest.raises(ValueError, match="turn_id"):
            session.resume()


@runs
async def test_resumed_turn_continues_and_runs_no_call_twice(cloud: LocalCloud) -> None:
    store: dict[str, str] = {}
    ran: list[str] = []
    hangs = True

    @tool
    async def workspace_read_file(path: str) -> str:
        if hangs and path == "b":
            await asyncio.Event().wait()
        ran.append(path)
        return path

    calls = script().call("workspace_read_file", {"path": "a"}).call("workspace_read_file", {"path": "b"})
    async with cloud.async_client(resume_store=store) as aptix:
        session = aptix.session(agent="workspace")
        turn = session.stream(calls.after_tools().echo(), tools=[workspace_read_file])
        await wait_for(turn, "tool-result")
        await wait_for(turn, "tool-call")
        await turn.close()
    hangs = False
    async with cloud.async_client(resume_store=store) as aptix:
        session = aptix.session(session.id)
        assert session.open_turn_id == turn.id
        answer = await session.resume(tools=[workspace_read_file]).final()
        assert ran == ["a", "b"]
        assert 'Tool results received: "a", "b"' in answer.text
        assert session.open_turn_id is None
        assert store == {}


@runs
async def test_rejected_token_is_refreshed_once_for_concurrent_requests(cloud: LocalCloud) -> None:
    calls = 0

    async def token() -> str:
        nonlocal calls
        calls += 1
        return "stale" if calls == 1 else cloud.token()

    async with cloud.async_client(token=token) as aptix:
        turns = [aptix.session().run(script().say(str(number))) for number in (1, 2, 3)]
        assert [answer.text for answer in await asyncio.gather(*turns)] == ["1", "2", "3"]
    assert calls == 2


@runs
async def test_token_rejected_twice_is_an_error(cloud: LocalCloud) -> None:
    calls = 0

    def token() -> str:
        nonlocal calls
        calls += 1
        return f"stale{calls}"

    for stale, expected in ((token, 2), ("stale", 2)):
        with pytest.raises(AptixError) as caught:
            await cloud.async_client(token=stale).session().run("Hello")
        assert (caught.value.code, caught.value.status, calls) == ("Unauthenticated", 401, expected)
