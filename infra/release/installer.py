"""The install script of a release, with the checksums of its archives."""

from __future__ import annotations

import sys
from pathlib import Path

from formula import URL, archives

#: Targets by the answer of `uname -sm`.
MACHINES = {
    "Linux x86_64": "x86_64-unknown-linux-musl",
    "Linux aarch64": "aarch64-unknown-linux-musl",
    "Darwin x86_64": "x86_64-apple-darwin",
    "Darwin arm64": "aarch64-apple-darwin",
}


def installer(folder: Path) -> str:
    """Returns the script. Platforms without an archive in the folder are left out."""
    version, by_target = archives(folder)
    cases = "".join(
        f"    '{machine}') archive={by_target[target][0]} digest={by_target[target][1]} ;;\n"
        for machine, target in MACHINES.items()
        if target in by_target
    )
    if not cases:
        raise SystemExit(f"{folder} has no archive for {', '.join(MACHINES.values())}")
    releases = URL.format(version=version, name="").rstrip("/")
    template = (Path(__file__).parent / "install.sh").read_text(encoding="utf-8")
    return template.replace("@VERSION@", version).replace("@RELEASES@", releases).replace("    @ARCHIVES@\n", cases)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    (target / "install.sh").write_text(installer(target), encoding="utf-8")
    print(target / "install.sh")
