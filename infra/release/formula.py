"""The Homebrew formula, from the checksums of a release's archives."""

from __future__ import annotations

import re
import sys
from pathlib import Path

URL = "https://github.com/aptix/aptix-serverless/releases/download/v{version}/{name}"
#: Targets by their condition in a formula.
TARGETS = {
    ("macos", "arm"): "aarch64-apple-darwin",
    ("macos", "intel"): "x86_64-apple-darwin",
    ("linux", "arm"): "aarch64-unknown-linux-musl",
    ("linux", "intel"): "x86_64-unknown-linux-musl",
}

FORMULA = """\
class Aptix < Formula
  desc "Serverless backend for AI agents, with the whole cloud on a laptop"
  homepage "https://github.com/aptix/aptix-serverless"
  version "{version}"
  license any_of: ["MIT", "Apache-2.0"]

{sources}
  def install
    bin.install "aptix", "document-text", "embedded-qdrant"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/aptix.bash" => "aptix"
    fish_completion.install "completions/aptix.fish"
    zsh_completion.install "completions/_aptix"
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/aptix --version")
  end
end
"""


def archives(folder: Path) -> tuple[str, dict[str, tuple[str, str]]]:
    """Returns the version, and name and checksum of each archive in the folder by target."""
    version = ""
    by_target: dict[str, tuple[str, str]] = {}
    for file in folder.glob("aptix-*.tar.gz.sha256"):
        digest, name = file.read_text(encoding="utf-8").split()
        found = re.fullmatch(r"aptix-(\d[^-]*(?:-[a-z0-9.]+)?)-(\w+-(?:apple|unknown)-[\w-]+)\.tar\.gz", name)
        if found is not None:
            version, by_target[found[2]] = found[1], (name, digest)
    if not by_target:
        raise SystemExit(f"{folder} has no checksums of archives. Run scripts/release first.")
    return version, by_target


def formula(folder: Path) -> str:
    """Returns the formula. Platforms without an archive in the folder are left out."""
    version, by_target = archives(folder)
    sources = ""
    for system in ("macos", "linux"):
        blocks = ""
        for (of_system, processor), target in TARGETS.items():
            if of_system == system and target in by_target:
                name, digest = by_target[target]
                url = URL.format(version=version, name=name)
                blocks += f'    on_{processor} do\n      url "{url}"\n      sha256 "{digest}"\n    end\n'
        if blocks:
            sources += f"  on_{system} do\n{blocks}  end\n\n"
    if not sources:
        raise SystemExit(f"{folder} has no archive for {', '.join(TARGETS.values())}")
    return FORMULA.format(version=version, sources=sources.rstrip("\n") + "\n")


if __name__ == "__main__":
    target = Path(sys.argv[1])
    (target / "aptix.rb").write_text(formula(target), encoding="utf-8")
    print(target / "aptix.rb")
