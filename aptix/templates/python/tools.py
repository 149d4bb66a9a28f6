"""Tools of the agent.

The model sees a function's name, docstring and type hints. After a change, `python tools.py` updates contexts.json.
"""

import json
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from aptix import agent_context


def current_time(time_zone: str) -> str:
    """Returns the current date and time in a time zone.

    Args:
        time_zone: IANA name, such as Europe/Rome.
    """
    return datetime.now(ZoneInfo(time_zone)).isoformat(timespec="minutes")


TOOLS = [current_time]


def declarations() -> list[dict]:
    """Returns the tools as the agent's context declares them."""
    return agent_context("{{name}}", tools=TOOLS)["ClientTools"]


if __name__ == "__main__":
    file = Path(__file__).with_name("contexts.json")
    contexts = json.loads(file.read_text(encoding="utf-8"))
    contexts[0]["ClientTools"] = declarations()
    file.write_text(json.dumps(contexts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
