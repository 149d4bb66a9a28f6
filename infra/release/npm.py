"""The npm packages: `aptix-cli`, a launcher, and one package per platform that carries the program."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

from platforms import PLATFORMS, Platform

COMMON = {
    "license": "MIT OR Apache-2.0",
    "repository": "github:aptix/aptix-serverless",
}
DESCRIPTION = "Serverless backend for AI agents: local cloud, console, terminal chat and tools"

LAUNCHER = """\
#!/usr/bin/env node
// Runs the program of this platform's package.
const { spawn } = require('node:child_process')
const name = `aptix-cli-${process.platform}-${process.arch}`
let program
try {
  program = require.resolve(`${name}/aptix${process.platform === 'win32' ? '.exe' : ''}`)
} catch {
  console.error(`error: there is no program for ${process.platform}-${process.arch}. Was ${name} left out of the install?`)
  process.exit(1)
}
const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' })
// The terminal sends Ctrl-C to both. The program decides when to end.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => child.kill('SIGTERM'))
child.on('error', (error) => {
  console.error(`error: ${error.message}`)
  process.exit(1)
})
child.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)))
"""


def write_npm_packages(out: Path, version: str, program: bytes, platform: Platform) -> list[Path]:
    """Writes the launcher's package and the platform's one."""
    name = f"aptix-cli-{platform.npm_os}-{platform.npm_cpu}"
    names = sorted({f"aptix-cli-{each.npm_os}-{each.npm_cpu}" for each in PLATFORMS.values()})
    launcher = {
        "name": "aptix-cli",
        "version": version,
        "description": DESCRIPTION,
        **COMMON,
        "bin": {"aptix": "aptix.js", "aptix-cli": "aptix.js"},
        "engines": {"node": ">=18"},
        "optionalDependencies": dict.fromkeys(names, version),
    }
    carrier = {
        "name": name,
        "version": version,
        "description": f"The program of aptix-cli for {platform.npm_os}-{platform.npm_cpu}",
        **COMMON,
        "os": [platform.npm_os],
        "cpu": [platform.npm_cpu],
    }
    return [
        _pack(out / f"aptix-cli-{version}.tgz", launcher, {"aptix.js": LAUNCHER.encode()}),
        _pack(out / f"{name}-{version}.tgz", carrier, {f"aptix{platform.exe}": program}),
    ]


def _pack(path: Path, manifest: dict[str, object], files: dict[str, bytes]) -> Path:
    """Writes a package as `npm pack` does."""
    with tarfile.open(path, "w:gz", compresslevel=6) as archive:
        for name, content in {"package.json": json.dumps(manifest, indent=2).encode(), **files}.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(content)
            entry.mode = 0o644 if name == "package.json" else 0o755
            archive.addfile(entry, io.BytesIO(content))
    return path
