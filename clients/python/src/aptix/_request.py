"""The body of an `execute` request."""

from __future__ import annotations

import base64
import mimetypes
import os
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Union

#: Length limit of an image's id.
MAX_IMAGE_ID_CHARS = 128
#: Media types whose files are sent as images.
IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")


@dataclass(frozen=True)
class File:
    """An input file. `path` is relative to the folder that is open in the client.

    Example:
        session.run("Review this.", files=[File("src/total.rs", "fn total() {}"), Path("notes.md")])
    """

    path: str
    content: str | bytes
    mime_type: str | None = None
    language: str | None = None
    origin: Literal["ide", "user"] = "ide"


@dataclass(frozen=True)
class Image:
    """An image: PNG, JPEG, GIF or WebP. `name` is its id in the session."""

    data: bytes
    mime_type: str
    name: str | None = None


InputFile = Union[File, "os.PathLike[str]"]
"""A file, or the path of one to read."""
InputImage = Union[Image, "os.PathLike[str]"]
"""An image, or the path of one to read."""


@dataclass(frozen=True)
class RagCondition:
    """A condition that filters the retrieved chunks."""

    key: str
    operator: Literal["==", "!=", "contains", "does_not_contain"]
    values: Sequence[str | int | float | bool]


@dataclass(frozen=True)
class Input:
    """Context of an instruction."""

    files: Sequence[InputFile] = ()
    images: Sequence[InputImage] = ()
    agent: str | None = None
    conversation: str | None = None
    workspace_id: str | None = None
    repo: str | None = None
    language: str | None = None
    rag_scope: Sequence[RagCondition] = ()
    solution_context: str | None = None


def present(members: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the members that have a value."""
    return {name: value for name, value in members.items() if value is not None}


def execute_body(session_id: str, turn_id: str, text: str, context: Input) -> dict[str, Any]:
    """Returns the request. Reads the files that are given by their path."""
    conditions = [
        {"Key": condition.key, "Operator": condition.operator, "Values": list(condition.values)}
        for condition in context.rag_scope
    ]
    return present(
        {
            "SessionId": session_id,
            "TurnId": turn_id,
            "Instruction": text or None,
            "InputArtifacts": _artifacts(context.files) or None,
            "ClipboardImages": _images(context.images) or None,
            "AgentContextId": context.agent,
            "ConversationContextId": context.conversation,
            "WorkspaceId": context.workspace_id,
            "Repo": context.repo,
            "Language": context.language,
            "RagScope": {"Conditions": conditions} if conditions else None,
            "SolutionContextText": context.solution_context,
            "Streaming": True,
        }
    )


def _artifacts(files: Sequence[InputFile]) -> list[dict[str, Any]]:
    """Serializes files. Files of one name are moved into numbered folders: each path of a request is unique."""
    taken: set[str] = set()
    artifacts = []
    for number, file in enumerate(files, 1):
        if not isinstance(file, File):
            path = Path(file)
            name = path.as_posix() if not path.is_absolute() and ".." not in path.parts else path.name
            name = f"{number}/{name}" if name in taken else name
            file = File(name, path.read_bytes(), mimetypes.guess_type(path.name)[0], origin="user")
        taken.add(file.path)
        contents = {"Contents": file.content} if isinstance(file.content, str) else _encode(file.content)
        artifact = {
            "RelativePath": file.path,
            "FileName": re.split(r"[/\\]", file.path)[-1],
            **contents,
            "MimeType": file.mime_type,
            "Language": file.language,
            "Origin": file.origin,
        }
        artifacts.append(present(artifact))
    return artifacts


def _images(images: Sequence[InputImage]) -> list[dict[str, Any]]:
    """Serializes images. The id of an image is its name, if it has one that no earlier image has."""
    ids: set[str] = set()
    serialized = []
    for number, image in enumerate(images, 1):
        if not isinstance(image, Image):
            path = Path(image)
            image = Image(path.read_bytes(), mimetypes.guess_type(path.name)[0] or "", path.name)
        # An id has no control characters.
        name = "".join(" " if unicodedata.category(c) == "Cc" else c for c in image.name or "")
        image_id = name[:MAX_IMAGE_ID_CHARS].strip()
        while image_id == "" or image_id in ids:
            image_id, number = f"image-{number}", number + 1
        ids.add(image_id)
        data = base64.b64encode(image.data).decode()
        serialized.append({"Id": image_id, "MimeType": image.mime_type, "DataBase64": data})
    return serialized


def _encode(content: bytes) -> dict[str, str]:
    """Encodes UTF-8 text as is and anything else as base64."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" not in text:
        return {"Contents": text}
    return {"Contents": base64.b64encode(content).decode(), "Encoding": "base64"}
