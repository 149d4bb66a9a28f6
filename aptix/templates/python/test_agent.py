"""Tests of the agent against the mock model of a local cloud: `pytest`."""

import json
from pathlib import Path

from aptix.testing import LocalCloud, script

from tools import TOOLS, declarations

CONTEXTS = json.loads(Path(__file__).with_name("contexts.json").read_text(encoding="utf-8"))


def test_contexts_declare_the_tools():
    assert CONTEXTS[0]["ClientTools"] == declarations(), "Run python tools.py"


def test_agent_tells_the_time():
    with LocalCloud() as cloud:
        cloud.put_contexts(*CONTEXTS)
        session = cloud.client().session(agent="{{name}}")
        instruction = script().call("current_time", {"time_zone": "Europe/Rome"}).after_tools().say("It is late.")
        answer = session.run(instruction, tools=TOOLS)
        assert answer.text == "It is late."
        (step, _) = session.steps(answer.response.turn_id)
        assert step.calls[0].result_json.startswith('"20')
