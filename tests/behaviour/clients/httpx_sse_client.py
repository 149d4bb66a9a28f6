"""Reads a stream with `httpx-sse`, unmodified. The request is JSON on standard input; every event is a line of
JSON on standard output. A stream that ends without a result is taken up where it broke off."""

import json
import sys
import time

import httpx
from httpx_sse import connect_sse

asked = json.load(sys.stdin)
headers, pause, is_over = dict(asked["headers"]), 1.0, False
with httpx.Client(timeout=60, trust_env=False) as client:
    while not is_over:
        try:
            with connect_sse(
                client, asked["method"], asked["url"], headers=headers, content=asked.get("body")
            ) as source:
                for event in source.iter_sse():
                    print(json.dumps({"id": event.id, "event": event.event, "data": event.data}), flush=True)
                    headers["Last-Event-ID"] = event.id
                    pause = pause if event.retry is None else event.retry / 1000
                    is_over = event.event == "result"
        except (httpx.TransportError, httpx.HTTPError):
            pass
        if not is_over:
            time.sleep(pause)
