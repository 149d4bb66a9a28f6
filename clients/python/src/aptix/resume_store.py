"""Storage of a session's open turn, so that a restarted program can resume it.

An entry holds the exact request that was sent, the last event received, and the tool results so far.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ResumeStore = MutableMapping[str, str]
"""A store for open turns: a `FolderStore`, a `dict` within one process, or any other mapping of texts."""


class FolderStore(MutableMapping[str, str]):
    """A store in a folder, with one file per open turn that only its owner can read.

    Example:
        aptix = Aptix(resume_store=FolderStore("~/.cache/my-agent"))
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder).expanduser()

    def _path(self, key: str) -> Path:
        return self._folder / f"{hashlib.sha256(key.encode()).hexdigest()}.json"

    def __getitem__(self, key: str) -> str:
        try:
            return self._path(key).read_text(encoding="utf-8")
        except FileNotFoundError:
            raise KeyError(key) from None

    def __setitem__(self, key: str, value: str) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._path(key)
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(value)
        # A reader never sees half of an entry.
        temporary.replace(path)

    def __delitem__(self, key: str) -> None:
        try:
            self._path(key).unlink()
        except FileNotFoundError:
            raise KeyError(key) from None

    def __iter__(self) -> Iterator[str]:
        raise TypeError("A folder store doesn't list its keys")

    def __len__(self) -> int:
        return len(list(self._folder.glob("*.json")))


@dataclass(frozen=True)
class TurnRequest:
    """A request of a turn. Every retry sends the same bytes, so retries have no side effects."""

    method: str
    path: str
    body: str | None = None


@dataclass(frozen=True)
class ResumePoint:
    """A point to start or resume a turn from."""

    request: TurnRequest
    last_event_id: int | None = None
    calls_json: str | None = None
    """The tool calls that `results` belong to."""
    results: list[dict[str, Any]] = field(default_factory=list)


class ResumeEntry:
    """The entry of one session in a resume store. Without a store, nothing is saved."""

    def __init__(self, store: ResumeStore | None, session_id: str) -> None:
        self._store = store
        self._key = f"aptix:{session_id}"

    @property
    def turn(self) -> tuple[str, ResumePoint] | None:
        """The open turn's id and resume point."""
        if self._store is None:
            return None
        try:
            entry = json.loads(self._store[self._key])
            request = TurnRequest(**entry["request"])
            if not isinstance(entry["turnId"], str) or not isinstance(request.path, str):
                return None
            progress = entry.get("toolProgress") or {}
            point = ResumePoint(
                request, entry.get("lastEventId"), progress.get("callsJson"), progress.get("results", [])
            )
            return entry["turnId"], point
        except (KeyError, TypeError, ValueError, OSError):
            return None

    def save(self, turn_id: str, point: ResumePoint) -> None:
        """Saves the open turn."""
        if self._store is None:
            return
        request = {"method": point.request.method, "path": point.request.path, "body": point.request.body}
        entry: dict[str, Any] = {"turnId": turn_id, "request": request, "lastEventId": point.last_event_id}
        if point.calls_json is not None:
            entry["toolProgress"] = {"callsJson": point.calls_json, "results": point.results}
        try:
            self._store[self._key] = json.dumps(entry, ensure_ascii=False)
        except Exception:
            # The store is full or access is denied. The turn continues, but can't be resumed.
            self.clear(turn_id)

    def clear(self, turn_id: str) -> None:
        """Removes the turn, if it is the open one."""
        if self._store is None:
            return
        # A store that fails doesn't fail the turn.
        with contextlib.suppress(Exception):
            saved = self.turn
            if saved is not None and saved[0] == turn_id:
                del self._store[self._key]
