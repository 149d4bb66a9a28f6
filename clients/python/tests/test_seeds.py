"""Guarantees of the SDK over randomly cut connections, with the seeds of the JavaScript tests."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Callable

from aptix import Answer, Aptix, AptixError, AsyncTurn, RetryOptions, Tool, ToolContext, tool
from aptix.testing import LocalCloud
from proxy import proxy, seeded
from support import RETRY, Collected, collect, collect_sync, kill, needs_cloud, needs_proc, runs, wait_for

#: `APTIX_SEEDS=200` runs more, as it does in the JavaScript tests.
SEEDS = int(os.environ.get("APTIX_SEEDS", "60"))
AT_ONCE = 8


def script(random: Callable[[], float]) -> tuple[str, int, int]:
    """Returns a random turn script (tool rounds, text and pace), and its numbers of calls and model calls."""

    def up_to(most: int) -> int:
        return math.floor(random() * (most + 1))

    rounds, calls = "", 0
    count = math.floor(random() * random() * 3)
    for _ in range(count):
        number = 1 + up_to(2)
        texts = [f'call workspace_read_file {{"path":"{n}-{up_to(999)}"}}' for n in range(number)]
        rounds += f'say "Looking für 🦀. "; {"; ".join(texts)}; then; '
        calls += number
    pace = "pace 2ms; " if random() < 0.5 else ""
    answer = f'{pace}chunk {1 + up_to(9)}; say "Ünï 🦀 "; words {up_to(40)}'
    return f"[[script: {rounds}{answer}]]", calls, count + 1


def reader(ran: list[str]) -> Tool:
    @tool
    def workspace_read_file(path: str, context: ToolContext) -> dict[str, str]:
        ran.append(context.call.id)
        return {"path": path}

    return workspace_read_file


def check(collected: Collected, answer: Answer, stored: str, ran: list[str], calls: int) -> None:
    assert collected.text == answer.text == stored
    corrected = [event for event in collected.events if event.type == "reset" and event.reason == "corrected"]
    assert not corrected, "the stream itself was complete"
    assert len(set(ran)) == len(ran) == calls, "each call is run once"
    assert [event.call.id for event in collected.events if event.type == "tool-result"] == ran


async def run_seed(cloud: LocalCloud, seed: int) -> tuple[int, int]:
    """Runs one turn. Every fourth one uses the synchronous client."""
    random = seeded(seed)
    cuts_left = 1 + math.floor(random() * 4)

    def cut() -> int | None:
        nonlocal cuts_left
        cuts_left -= 1
        return math.floor(random() * 2500) if cuts_left >= 0 else None

    ran: list[str] = []
    async with proxy(cloud.url, cut) as flaky:
        text, calls, model_calls = script(random)
        if seed % 4 == 0:
            collected, answer, stored = await asyncio.to_thread(run_sync, cloud, flaky.url, text, ran)
        else:
            async with cloud.async_client(base_url=flaky.url, retry=RETRY) as aptix:
                session = aptix.session(agent="workspace")
                turn = session.stream(text, tools=[reader(ran)])
                collected, answer = await collect(turn), await turn.final()
                stored = (await session.payload(turn.id, "answer")).text
        check(collected, answer, stored, ran, calls)
    return flaky.cuts, model_calls


def run_sync(cloud: LocalCloud, url: str, text: str, ran: list[str]) -> tuple[Collected, Answer, str]:
    with Aptix(url, cloud.token(), retry=RETRY) as aptix:
        session = aptix.session(agent="workspace")
        turn = session.stream(text, tools=[reader(ran)])
        return collect_sync(turn), turn.final(), session.payload(turn.id, "answer").text


@needs_cloud
@runs
async def test_turns_over_cut_connections_show_stored_answer_and_run_calls_once() -> None:
    with LocalCloud("--concurrency", "32") as cloud:
        seeds = list(range(SEEDS))
        outcomes: list[tuple[int, int]] = []

        async def work() -> None:
            while seeds:
                seed = seeds.pop(0)
                try:
                    outcomes.append(await run_seed(cloud, seed))
                except Exception as error:
                    raise AssertionError(f"seed {seed}: {error!r}") from error

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
        cuts, model_calls = (sum(numbers) for numbers in zip(*outcomes, strict=True))
        assert cloud.model.count() == model_calls, "retries do not call the model again"
        assert cuts > SEEDS / 2, "connections were cut"


@needs_cloud
@needs_proc
@runs
async def test_turns_over_killed_functions_show_stored_answer_and_run_calls_once() -> None:
    # Takeovers wait for the lease. A shorter one is lost on a busy machine.
    retry = RetryOptions(initial_backoff=0.2, max_retries=200)
    with LocalCloud("--concurrency", "32", "--lease-seconds", "4") as cloud:
        completed, retries = 0, 0
        running: list[AsyncTurn] = []

        async def finish(turn: AsyncTurn) -> Collected | None:
            """Reads a turn to its end. A turn is taken over twice at most, and a slow machine loses leases too."""
            try:
                return await collect(turn)
            except AptixError as error:
                if error.code != "TurnAbandoned":
                    raise
                return None

        async def run(seed: int) -> None:
            nonlocal completed, retries
            text, calls, _ = script(seeded(seed))
            text = text.replace("[[script: ", "[[script: pace 20ms; ").replace("pace 2ms", "pace 20ms")
            ran: list[str] = []
            async with cloud.async_client(retry=retry) as aptix:
                session = aptix.session(agent="workspace")
                turn = session.stream(text, tools=[reader(ran)])
                running.append(turn)
                collected = await finish(turn)
                if collected is None:
                    assert len(set(ran)) == len(ran)
                    return
                stored = (await session.payload(turn.id, "answer")).text
                check(collected, await turn.final(), stored, ran, calls)
                completed += 1
                retries += collected.types.count("retry")

        async def resume() -> None:
            """Closes a turn before the kill, and resumes it after that."""
            store: dict[str, str] = {}
            async with cloud.async_client(resume_store=store, retry=retry) as aptix:
                session = aptix.session()
                async with session.stream("[[script: pace 20ms; words 100]]") as turn:
                    await wait_for(turn, "delta")
                await is_killed.wait()
                collected = await finish(aptix.session(session.id).resume())
                words = " ".join(f"word{number}" for number in range(1, 101))
                assert collected is None or collected.text == words

        is_killed = asyncio.Event()
        turns = [asyncio.create_task(run(seed)) for seed in range(8)]
        resumed = asyncio.create_task(resume())
        while sum(turn.text != "" for turn in running) < len(turns) / 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        killed = kill(cloud) + kill(cloud, "tool-continuation")
        is_killed.set()
        await asyncio.gather(resumed, *turns)
        assert killed > 0
        assert retries > 0
        assert completed > 0


def test_seeds_draw_the_numbers_of_the_javascript_tests() -> None:
    random = seeded(199)
    assert [random() for _ in range(3)] == [0.9210292513016611, 0.5142324883490801, 0.6138947419822216]
