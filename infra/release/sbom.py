"""The software bill of materials, in CycloneDX 1.6."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any


def sbom(repository: Path, target: str, *, beside: tuple[str, ...]) -> dict[str, Any]:
    """Returns the packages that the programs are built from, with their licenses and dependencies."""
    program = _packages(repository / "Cargo.toml", "aptix", target)
    components, dependencies = dict(program.components), dict(program.dependencies)
    for name in beside:
        # A program of a separate workspace, which the first one starts.
        other = _packages(repository / "infra/qdrant/Cargo.toml", name, target)
        components |= {other.root["purl"]: {**other.root, "type": "application"}, **other.components}
        for purl, needed in other.dependencies.items():
            dependencies[purl] = dependencies.get(purl, set()) | needed
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**program.root, "type": "application"}},
        "components": [component for _, component in sorted(components.items())],
        "dependencies": [{"ref": ref, "dependsOn": sorted(needed)} for ref, needed in sorted(dependencies.items())],
    }


@dataclass(frozen=True)
class _Packages:
    """The packages of a program, by their URLs."""

    root: dict[str, Any]
    components: dict[str, dict[str, Any]]
    dependencies: dict[str, set[str]]


def _packages(manifest: Path, name: str, target: str) -> _Packages:
    command = ["cargo", "metadata", "--format-version=1", "--locked", f"--filter-platform={target}"]
    command += ["--manifest-path", str(manifest)]
    metadata = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    edges = {
        node["id"]: [
            dependency["pkg"]
            for dependency in node["deps"]
            if any(kind["kind"] != "dev" for kind in dependency["dep_kinds"])
        ]
        for node in metadata["resolve"]["nodes"]
    }
    root = next(id for id, package in packages.items() if package["name"] == name)
    reached, waiting = {root}, [root]
    while waiting:
        new = set(edges[waiting.pop()]) - reached
        reached |= new
        waiting += new
    return _Packages(
        _component(packages[root]),
        {_purl(packages[id]): _component(packages[id]) for id in reached - {root}},
        {_purl(packages[id]): {_purl(packages[each]) for each in edges[id]} for id in reached},
    )


def _component(package: dict[str, Any]) -> dict[str, Any]:
    component = {
        "type": "library",
        "bom-ref": _purl(package),
        "name": package["name"],
        "version": package["version"],
        "purl": _purl(package),
    }
    if package.get("license"):
        # An older spelling of OR.
        component["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    return component


def _purl(package: dict[str, Any]) -> str:
    return f"pkg:cargo/{package['name']}@{package['version']}"
