"""The software bill of materials, in CycloneDX 1.6."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any


def sbom(repository: Path, target: str) -> dict[str, Any]:
    """Returns the packages that the program is built from, with their licenses and dependencies."""
    command = ["cargo", "metadata", "--format-version=1", "--locked", f"--filter-platform={target}"]
    metadata = json.loads(subprocess.run(command, cwd=repository, capture_output=True, check=True).stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    edges = {
        node["id"]: [
            dependency["pkg"]
            for dependency in node["deps"]
            if any(kind["kind"] != "dev" for kind in dependency["dep_kinds"])
        ]
        for node in metadata["resolve"]["nodes"]
    }
    root = next(id for id, package in packages.items() if package["name"] == "aptix")
    reached, waiting = {root}, [root]
    while waiting:
        new = set(edges[waiting.pop()]) - reached
        reached |= new
        waiting += new
    components = sorted((_component(packages[id]) for id in reached - {root}), key=lambda each: each["purl"])
    dependencies = [
        {"ref": _purl(packages[id]), "dependsOn": sorted(_purl(packages[each]) for each in edges[id])} for id in reached
    ]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**_component(packages[root]), "type": "application"}},
        "components": components,
        "dependencies": sorted(dependencies, key=lambda each: str(each["ref"])),
    }


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
