"""Runs seeded turns with the package `openai`, unmodified, over connections that are cut. Each shows the stored answer, and no
retry calls the model again: the numbers of model calls are added up in the file `OPENAI_MODEL_CALLS`. `OPENAI_SEEDS` is
the number of turns. With `OPENAI_KILLS`, processes of the functions are killed meanwhile. Uses the proxy of the Python SDK's
tests."""

import asyncio
import math
import os
import pathlib
import sys
import uuid
from urllib.parse import urlsplit

import httpx
import openai

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "clients/python/tests"))
from proxy import proxy, seeded  # noqa: E402

BASE, KEY = os.environ["OPENAI_BASE"], os.environ["OPENAI_KEY"]
RUN = uuid.uuid4().hex
SEEDS = int(os.environ.get("OPENAI_SEEDS", "40"))
WEATHER = {
    "type": "function", "name": "get_weather", "description": "Returns the weather of a city.", "strict": True,
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
                   "additionalProperties": False},
}
answered = 0
BROKEN = (openai.APIConnectionError, httpx.TransportError)
KILLED = (openai.APIError,) if os.environ.get("OPENAI_KILLS") else ()


async def streamed(client, key, request):
    """Reads a response as events to its end, over as many connections as that takes. Returns it, and its text as the deltas
    had it. An attempt that was killed leaves a message of its own behind."""
    identity, number, texts = None, -1, {}
    for _ in range(60):
        try:
            if identity is None:
                events = await client.responses.create(**request, stream=True, extra_headers={"Idempotency-Key": key})
            else:
                events = await client.responses.retrieve(identity, stream=True, starting_after=number)
            async for event in events:
                number = event.sequence_number
                if event.type == "response.created":
                    identity = event.response.id
                if event.type == "response.output_text.delta":
                    texts[event.item_id] = texts.get(event.item_id, "") + event.delta
                if event.type in ("response.completed", "response.incomplete", "response.failed"):
                    messages = [item.id for item in event.response.output if item.type == "message"]
                    return event.response, "".join(texts.get(message, "") for message in messages)
        except BROKEN:
            pass
        except KILLED:
            await asyncio.sleep(0.2)
    raise AssertionError("the stream didn't end")


async def run(seed):
    """Runs one turn. Returns the numbers of cuts and of model calls."""
    random = seeded(seed)
    cuts_left = 1 + math.floor(random() * 4)

    def cut():
        nonlocal cuts_left
        cuts_left -= 1
        return math.floor(random() * 4000) if cuts_left >= 0 else None

    calls = random() < 0.4
    call = 'say "Looking. "; call get_weather {"city":"Bern"}; then; ' if calls else ""
    pace = "pace 2ms; " if random() < 0.5 else ""
    words = 1 + math.floor(random() * 60)
    script = f'[[script: {call}{pace}chunk {1 + math.floor(random() * 9)}; say "Ünï 🦀 "; words {words}]]'
    expected = "Ünï 🦀 " + " ".join(f"word{n}" for n in range(1, words + 1))
    address = urlsplit(BASE)
    async with proxy(f"{address.scheme}://{address.netloc}", cut) as flaky:
        async with openai.AsyncOpenAI(base_url=flaky.url + address.path, api_key=KEY, max_retries=8) as client:
            request = {"model": "scripted", "input": script, "tools": [WEATHER]}
            streams = random() < 0.6
            for number in range(2):
                if streams:
                    response, text = await streamed(client, f"{RUN}-{seed}-{number}", request)
                else:
                    response = await client.responses.create(**request)
                    text = response.output_text
                called = [item for item in response.output if item.type == "function_call"]
                if not called:
                    break
                outputs = [{"type": "function_call_output", "call_id": called[0].call_id, "output": "sunny"}]
                request = {"model": "scripted", "input": outputs, "previous_response_id": response.id}
    async with openai.AsyncOpenAI(base_url=BASE, api_key=KEY) as client:
        stored = await client.responses.retrieve(response.id)
    # A turn whose attempts were all killed has no answer, and every reader is told so.
    if KILLED and stored.status == "failed":
        assert response.status == "failed", (response, stored)
        return flaky.cuts, 1 + calls
    assert text == stored.output_text == expected, (text, stored.output_text, expected)
    global answered
    answered += 1
    return flaky.cuts, 1 + calls


async def main():
    seeds, cuts, model_calls = list(range(SEEDS)), 0, 0

    async def work():
        nonlocal cuts, model_calls
        while seeds:
            seed = seeds.pop(0)
            try:
                cut, called = await run(seed)
            except Exception as error:
                raise AssertionError(f"seed {seed}: {error!r}") from error
            cuts, model_calls = cuts + cut, model_calls + called

    await asyncio.gather(*(work() for _ in range(4)))
    assert cuts > SEEDS / 3, f"connections were cut: {cuts}"
    assert answered > SEEDS / 2, f"turns were answered: {answered}"
    pathlib.Path(os.environ["OPENAI_MODEL_CALLS"]).write_text(str(model_calls))
    print(f"openai-seeds {SEEDS} turns, {cuts} cuts", flush=True)


asyncio.run(main())
