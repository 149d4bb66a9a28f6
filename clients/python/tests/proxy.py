"""A TCP proxy that cuts connections after seeded numbers of bytes."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit


def seeded(seed: int) -> Callable[[], float]:
    """Returns a seeded random number generator (mulberry32), with the numbers that the JavaScript tests draw."""
    mask = 0xFFFFFFFF

    def random() -> float:
        nonlocal seed
        seed = (seed + 0x6D2B79F5) & mask
        mixed = ((seed ^ (seed >> 15)) * (1 | seed)) & mask
        mixed = ((mixed + ((mixed ^ (mixed >> 7)) * (61 | mixed))) & mask) ^ mixed
        return (mixed ^ (mixed >> 14)) / 2**32

    return random


@dataclass
class Proxy:
    url: str
    cuts: int = 0
    writers: set[asyncio.StreamWriter] = field(default_factory=set)


@contextlib.asynccontextmanager
async def proxy(target: str, cut: Callable[[], int | None]) -> AsyncIterator[Proxy]:
    """Forwards to a URL. `cut` returns the bytes, in both directions, after which the next connection breaks."""
    address = urlsplit(target)

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        limit = cut()
        remaining = float("inf") if limit is None else limit
        try:
            upstream_reader, upstream = await asyncio.open_connection(address.hostname, address.port)
        except OSError:
            writer.close()
            return
        pair = [writer, upstream]
        running.writers.update(pair)

        async def forward(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            nonlocal remaining
            with contextlib.suppress(OSError):
                while data := await source.read(65536):
                    is_cut = len(data) >= remaining
                    sink.write(data[: int(remaining)] if is_cut else data)
                    remaining -= len(data)
                    if is_cut:
                        running.cuts += 1
                        # Let the written bytes arrive before the connection breaks.
                        await asyncio.sleep(0.001)
                        for each in pair:
                            reset(each)
                        return
            for each in pair:
                each.close()

        await asyncio.gather(forward(reader, upstream), forward(upstream_reader, writer))
        running.writers.difference_update(pair)

    server = await asyncio.start_server(connect, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    running = Proxy(f"http://127.0.0.1:{port}")
    try:
        yield running
    finally:
        server.close()
        for writer in list(running.writers):
            writer.close()


def reset(writer: asyncio.StreamWriter) -> None:
    """Ends a connection with a reset."""
    with contextlib.suppress(OSError):
        raw = writer.get_extra_info("socket")
        if raw is not None:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
