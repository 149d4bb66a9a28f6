"""The snippets of the README and of the guide, run in order against a local cloud."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest

from aptix.testing import LocalCloud
from support import needs_cloud
from test_promises import PIXEL

PACKAGE = Path(__file__).parent.parent
README = PACKAGE / "README.md"
GUIDE = PACKAGE.parent.parent / "docs/guides/python.md"
SNIPPET = re.compile(r"^```python *([\w-]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MODULES = {"langchain": "langchain_core", "pydantic-ai": "pydantic_ai"}


@pytest.fixture
def environment(cloud: LocalCloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets up the address, the token and the files that the snippets use."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("APTIX_URL", cloud.url)
    monkeypatch.setenv("APTIX_TOKEN", cloud.token())
    Path("notes.md").write_text("# Notes\n")
    Path("plot.png").write_bytes(PIXEL)


def run_snippets(document: Path, cloud: LocalCloud) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "snippets"}
    for match in SNIPPET.finditer(document.read_text(encoding="utf-8")):
        if match[1]:
            pytest.importorskip(MODULES[match[1]])
        run(match[2], f"{document.name}:{line_of(match)}", namespace)
        # The text between the snippets writes the contexts into the cloud.
        for file in Path().glob("*.json"):
            cloud.put_contexts(json.loads(file.read_text()))
            file.unlink()
    return namespace


@needs_cloud
@pytest.mark.usefixtures("environment")
def test_readme_snippets_run(cloud: LocalCloud, capsys: pytest.CaptureFixture[str]) -> None:
    namespace = run_snippets(README, cloud)
    assert "mock model" in capsys.readouterr().out
    assert "mock model" in namespace["message"].content
    assert "mock model" in namespace["result"].output


@needs_cloud
@pytest.mark.usefixtures("environment")
def test_guide_snippets_run(cloud: LocalCloud) -> None:
    namespace = run_snippets(GUIDE, cloud)
    namespace["test_forecaster_reads_the_weather"]()


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
