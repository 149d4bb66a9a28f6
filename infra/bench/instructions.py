#!/usr/bin/env python3
"""Counts the instructions of each function's start, and of a turn in `execute`, buffered and streamed, with callgrind.

    scripts/bench instructions [--turns N] [--keep FOLDER] [PROGRAM...]

PROGRAM is a release build of `aptix`; by default, the script builds one. After it, PROGRAM can also be a folder with
the functions' own programs, such as target/lambda after `scripts/zips x86-64`. Counts cover user space only. Those of a
turn don't depend on the machine's load; those of a start vary with its background threads. valgrind emulates a CPU
without SHA-256 instructions. --keep saves the profiles for callgrind_annotate. To see names in them, build with
CARGO_PROFILE_RELEASE_STRIP=false CARGO_PROFILE_RELEASE_DEBUG=line-tables-only. Requires valgrind.
"""

import argparse
import contextlib
import http.server
import json
import os
import pathlib
import queue
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
FUNCTIONS = ["execute", "tool-continuation", "session-read", "turn-finalizer", "authorizer"]
# Settings with unreachable services, because a start calls none. AWS endpoints use TLS.
SETTINGS = {
    "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none",
    "FINALIZE_QUEUE_URL": "http://127.0.0.1:9/1/none", "WEBHOOK_QUEUE_URL": "http://127.0.0.1:9/1/none",
    "TURN_QUEUE_URL": "http://127.0.0.1:9/1/none",
    "PAGE_TOKEN_KEY": "none", "TOKEN_AUDIENCES": "none",
    "OIDC_ISSUER": "https://127.0.0.1:9", "TABLE_NAME": "none", "PAYLOAD_BUCKET": "none",
    "OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "none",
}
PATIENCE = 60


class Api(http.server.BaseHTTPRequestHandler):
    """Runtime API that serves queued events and collects the responses."""

    protocol_version = "HTTP/1.1"
    events, answers = queue.Queue(), queue.Queue()

    def log_message(self, *_):
        pass

    def do_GET(self):
        event = self.events.get().encode()
        self.send_response(200)
        for name, value in [
            ("Lambda-Runtime-Aws-Request-Id", uuid.uuid4().hex),
            ("Lambda-Runtime-Deadline-Ms", str(int(time.time() * 1000) + 800_000)),
            ("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:000000000000:function:execute"),
            ("Content-Length", str(len(event))),
        ]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(event)

    def do_POST(self):
        body = b""
        while length := int(self.rfile.readline(), 16):
            body += self.rfile.read(length)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        self.send_response(202)
        self.send_header("Content-Length", "0")
        self.end_headers()
        self.answers.put(body)


def is_own(program):
    """Returns true for a folder with a program per function, and false for a single `aptix` program."""
    return os.path.isdir(program)


def command(program, name):
    return [pathlib.Path(program, name, "bootstrap")] if is_own(program) else [program, "function", name]


@contextlib.contextmanager
def function(program, name, runtime_api, settings, profile):
    """Runs a function under callgrind."""
    environment = {"PATH": os.environ["PATH"], **settings, "AWS_LAMBDA_FUNCTION_NAME": name,
                   "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "256",
                   "AWS_LAMBDA_RUNTIME_API": runtime_api}
    counter = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
    with open(f"{profile}.log", "wb") as log:
        process = subprocess.Popen(counter + command(program, name), env=environment, stdin=subprocess.PIPE, stdout=log, stderr=log)
    try:
        yield process
    finally:
        # A function of `aptix` exits at the end of its input, a function's own program on SIGTERM.
        process.stdin.close()
        if is_own(program):
            process.terminate()
        process.wait(PATIENCE)


def counted(profile):
    return int(re.search(r"^summary: (\d+)", pathlib.Path(profile).read_text(), re.M)[1])


def start(program, name, folder):
    """Counts from the start until 0.1 seconds after the first poll, background threads included."""
    listener = socket.create_server(("127.0.0.1", 0))
    profile = folder / f"start-{name}"
    with function(program, name, "127.0.0.1:%d" % listener.getsockname()[1], SETTINGS, profile):
        listener.settimeout(PATIENCE)
        listener.accept()
        time.sleep(0.1)
    return counted(profile)


@contextlib.contextmanager
def cloud(program, folder):
    """Starts a local cloud and yields the settings of its functions."""
    data, log = folder / "cloud", folder / "cloud.log"
    with open(log, "wb") as out:
        process = subprocess.Popen([program, "--data", data, "--port", "0"], stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        until = time.monotonic() + PATIENCE
        while b"curl " not in log.read_bytes():
            if process.poll() is not None or time.monotonic() > until:
                sys.exit(log.read_text())
            time.sleep(0.1)
        subprocess.run([program, "sam-env", "--data", data], check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
        lines = (data / "sam" / "functions.env").read_text().splitlines()
        settings = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
        # Stream responses, as in a deployment.
        yield {name: value.strip("\"'") for name, value in settings.items() if name != "BUFFERED_RESPONSES"}
    finally:
        process.terminate()
        process.wait(PATIENCE)


def turn(program, aptix, turns, streamed, folder):
    """Counts the second turns of sessions whose first turn is finalized: 2 KB in, 2 KB out in 300 deltas."""
    # The previous program may still wait on the old queue.
    Api.events, Api.answers = queue.Queue(), queue.Queue()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    event = json.loads((ROOT / "events" / "execute.json").read_text())
    instruction = ("Write [[script: words 300]] " + "text " * 512)[:2048]

    def hold(session):
        request = {"SessionId": session, "TurnId": uuid.uuid4().hex, "Instruction": instruction, "Streaming": streamed}
        Api.events.put(json.dumps({**event, "body": json.dumps(request), "isBase64Encoded": False}))
        answer = Api.answers.get(timeout=PATIENCE)
        if b"final" not in answer:
            sys.exit(f"error: a turn was refused: {answer[:500]}")

    sessions = [uuid.uuid4().hex for _ in range(turns)]
    profile = folder / ("streamed-turn" if streamed else "turn")
    runtime_api = f"127.0.0.1:{server.server_port}"
    with cloud(aptix, folder) as settings, function(program, "execute", runtime_api, settings, profile) as process:
        for session in sessions:
            hold(session)
        # Wait for the last announcement, which is delayed by a second.
        time.sleep(3)

        def control(what):
            command = ["callgrind_control", what, str(process.pid)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        control("-z")
        for session in sessions:
            hold(session)
        control("-d")
    return counted(f"{profile}.1") / turns


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("programs", nargs="*", metavar="PROGRAM")
    options.add_argument("--turns", type=int, default=10)
    options.add_argument("--keep", type=pathlib.Path, metavar="FOLDER")
    options = options.parse_args()
    if not shutil.which("valgrind"):
        sys.exit(print("skipped: valgrind is not installed (use the system's package manager)"))
    if not options.programs:
        subprocess.run(["cargo", "build", "--locked", "--release", "-p", "aptix"], check=True, cwd=ROOT)
        options.programs = [str(pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "aptix")]
    programs = [str(pathlib.Path(program).resolve()) for program in options.programs]
    aptix = next((program for program in programs if not is_own(program)), None)
    if not aptix:
        sys.exit("error: PROGRAM must include a build of aptix, which runs the local cloud")
    for number, program in enumerate(programs):
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(options.keep or temporary).resolve() / str(number)
            folder.mkdir(parents=True, exist_ok=True)
            print(f"{program}, in millions of instructions:")
            for name in FUNCTIONS:
                print(f"  start of {name:<18} {start(program, name, folder) / 1e6:6.1f}", flush=True)
            for name, streamed in (("turn in execute", False), ("streamed turn in execute", True)):
                count = turn(program, aptix, options.turns, streamed, folder)
                print(f"  {name:<27} {count / 1e6:6.1f}", flush=True)


main()
