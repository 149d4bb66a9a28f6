"""The wheel `aptix-cli`, which carries the program."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path

from platforms import Platform

SUMMARY = "Serverless backend for AI agents: local cloud, console, terminal chat and tools"


def write_wheel(out: Path, version: str, program: bytes, platform: Platform) -> Path:
    """Writes the wheel. pip installs its scripts as they are, on the PATH."""
    info = f"aptix_cli-{version}.dist-info"
    tags = "".join(f"Tag: py3-none-{tag}\n" for tag in platform.wheel_tag.split("."))
    files = {
        f"aptix_cli-{version}.data/scripts/aptix{platform.exe}": program,
        f"{info}/METADATA": (
            f"Metadata-Version: 2.4\nName: aptix-cli\nVersion: {version}\nSummary: {SUMMARY}\n"
            "License-Expression: MIT OR Apache-2.0\nRequires-Python: >=3.8\n"
        ).encode(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: aptix\nRoot-Is-Purelib: false\n{tags}".encode(),
    }
    record = f"{info}/RECORD"
    lines = [f"{name},sha256={_digest(content)},{len(content)}\n" for name, content in files.items()]
    files[record] = "".join([*lines, f"{record},,\n"]).encode()
    wheel = out / f"aptix_cli-{version}-py3-none-{platform.wheel_tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            # A regular file, which is executable if it is the program.
            entry.external_attr = (0o100755 if ".data/" in name else 0o100644) << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return wheel


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
