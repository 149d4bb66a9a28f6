"""Reads a stream with `sseclient-py`, unmodified. The request is JSON on standard input; every event is a line
of JSON on standard output. A stream that ends without a result is taken up where it broke off."""

import json
import sys
import time

import httpx
from sseclient import SSEClient

asked = json.load(sys.stdin)
headers, is_over = dict(asked["headers"]), False
with httpx.Client(timeout=60, trust_env=False) as client:
    while not is_over:
        try:
            with client.stream(
                asked["method"], asked["url"], headers=headers, content=asked.get("body")
            ) as response:
                for event in SSEClient(response.iter_bytes()).events():
                    print(json.dumps({"id": event.id, "event": event.event, "data": event.data}), flush=True)
                    headers["Last-Event-ID"] = event.id
                    is_over = event.event == "result"
        except httpx.TransportError:
            pass
        if not is_over:
            time.sleep(1)
