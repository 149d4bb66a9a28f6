"""Tests against a local cloud, whose mock model follows a script.

The mock model is a test double: an instruction scripts its text, tool calls and failures. A real model treats a script
as plain text.

    from aptix.testing import LocalCloud, script

    with LocalCloud() as cloud:
        answer = cloud.client().session().run(script().say("Hello"))
        assert answer.text == "Hello"
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypedDict, cast
from urllib.parse import urljoin

import httpx
from typing_extensions import Unpack

from ._client import AsyncAptix
from ._http import Token
from ._retry import RetryOptions
from ._sync import Aptix
from .resume_store import ResumeStore

#: Longest start of a local cloud in seconds.
START_TIMEOUT = 60.0


class Script:
    """A script: a list of steps for the mock model. Without steps, the mock model describes itself.

    Example:
        session.run(script().say("Looking. ").call("read_file", {"path": "a.py"}).after_tools().say("Done."))
    """

    def __init__(self) -> None:
        self._steps: list[str] = []

    def say(self, text: str) -> Script:
        """Outputs text."""
        return self.step(f"say {json.dumps(text)}")

    def words(self, count: int) -> Script:
        """Outputs numbered words: `word1 word2 …`."""
        return self.step(f"words {count}")

    def repeat(self, text: str, times: int) -> Script:
        """Outputs text repeatedly, without spaces."""
        return self.step(f"repeat {json.dumps(text)} {times}")

    def echo(self) -> Script:
        """Outputs a description of the mock model, its input and the tool results it received."""
        return self.step("echo")

    def refuse(self, text: str) -> Script:
        """Outputs a refusal."""
        return self.step(f"refuse {json.dumps(text)}")

    def think(self, summary: str) -> Script:
        """Outputs a reasoning summary."""
        return self.step(f"think {json.dumps(summary)}")

    def call(self, name: str, args: Mapping[str, Any] | None = None) -> Script:
        """Calls a tool. Consecutive calls are parallel."""
        return self.step(f"call {name} {json.dumps(args or {})}")

    def after_tools(self) -> Script:
        """Ends this reply. The next steps answer the request with its tool results."""
        return self.step("then")

    def pace(self, seconds: float) -> Script:
        """Sets the pause before each following piece of text."""
        return self.step(f"pace {_ms(seconds)}")

    def chunk(self, characters: int) -> Script:
        """Splits the following text into pieces of this many characters instead of words."""
        return self.step(f"chunk {characters}")

    def hang(self, seconds: float) -> Script:
        """Pauses once."""
        return self.step(f"hang {_ms(seconds)}")

    def delay(self, seconds: float) -> Script:
        """Delays the response."""
        return self.step(f"delay {_ms(seconds)}")

    def status(
        self, status: int, *, code: str | None = None, times: int | None = None, retry_after: int | None = None
    ) -> Script:
        """Responds with an HTTP error: always, or `times` times before it continues with the other steps."""
        options = {"code": code, "times": times, "retry-after": retry_after}
        return self.step(f"status {status}" + "".join(f" {k} {v}" for k, v in options.items() if v is not None))

    def drop(self, times: int | None = None) -> Script:
        """Closes the connection without a response."""
        return self.step("drop" if times is None else f"drop times {times}")

    def cut(self, events: int) -> Script:
        """Ends the response early, without an error."""
        return self.step(f"cut after {events} events")

    def fail(self, code: str = "server_error") -> Script:
        """Ends with a provider error."""
        return self.step(f"fail {code}")

    def incomplete(self, reason: str = "max_output_tokens") -> Script:
        """Ends with an incomplete answer."""
        return self.step(f"incomplete {reason}")

    def usage(self, input_tokens: int, output_tokens: int) -> Script:
        """Sets the reported token usage."""
        return self.step(f"usage {input_tokens} {output_tokens}")

    def step(self, step: str) -> Script:
        """Adds any step of the script language, which `infra/mock-model/src/lib.rs` documents."""
        self._steps.append(step)
        return self

    def __str__(self) -> str:
        """Returns the script as a directive. The instruction can contain other text around it."""
        return f"[[script: {'; '.join(self._steps)}]]"


def script() -> Script:
    """Creates a script without steps."""
    return Script()


def _ms(seconds: float) -> str:
    return f"{round(seconds * 1000)}ms"


class RecordedRequest(TypedDict):
    """A request that the mock model received."""

    headers: dict[str, str]
    body: Any


class MockModel:
    """The mock model of a running local cloud, at the URL that the cloud prints."""

    def __init__(self, url: str) -> None:
        self._url = urljoin(url, "/scripted/requests")

    def requests(self) -> list[RecordedRequest]:
        """Returns the requests received so far, newest last: at most 10,000."""
        return cast(list[RecordedRequest], self._recorded()["requests"])

    def count(self) -> int:
        """Returns the number of requests received so far."""
        return int(self._recorded()["count"])

    def clear_requests(self) -> None:
        """Clears the recorded requests."""
        httpx.delete(self._url, trust_env=False).raise_for_status()

    def _recorded(self) -> Any:
        return httpx.get(self._url, trust_env=False).raise_for_status().json()


class ClientOptions(TypedDict, total=False):
    """Options of a client."""

    base_url: str
    token: Token
    resume_store: ResumeStore
    retry: RetryOptions
    transport: httpx.AsyncBaseTransport


class LocalCloud:
    """A local cloud with a mock model, in a process of its own and with a temporary data folder.

    The program is `program`, `APTIX_PROGRAM`, or `aptix` on the PATH. `options` are those of `aptix up`.

    Example:
        @pytest.fixture(scope="session")
        def cloud():
            with LocalCloud() as cloud:
                yield cloud
    """

    def __init__(self, *options: str, program: str | os.PathLike[str] | None = None) -> None:
        found = program or os.environ.get("APTIX_PROGRAM") or shutil.which("aptix")
        if not found:
            raise FileNotFoundError(
                "No program of the local cloud. Pass `program`, set APTIX_PROGRAM, or install aptix."
            )
        self._program = str(found)
        self._folder = tempfile.mkdtemp(prefix="aptix-python-")
        self._tokens: dict[str, str] = {}
        # Never use the developer's own model.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
        self._process = subprocess.Popen(
            [self._program, "--port", "0", "--data", self._folder, *options],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        timer = threading.Timer(START_TIMEOUT, self._process.kill)
        timer.start()
        try:
            addresses = self._read_addresses()
        except BaseException:
            self.close()
            raise
        finally:
            timer.cancel()
        self.url = addresses["API"]
        """URL of the API."""
        self.model = MockModel(addresses["Model"])
        """The mock model, with the requests that it received."""

    @property
    def pid(self) -> int:
        """Id of the cloud's process. The processes of its functions are children of it."""
        return self._process.pid

    def token(self, user: str = "ada", *, org: str = "acme", operator: bool = False) -> str:
        """Returns a token of a user, with `operator` of an operator."""
        key = f"{org}/{user}/{operator}"
        if key not in self._tokens:
            role = ["--operator"] if operator else []
            self._tokens[key] = self._run("token", "--org", org, "--user", user, *role).strip()
        return self._tokens[key]

    def put_contexts(self, *contexts: Mapping[str, Any], org: str = "acme") -> None:
        """Writes agent and conversation contexts, such as those of `agent_context`."""
        file = Path(self._folder, "contexts.json")
        file.write_text(json.dumps(contexts), encoding="utf-8")
        self._run("contexts", "put", str(file), "--org", org)

    def client(self, **options: Unpack[ClientOptions]) -> Aptix:
        """Returns a client of the user `ada`."""
        return Aptix(**self._options(options))

    def async_client(self, **options: Unpack[ClientOptions]) -> AsyncAptix:
        """Returns an asynchronous client of the user `ada`."""
        return AsyncAptix(**self._options(options))

    def close(self) -> None:
        """Ends the cloud and deletes its data."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> LocalCloud:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _options(self, options: ClientOptions) -> ClientOptions:
        if "token" not in options:
            options = {**options, "token": self.token()}
        return {"base_url": self.url, **options}

    def _read_addresses(self) -> dict[str, str]:
        addresses: dict[str, str] = {}
        for line in self._process.stdout or ():
            address = re.match(r" {2}(\w+) +(http\S+)", line)
            if address:
                addresses[address[1]] = address[2]
            if line.startswith("  Data"):
                threading.Thread(target=self._drain, daemon=True).start()
                return addresses
        raise RuntimeError(f"The local cloud did not start: {self._program} ended with {self._process.wait()}")

    def _drain(self) -> None:
        """Reads the rest of the output, so that the program never waits for its reader."""
        try:
            for _ in self._process.stdout or ():
                pass
        except ValueError:
            pass  # The output is closed.

    def _run(self, *args: str) -> str:
        command: Sequence[str] = [self._program, *args, "--data", self._folder]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
