#!/usr/bin/env python3
"""Compares a turn with other programs under the same model and load, in interleaved rounds.

    scripts/bench peers [--before PROGRAM] [--turns 200] [--rounds 3] [--cache FOLDER]

The peers are the floor (infra/bench/floor), LiteLLM's proxy (PyPI) and rusty-agent-server (crates.io). A peer that can't be
installed is skipped, with the reason. The model is the mock model of a separate local cloud. It responds without delay
with 2 KB in 300 deltas. Prints added latency, turns per second, CPU per turn and memory of each program, with 1, 16 and
64 concurrent turns; docs/internals/figures.md explains how the programs differ. Requires Rust, python3 with venv, /proc,
and the package registries on the first run.
"""

import argparse
import contextlib
import http.server
import itertools
import json
import multiprocessing
import os
import pathlib
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

# The crate is a library without a binary. This program is from its README, with arguments added.
RUSTY = """[package]
name = "rusty-host"
edition = "2021"
[dependencies]
rusty-agent-runtime = "=0.12.0"
rusty-agent-server = "=0.12.0"
tokio = { version = "1", features = ["full"] }
[workspace]
"""
RUSTY_MAIN = """use rusty_agent_runtime::prelude::*;
use rusty_agent_server::{serve, GraphRegistry, ServerConfig};
#[tokio::main]
async fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let [_, address, model, store] = &std::env::args().collect::<Vec<_>>()[..] else { panic!("three arguments") };
    let model = std::sync::Arc::new(OpenAiCompatibleClient::new(model, None, "scripted"));
    let mut registry = GraphRegistry::new();
    let channels = StateSpec::new().channel("messages", Reducer::AddMessages);
    registry.register("agent", create_react_agent(model, ToolRegistry::new())?, channels);
    Ok(serve(registry, ServerConfig::new(address.parse()?, store)).await?)
}
"""
LOADS = [(shape, at_once) for at_once in (1, 16, 64) for shape in ("buffered", "streamed")]
# Clients that open sessions.
OPENERS = 16
# The most processes per function: twice the concurrent turns, since a process is busy slightly longer than its response.
PROCESSES = 2 * max(at_once for _, at_once in LOADS)
INSTRUCTION = "Write [[script: words 300]] " + "text " * 404
LAST = b"word300"
ALONE = ("model only, Responses", "model only, Chat Completions")
PATIENCE_S = 120
TICK_MS = 1_000 / os.sysconf("SC_CLK_TCK")
# LiteLLM requires a key for its callers.
KEY = f"sk-{uuid.uuid4().hex}"
# All services are local, so drop proxies and keep LiteLLM from fetching prices from GitHub.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
ENVIRONMENT |= {"OPENAI_API_KEY": "none", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MASTER_KEY": KEY}
connections = threading.local()


class LeftOut(Exception):
    """A peer is skipped, for this reason."""


def post(port, path, body, said=LAST, token=KEY):
    """Returns the response body. Leaves chunks undecoded, so that their number does not affect the client's time."""
    kept = vars(connections)
    if port not in kept:
        kept[port] = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        kept[port].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    body = json.dumps(body)
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    kept[port].sendall((head + body).encode())
    got, start, length = bytearray(), 0, None
    while not (start and (len(got) >= start + length if length is not None else got.endswith(b"0\r\n\r\n"))):
        piece = kept[port].recv(1 << 18)
        if not piece:
            raise ValueError(f"{path} ended early: {bytes(got[:1_000])}")
        got += piece
        if not start and b"\r\n\r\n" in got:
            start = got.index(b"\r\n\r\n") + 4
            told = re.search(rb"content-length: *(\d+)", got[:start].lower())
            length = int(told[1]) if told else None
    if not got.startswith(b"HTTP/1.1 2") or said not in got:
        raise ValueError(f"{path} responded with {bytes(got[:1_000])}")
    return got[start:]


def processes(pid):
    """Returns the command lines of a process and its descendants, by process id."""
    found, pids = {}, [pid]
    for one in pids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for task in pathlib.Path(f"/proc/{one}/task").iterdir():
                pids += map(int, (task / "children").read_text().split())
            found[one] = pathlib.Path(f"/proc/{one}/cmdline").read_bytes().decode().split("\0")
    return found


def cpu_ms(pids):
    total = 0
    for pid in pids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
            total += (int(fields[11]) + int(fields[12])) * TICK_MS
    return total


def memory_mib(pids):
    """Returns the peak memory of the largest process, and the current memory of all, with shared pages counted once."""
    peak = now = 0
    for pid in pids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            status, rollup = (pathlib.Path(f"/proc/{pid}/{file}").read_text() for file in ("status", "smaps_rollup"))
            peak = max(peak, int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1_024)
            now += int(re.search(r"Pss:\s+(\d+)", rollup)[1]) / 1_024
    return peak, now


class Program:
    """A running program, and the requests of a turn."""

    shapes = ("buffered", "streamed")
    process = None

    def own(self):
        """Returns the command lines of its processes, by process id."""
        return processes(self.process.pid) if self.process else {}

    def start(self, stack, command, is_up):
        log = pathlib.Path(stack.enter_context(tempfile.NamedTemporaryFile(suffix=".log")).name)
        with log.open("w") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=out, env=ENVIRONMENT)
        stack.callback(self.process.wait)
        stack.callback(self.process.terminate)
        began = time.monotonic()
        while time.monotonic() - began < PATIENCE_S and self.process.poll() is None:
            # Not ready: the log has no address yet, or the port is closed.
            with contextlib.suppress(OSError, AttributeError):
                return is_up(log.read_text())
            time.sleep(0.2)
        raise LeftOut(f"it failed to start: {log.read_text()[-1_000:]}")

    def counted(self):
        """Returns the process ids to measure, by name."""
        return {self.name: list(self.own())}

    def settle(self):
        """Waits until the program is idle. Announcements of turns are handled a second later."""
        time.sleep(1.5 if self.process else 0)
        for _ in range(PATIENCE_S if self.process else 0):
            used = cpu_ms(self.own())
            time.sleep(0.5)
            if cpu_ms(self.own()) - used <= 2 * TICK_MS:
                return


class Aptix(Program):
    name = "aptix, API functions"
    beside = ("aptix, `turn-finalizer`", "aptix, local cloud with AWS services")

    def __init__(self, stack, program, *options):
        command = [program, "--ephemeral", "--port", "0", "--sweep-seconds", "3600", "--concurrency", str(PROCESSES)]
        command += options
        place = r"API +\S+:(\d+)(?s:.*)Model +\S+:(\d+)(?s:.*)Bearer ([^']+)'"
        self.port, self.model, self.token = self.start(stack, command, lambda told: re.search(place, told).groups())

    def turn(self, session, shape):
        body = {"SessionId": session, "TurnId": uuid.uuid4().hex, "Instruction": INSTRUCTION}
        return post(self.port, "/api/ai/agent/execute", body | {"Streaming": shape == "streamed"}, token=self.token)

    def open(self, _):
        session = uuid.uuid4().hex
        self.turn(session, "buffered")
        return session

    def counted(self):
        every = self.own()
        functions = [pid for pid, called in every.items() if "function" in called]
        later = [pid for pid in functions if "turn-finalizer" in every[pid]]
        answer = [pid for pid in functions if pid not in later]
        return {self.name: answer, self.beside[0]: later, self.beside[1]: list(every)}


class Floor(Aptix):
    """The functions of the floor, in a local cloud of their own."""

    name = "floor, API functions"
    beside = ("floor, `turn-finalizer`", "floor, local cloud with AWS services")

    def __init__(self, stack, aptix, floor, *options):
        super().__init__(stack, aptix, "--function-program", floor, *options)


class Shared(Aptix):
    """Functions that serve many requests in one process."""

    name = "aptix with 64 requests a process, API functions"
    beside = tuple(name.replace("aptix", "aptix with 64 requests a process") for name in Aptix.beside)

    def __init__(self, stack, program, *options):
        super().__init__(stack, program, "--concurrency-per-process", "64", *options)


class Before(Aptix):
    """An earlier build."""

    name = "aptix before, API functions"
    beside = ("aptix before, `turn-finalizer`", "aptix before, local cloud with AWS services")

    def __init__(self, stack, before, *options):
        if not before:
            raise LeftOut("name its program with --before")
        super().__init__(stack, before, *options)


class LiteLlm(Program):
    name = "LiteLLM"

    def __init__(self, stack, cache, model):
        installed = cache / "litellm"
        # The newest version whose dependencies are available.
        run("scripts/tools", "venv", installed, "litellm[proxy]")
        told = [installed / "bin/python", "-c", "import importlib.metadata as told; print(told.version('litellm'))"]
        self.name = f"LiteLLM {subprocess.check_output(told, text=True).strip()}"
        parameters = {"model": "openai/scripted", "api_base": model, "api_key": "none"}
        config = stack.enter_context(tempfile.NamedTemporaryFile("w", suffix=".yaml"))
        # JSON is valid YAML.
        json.dump({"model_list": [{"model_name": "scripted", "litellm_params": parameters}]}, config)
        config.flush()
        self.port = free_port()
        command = [installed / "bin/litellm", "--config", config.name, "--host", "127.0.0.1", "--port", str(self.port)]
        self.start(stack, [*command, "--telemetry", "False"], self.open)

    def turn(self, previous, shape):
        body = {"model": "scripted", "input": INSTRUCTION, "stream": shape == "streamed"}
        return post(self.port, "/v1/responses", body | ({"previous_response_id": previous} if previous else {}))

    def open(self, _):
        return json.loads(self.turn(None, "buffered"))["id"]


class Rusty(Program):
    name = "rusty-agent-server 0.12.0"
    # It streams the result of each step. Model deltas need a channel that the server does not give to agents.
    shapes = ("buffered",)

    def __init__(self, stack, cache, model):
        folder = cache / "rusty"
        (folder / "src").mkdir(parents=True, exist_ok=True)
        (folder / "Cargo.toml").write_text(RUSTY)
        (folder / "src/main.rs").write_text(RUSTY_MAIN)
        run("cargo", "install", "--quiet", "--path", folder, "--root", folder, "--target-dir", folder / "target", "--force")
        self.port = free_port()
        store = stack.enter_context(tempfile.TemporaryDirectory())
        self.start(stack, [folder / "bin/rusty-host", f"127.0.0.1:{self.port}", model, store], self.open)

    def turn(self, thread, _):
        message = {"role": "user", "content": INSTRUCTION}
        return post(self.port, f"/threads/{thread}/runs/wait", {"input": {"messages": [message]}})

    def open(self, _):
        thread = json.loads(post(self.port, "/threads", {"graph": "agent"}, b"thread_id"))["thread_id"]
        self.turn(thread, "buffered")
        return thread


class Model(Program):
    """The model without a program in front: the latency of the model and the client."""

    def __init__(self, name, url, body, shapes):
        self.name, self.body, self.shapes = name, body, shapes
        self.port, self.path = re.search(r":(\d+)(.*)", url).groups()

    def turn(self, _, shape):
        return post(self.port, self.path, {"model": "scripted", "stream": shape == "streamed", **self.body})

    def open(self, _):
        return None


def run(*command):
    try:
        subprocess.run(command, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise LeftOut(f"can't install it: {error}") from error


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def in_chat_completions(stack, model):
    """Serves one response of the model as Chat Completions, in a separate process, and returns the URL."""
    output = json.loads(model.turn(None, "buffered"))["output"]
    said = {"role": "assistant", "content": output[-1]["content"][0]["text"]}
    answer = json.dumps({"object": "chat.completion", "model": "scripted", "choices": [{"index": 0, "message": said}]})

    class Chat(http.server.BaseHTTPRequestHandler):
        protocol_version, disable_nagle_algorithm = "HTTP/1.1", True

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(answer)}\r\n\r\n"
            self.wfile.write((head + answer).encode())

    # Many clients connect at once. With a full backlog, they would retry a second later.
    http.server.ThreadingHTTPServer.request_queue_size = 2 * PROCESSES
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Chat)
    process = multiprocessing.get_context("fork").Process(target=server.serve_forever, daemon=True)
    process.start()
    stack.callback(process.terminate)
    return f"http://127.0.0.1:{server.server_port}/v1"


def started(stack, options):
    """Starts the model, aptix, and each available peer."""
    cloud = Aptix(stack, options.aptix, "--mock-profile", "openai")
    url = f"http://127.0.0.1:{cloud.model}/v1"
    model = Model(ALONE[0], f"{url}/responses", {"input": INSTRUCTION}, Program.shapes)
    chat = in_chat_completions(stack, model)
    alone = Model(ALONE[1], f"{chat}/chat/completions", {"messages": []}, Rusty.shapes)
    asked = ("--model-base-url", url, "--model-name", "scripted")
    found = [model, alone, Aptix(stack, options.aptix, *asked), Shared(stack, options.aptix, *asked)]
    floor = (options.aptix, options.floor, *asked)
    before = (options.before, *asked)
    peers = ((Before, before), (Floor, floor), (LiteLlm, (options.cache, url)), (Rusty, (options.cache, chat)))
    for peer, arguments in peers:
        try:
            found.append(peer(stack, *arguments))
        except (LeftOut, ValueError) as why:
            print(f"skipped: {peer.name}: {why}")
    return found


def measure(program, shape, at_once, turns):
    """Returns for each name: p50, p90, p99, turns per second, CPU per turn, largest process, all processes."""
    # As many sessions at once as turns later, so that a process per turn is running by then.
    with ThreadPoolExecutor(max(OPENERS, at_once)) as pool:
        opened = list(pool.map(program.open, range(turns)))
    program.settle()

    def hold(session):
        sent = time.perf_counter()
        program.turn(session, shape)
        return (time.perf_counter() - sent) * 1e3

    before = {name: cpu_ms(pids) for name, pids in program.counted().items()}
    began = time.perf_counter()
    with ThreadPoolExecutor(at_once) as pool:
        took = sorted(pool.map(hold, opened))
    rate = turns / (time.perf_counter() - began)
    program.settle()
    times = (took[turns // 2], took[turns * 9 // 10], took[turns * 99 // 100], rate)
    return {
        name: (*times, (cpu_ms(pids) - before[name]) / turns, *memory_mib(pids)) for name, pids in program.counted().items()
    }


def table(found):
    """Formats the results. Added latency is the turn's time minus the model's own."""
    found = {key: [statistics.median(column) for column in zip(*rows)] for key, rows in found.items()}
    head = "added latency p50 | p90 | p99 | turns per second | CPU per turn | largest process | all processes"
    yield f"\n| load | program | {head} |"
    yield "|---" * 9 + "|"
    for (shape, at_once, name), row in sorted(found.items(), key=lambda one: (LOADS.index(one[0][:2]), one[0][2])):
        p50, p90, p99, rate, cpu, peak, now = row
        # aptix always streams from the model, and so does its floor.
        streams = name in (Aptix.name, Shared.name, Before.name, Floor.name)
        model = (ALONE[0], "streamed") if streams else (ALONE[name == Rusty.name], shape)
        model = found[model[1], 1, model[0]][0]
        times = f"{p50 - model:.1f} ms | {p90 - model:.1f} | {p99 - model:.1f} | {rate:.0f}"
        if name in ALONE:
            times = f"(total {p50:.1f} ms) | ({p90:.1f}) | ({p99:.1f}) | {rate:.0f}"
        elif name in Aptix.beside + Shared.beside + Before.beside + Floor.beside:
            times = " | | | "
        used = f"{cpu:.1f} ms | {peak:.0f} MiB | {now:.0f} MiB" if peak else " | | "
        yield f"| {shape}, {at_once} concurrent | {name} | {times} | {used} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    path = lambda text: pathlib.Path(text).resolve()
    parser.add_argument("--aptix", type=path, required=True, metavar="PROGRAM", help="release build of aptix")
    parser.add_argument("--floor", type=path, required=True, metavar="PROGRAM", help="release build of the floor")
    parser.add_argument("--before", type=path, metavar="PROGRAM", help="release build of an earlier aptix to compare with")
    parser.add_argument("--turns", type=int, default=200, help="turns per load and round")
    parser.add_argument("--rounds", type=int, default=3, help="rounds to take the median of")
    parser.add_argument("--cache", type=path, metavar="FOLDER", help="folder to install peers in; default: target/peers")
    options = parser.parse_args()
    os.chdir(pathlib.Path(__file__).resolve().parents[2])
    options.cache = options.cache or path("target/peers")
    found = {}
    # Exit through the stack, which stops the started programs.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with contextlib.ExitStack() as stack:
        programs = started(stack, options)
        for number, load in itertools.product(range(options.rounds), LOADS):
            print(f"… round {number + 1} of {options.rounds}: {load[0]}, {load[1]} concurrent", file=sys.stderr)
            for program in programs:
                if load[0] in program.shapes:
                    for name, row in measure(program, *load, options.turns).items():
                        found.setdefault((*load, name), []).append(row)
            # Alternate the order of programs between loads.
            programs.reverse()
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{os.cpu_count()} cores, load {load}; {options.turns} turns per load, median of {options.rounds} rounds")
    print(*table(found), sep="\n")


main()
