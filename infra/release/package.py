"""Packages built programs: archive, checksum, SBOM, wheel, npm packages, container image, and the folder to build one from."""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import re
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from pathlib import Path

from npm import write_npm_packages
from oci import write_image
from platforms import PLATFORMS, Platform
from sbom import sbom
from wheel import write_wheel

REPOSITORY = Path(__file__).resolve().parents[2]
#: Date of every file in the archives, so that the same program gives the same archive.
EPOCH = 315_532_800
#: Programs of the workspace infra/qdrant.
BESIDE = ("document-text", "embedded-qdrant")
COMPLETIONS = {"bash": "aptix.bash", "fish": "aptix.fish", "zsh": "_aptix", "powershell": "aptix.ps1"}


def main() -> None:
    """Writes the artefacts of one platform."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--qdrant", type=Path, help="the embedded Qdrant; it and document-text in its folder are installed beside the program")
    parser.add_argument("--target", required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    platform = PLATFORMS.get(arguments.target)
    if platform is None:
        raise SystemExit(f"Unknown target {arguments.target}: expected {', '.join(PLATFORMS)}")
    version = workspace_version()
    name = f"aptix-{version}-{platform.target}"
    programs = {f"aptix{platform.exe}": arguments.program.read_bytes()}
    if arguments.qdrant is not None:
        for beside in BESIDE:
            file = arguments.qdrant.with_name(f"{beside}{platform.exe}")
            programs[file.name] = file.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        files = documents(arguments.program, Path(folder))
    bill = sbom(REPOSITORY, platform.target, beside=BESIDE if arguments.qdrant is not None else ())
    (arguments.out / f"{name}.cdx.json").write_text(json.dumps(bill, indent=2) + "\n")
    artefacts = [
        write_archive(arguments.out, name, programs, files, platform),
        write_wheel(arguments.out, version, programs, platform),
        *write_npm_packages(arguments.out, version, programs, platform),
    ]
    # An image without a base needs programs without a C library.
    if platform.target.endswith("-musl"):
        artefacts.append(write_image(arguments.out, version, programs, platform))
    if platform.image_base:
        write_image_folder(arguments.out / f"{name}-image", programs, platform)
    for artefact in artefacts:
        digest = hashlib.sha256(artefact.read_bytes()).hexdigest()
        artefact.with_name(f"{artefact.name}.sha256").write_text(f"{digest}  {artefact.name}\n")
        print(f"{artefact.stat().st_size / 1048576:8.2f} MiB  {artefact.name}")


def workspace_version() -> str:
    """Returns the version in the workspace's manifest."""
    manifest = (REPOSITORY / "Cargo.toml").read_text(encoding="utf-8")
    found = re.search(r'^version = "(.+)"$', manifest, re.MULTILINE)
    if found is None:
        raise SystemExit("Cargo.toml has no version")
    return found[1]


def documents(program: Path, folder: Path) -> dict[str, bytes]:
    """Returns licenses, completions and man pages. The program writes the last two, so it has to run here."""
    files = {name: (REPOSITORY / name).read_bytes() for name in ("LICENSE-APACHE", "LICENSE-MIT", "README.md")}
    path = str(program.resolve())
    for shell, name in COMPLETIONS.items():
        completed = subprocess.run([path, "completions", shell], capture_output=True, check=True)
        files[f"completions/{name}"] = completed.stdout
    subprocess.run([path, "man", str(folder)], check=True)
    files.update({f"man/{page.name}": page.read_bytes() for page in sorted(folder.glob("*.1"))})
    return files


def write_archive(
    out: Path, name: str, programs: dict[str, bytes], files: dict[str, bytes], platform: Platform
) -> Path:
    """Writes a zip for Windows and a compressed tar file for others."""
    if platform.exe:
        archive = out / f"{name}.zip"
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
            for path, content in (programs | files).items():
                target.writestr(zipfile.ZipInfo(f"{name}/{path}"), content, zipfile.ZIP_DEFLATED)
        return archive
    archive = out / f"{name}.tar.gz"
    with tarfile.open(archive, "w:gz", compresslevel=6) as target:
        for path, content in (programs | files).items():
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size, entry.mtime = len(content), EPOCH
            entry.mode = 0o755 if path in programs else 0o644
            target.addfile(entry, io.BytesIO(content))
    return archive


def write_image_folder(folder: Path, programs: dict[str, bytes], platform: Platform) -> None:
    """Writes what `docker build FOLDER` needs."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    text = (Path(__file__).parent / "Containerfile").read_text(encoding="utf-8")
    (folder / "Dockerfile").write_text(text.replace("BASE=scratch", f"BASE={platform.image_base}"), encoding="utf-8")
    for name, program in programs.items():
        (folder / name).write_bytes(program)
        (folder / name).chmod(0o755)


if __name__ == "__main__":
    main()
