"""The project that `aptix init` creates."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from aptix.testing import LocalCloud, script
from support import needs_cloud


@needs_cloud
def test_new_project_passes_its_tests_and_answers(cloud: LocalCloud, tmp_path: Path) -> None:
    project = tmp_path / "clerk"
    subprocess.run([os.environ["APTIX_PROGRAM"], "init", str(project)], check=True, capture_output=True)
    sources = str(Path(__file__).parent.parent / "src")
    environment = {**os.environ, "PYTHONPATH": sources, "APTIX_URL": cloud.url, "APTIX_TOKEN": cloud.token()}

    def run(*args: str, text: str = "") -> str:
        command = [sys.executable, *args]
        done = subprocess.run(command, cwd=project, env=environment, input=text, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "2 passed" in run("-m", "pytest", "-p", "no:cacheprovider")
    before = json.loads((project / "contexts.json").read_text())
    run("tools.py")
    assert json.loads((project / "contexts.json").read_text()) == before
    cloud.put_contexts(*before)
    call = script().call("current_time", {"time_zone": "Europe/Rome"}).after_tools().echo()
    assert 'Tool results received: "20' in run("agent.py", str(call))
    assert "mock model" in run("agent.py", text="Hello\n")
