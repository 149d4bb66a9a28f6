"""Paths of the API, relative to its base."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from urllib.parse import quote, urlencode

_BASE = "api/ai/agent"
EXECUTE = f"{_BASE}/execute"
TOOL_RESULTS = f"{_BASE}/tool-results"
SESSIONS = f"{_BASE}/sessions"
SEARCH = f"{_BASE}/search"
APPROVALS = f"{_BASE}/approvals"


def new_id() -> str:
    """Returns a new session or turn id: 128 random bits in 32 hexadecimal digits."""
    return secrets.token_hex(16)


def session(session_id: str) -> str:
    """Returns the path of a session."""
    return f"{SESSIONS}/{quote(session_id, safe='')}"


def turn(session_id: str, turn_id: str, suffix: str = "") -> str:
    """Returns the path of a turn, or of something below it."""
    return f"{session(session_id)}/turns/{quote(turn_id, safe='')}{suffix}"


def approval(id: str, answer: str = "") -> str:
    """Returns the path of an approval, or of its answer."""
    return "/".join(part for part in (APPROVALS, quote(id, safe=""), answer) if part)


def query(values: Mapping[str, str | int | bool | None]) -> str:
    """Returns a query string without the absent values."""
    present = {name: value for name, value in values.items() if value not in (None, "", False)}
    return "?" + urlencode({k: "true" if v is True else v for k, v in present.items()}) if present else ""
