"""Calls that wait for an approval, over both clients."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from aptix import AptixError, RetryOptions
from aptix.testing import LocalCloud, script
from support import needs_cloud, runs

pytestmark = needs_cloud


class Shop(ThreadingHTTPServer):
    """A shop that keeps the orders that it refunds."""

    daemon_threads = True

    def __init__(self) -> None:
        self.performed: list[str] = []
        super().__init__(("127.0.0.1", 0), Refund)


class Refund(BaseHTTPRequestHandler):
    server: Shop

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.performed.append(json.loads(body)["order"])
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(b'{"status":"refunded"}')

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def shop(cloud: LocalCloud) -> Iterator[Shop]:
    with Shop() as shop:
        threading.Thread(target=shop.serve_forever, daemon=True).start()
        refund = {
            "Name": "refund",
            "Description": "Refunds an order.",
            "Method": "POST",
            "Path": "/refunds",
            "Parameters": {"type": "object", "required": ["order"], "properties": {"order": {"type": "string"}}},
            "Approval": {"Policy": "always"},
        }
        url = f"http://127.0.0.1:{shop.server_port}"
        headers = {"authorization": f"Bearer {cloud.token('olga', operator=True)}"}
        with httpx.Client(base_url=f"{cloud.url}/api/ai/agent/", headers=headers, trust_env=False) as operator:
            connection = {"Name": "Shop", "Protocol": "http", "Url": url, "Tools": [refund]}
            for path, document in [
                ("connections/shop", connection),
                ("agents/clerk", {"Name": "Clerk", "Tools": ["shop"]}),
            ]:
                operator.put(path, json=document).raise_for_status()
        yield shop
        shop.shutdown()


ONCE = RetryOptions(max_retries=0)


def answer_of(cloud: LocalCloud, session_id: str, turn_id: str) -> str:
    """Waits until a turn has ended, which nobody asks for, and returns its answer."""
    with cloud.client() as later:
        session = later.session(session_id)
        while session.turn(turn_id).status.id == "pending":
            time.sleep(0.05)
        return session.resume(turn_id=turn_id).final().text


def test_error_of_a_waiting_turn_names_its_approval(cloud: LocalCloud, shop: Shop) -> None:
    with cloud.client(retry=ONCE) as aptix:
        session = aptix.session(agent="clerk")
        turn = session.stream(script().call("shop__refund", {"order": "1"}).after_tools().say("Done."))
        with pytest.raises(AptixError) as caught:
            turn.final()
        assert caught.value.code == "TurnInProgress"
        approval = aptix.approvals.get(caught.value.details or "")
        assert (approval.status, approval.arguments_json) == ("pending", '{"order":"1"}')
        assert [listed.approval_id for listed in aptix.approvals.list()] == [approval.approval_id]
        with pytest.raises(AptixError, match="doesn't allow other arguments"):
            aptix.approvals.approve(approval, arguments_json='{"order":"3"}')
        assert aptix.approvals.approve(approval).status == "approved"
        assert answer_of(cloud, session.id, turn.id) == "Done."
        assert shop.performed == ["1"]


@runs
async def test_denial_has_its_reason(cloud: LocalCloud, shop: Shop) -> None:
    before = list(shop.performed)
    async with cloud.async_client(retry=ONCE) as aptix:
        session = aptix.session(agent="clerk")
        turn = session.stream(script().call("shop__refund", {"order": "2"}).after_tools().say("Done."))
        with pytest.raises(AptixError):
            await turn.final()
        [approval] = [listed async for listed in aptix.approvals.list()]
        denied = await aptix.approvals.deny(approval, reason="Not today.")
        assert (denied.status, denied.reason) == ("denied", "Not today.")
        assert await asyncio.to_thread(answer_of, cloud, session.id, turn.id) == "Done."
        assert shop.performed == before
