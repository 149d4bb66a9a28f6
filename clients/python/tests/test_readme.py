"""The snippets of the README, run in order against a local cloud."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from aptix.testing import LocalCloud
from support import needs_cloud
from test_promises import PIXEL

README = Path(__file__).parent.parent / "README.md"
SNIPPET = re.compile(r"^```python *([\w-]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MODULES = {"langchain": "langchain_core", "pydantic-ai": "pydantic_ai"}


@needs_cloud
def test_snippets_run(
    cloud: LocalCloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("APTIX_URL", cloud.url)
    monkeypatch.setenv("APTIX_TOKEN", cloud.token())
    Path("notes.md").write_text("# Notes\n")
    Path("plot.png").write_bytes(PIXEL)
    namespace: dict[str, Any] = {"__name__": "readme"}
    ran = 0
    for match in SNIPPET.finditer(README.read_text(encoding="utf-8")):
        if match[1]:
            pytest.importorskip(MODULES[match[1]])
        run(match[2], f"README.md:{line_of(match)}", namespace)
        if "engineer.json" in match[2]:
            cloud.put_contexts(namespace["agent_context"]("engineer", tools=[namespace["read_file"]]))
        ran += 1
    assert ran >= 10
    assert "mock model" in capsys.readouterr().out
    assert "mock model" in namespace["message"].content
    assert "mock model" in namespace["result"].output


def line_of(match: re.Match[str]) -> int:
    return match.string.count("\n", 0, match.start()) + 1


def run(source: str, name: str, namespace: dict[str, Any]) -> None:
    """Runs a snippet, which can await."""
    code = compile(source, name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if code.co_flags & inspect.CO_COROUTINE:

        async def work() -> None:
            await eval(code, namespace)

        asyncio.run(work())
    else:
        exec(code, namespace)
