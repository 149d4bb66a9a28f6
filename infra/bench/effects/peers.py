#!/usr/bin/env python3
"""Runs the refunds of `aptix crash-test` on other systems, as their own guides write an agent with one tool.

    infra/bench/effects/peers.py [--turns COUNT] [--only langgraph|agents-sdk|lambda-loop]

A process of the system is killed (SIGKILL) at random moments and started again, and the client sends a request again until
it is answered. A tool server counts what is performed. The model is a local stand-in that calls the tool once and then
says "Done.". Prints a row per system. Requires the packages that `scripts/bench effects` installs.
"""

import argparse
import concurrent.futures
import http.client
import http.server
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
CLIENTS = 8
GIVE_UP_SECONDS = 300


class Quiet(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def body(self):
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def send(self, value):
        data = json.dumps(value).encode()
        try:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            pass  # The caller was killed.


class Shop(Quiet):
    """Refunds an order, counts it, and answers a little later, so that kills come in between."""

    performed, lock = {}, threading.Lock()

    def do_POST(self):
        order = self.body()["order"]
        with self.lock:
            self.performed[order] = self.performed.get(order, 0) + 1
        time.sleep(random.random() / 2)
        self.send({"refunded": order})


class Model(Quiet):
    """A chat completions API. It calls the tool if the newest message is the user's, and ends the turn otherwise."""

    def do_POST(self):
        last = self.body()["messages"][-1]
        time.sleep(0.1)
        message = {"role": "assistant", "content": "Done."}
        if last["role"] == "user":
            text = last["content"] if isinstance(last["content"], str) else json.dumps(last["content"])
            order = re.search(r"order (\S+)", text).group(1)
            function = {"name": "refund", "arguments": json.dumps({"order": order})}
            call = {"id": f"call_{uuid.uuid4().hex[:12]}", "type": "function", "function": function}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        self.send({"id": uuid.uuid4().hex, "object": "chat.completion", "created": int(time.time()), "model": "m",
                   "choices": [choice], "usage": usage})


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        pass  # A caller was killed.


def serve(handler):
    server = Server(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def free_port():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


def post(url, body, method="POST"):
    data = json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


class System:
    """A system in a process of its own."""

    def __init__(self, name, environment):
        self.name, self.folder = name, tempfile.mkdtemp(prefix=f"{name}-")
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = {**os.environ, **environment, "FOLDER": self.folder, "PORT": str(self.port),
                            "OPENAI_API_KEY": "none", "LANGSMITH_TRACING": "false", "OPENAI_AGENTS_DISABLE_TRACING": "1"}
        self.process = None

    def command(self):
        return [sys.executable, os.path.join(HERE, f"{self.name.replace('-', '_')}.py")]

    def start(self):
        log = open(os.path.join(self.folder, "log"), "ab")
        self.process = subprocess.Popen(self.command(), env=self.environment, cwd=self.folder, stdout=log, stderr=log,
                                        start_new_session=True)
        self.wait()

    def wait(self):
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError(f"{self.name} doesn't start: see {self.folder}/log")

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def refund(self, conversation, order):
        """Sends the same request until it is answered."""
        post(f"{self.url}/refund", {"session": conversation, "text": f"Refund order {order} once"})


class LangGraph(System):
    def command(self):
        return [os.path.join(os.path.dirname(sys.executable), "langgraph"), "dev", "--no-browser", "--no-reload",
                "--port", str(self.port), "--config", os.path.join(self.folder, "langgraph.json")]

    def __init__(self, environment):
        super().__init__("langgraph", environment)
        with open(os.path.join(self.folder, "langgraph.json"), "w") as file:
            json.dump({"dependencies": ["."], "graphs": {"agent": os.path.join(self.folder, "langgraph_agent.py:agent")}}, file)
        with open(os.path.join(HERE, "langgraph_agent.py")) as source:
            with open(os.path.join(self.folder, "langgraph_agent.py"), "w") as file:
                file.write(source.read())

    def refund(self, conversation, order):
        post(f"{self.url}/threads", {"thread_id": conversation, "if_exists": "do_nothing"})
        # The guide continues a thread that was interrupted with no input.
        with urllib.request.urlopen(f"{self.url}/threads/{conversation}/state", timeout=60) as response:
            state = json.load(response)
        messages = (state.get("values") or {}).get("messages") or []
        if messages and not state.get("next"):
            return
        text = {"messages": [{"role": "user", "content": f"Refund order {order} once"}]}
        run = {"assistant_id": "agent", "input": None if state.get("next") else text, "durability": "sync"}
        post(f"{self.url}/threads/{conversation}/runs/wait", run)


def run(system, turns):
    Shop.performed.clear()
    system.start()
    is_over, kills = threading.Event(), 0

    def one(number):
        conversation, order = str(uuid.uuid4()), f"o{number}"
        give_up = time.monotonic() + GIVE_UP_SECONDS
        while time.monotonic() < give_up:
            try:
                system.refund(conversation, order)
                return True
            except (OSError, urllib.error.URLError, json.JSONDecodeError, http.client.HTTPException):
                time.sleep(0.3)
        return False

    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        work = [pool.submit(one, number) for number in range(turns)]

        def killer():
            nonlocal kills
            while not is_over.is_set():
                # After a call at the earliest, so that a slow machine gets some work done.
                before, deadline = sum(list(Shop.performed.values())), time.monotonic() + 15
                while sum(list(Shop.performed.values())) == before and time.monotonic() < deadline:
                    if is_over.wait(0.05):
                        return
                time.sleep(0.7 * random.random())
                system.kill()
                kills += 1
                system.start()
                is_over.wait(3 * random.random())

        killing = threading.Thread(target=killer)
        killing.start()
        answered = sum(future.result() for future in work)
        is_over.set()
        killing.join()
    system.kill()
    counts = Shop.performed.values()
    return {"turns": turns, "answered": answered, "kills": kills, "performed": sum(counts),
            "duplicated": sum(count - 1 for count in counts)}


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--turns", type=int, default=200)
    arguments.add_argument("--only", choices=["langgraph", "agents-sdk", "lambda-loop"])
    options = arguments.parse_args()
    environment = {"SHOP_URL": serve(Shop), "OPENAI_BASE_URL": serve(Model) + "/v1"}
    systems = {
        "langgraph": lambda: LangGraph(environment),
        "agents-sdk": lambda: System("agents-sdk", environment),
        "lambda-loop": lambda: System("lambda-loop", environment),
    }
    for name, make in systems.items():
        if options.only in (None, name):
            row = run(make(), options.turns)
            print(f"{name:<12}", ", ".join(f"{key} {value}" for key, value in row.items()), flush=True)


main()
