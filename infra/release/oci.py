"""Writes a container image without a container engine: an OCI image layout in a tar file, which `docker load`, `podman load` and `skopeo` read."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path

from platforms import Platform

#: Date of every file, so that the same programs give the same image.
EPOCH = 315_532_800
DATE = "1980-01-01T00:00:00Z"
#: The user of the image, as in images of distroless.
USER, HOME = 65532, "home/nonroot"
#: Certificates of the machine that builds, in the order in which they are looked for.
CERTIFICATES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
CONFIG = "application/vnd.oci.image.config.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
ARCHITECTURES = {"x64": "amd64", "arm64": "arm64"}


def write_image(out: Path, version: str, programs: dict[str, bytes], platform: Platform) -> Path:
    """Writes the image of static programs, which need no base, and returns its file."""
    layer = root_file_system(programs)
    config = {
        "created": DATE,
        "architecture": ARCHITECTURES[platform.npm_cpu],
        "os": "linux",
        "config": {
            "User": str(USER),
            "Entrypoint": ["/usr/local/bin/aptix"],
            "Cmd": ["up"],
            "WorkingDir": f"/{HOME}",
            "Env": ["PATH=/usr/local/bin", f"HOME=/{HOME}", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"],
            "Labels": {
                "org.opencontainers.image.title": "aptix",
                "org.opencontainers.image.version": version,
                "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        "history": [{"created": DATE, "created_by": "scripts/release"}],
    }
    blobs: dict[str, bytes] = {}

    def blob(media_type: str, content: bytes) -> dict[str, object]:
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = content
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}

    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": blob(CONFIG, encoded(config)),
        "layers": [blob(LAYER, gzip.compress(layer, compresslevel=6, mtime=0))],
    }
    described = blob(MANIFEST, encoded(manifest)) | {
        "platform": {"architecture": config["architecture"], "os": "linux"},
        "annotations": {"org.opencontainers.image.ref.name": version, "io.containerd.image.name": f"aptix:{version}"},
    }
    files = {
        "oci-layout": encoded({"imageLayoutVersion": "1.0.0"}),
        "index.json": encoded({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [described]}),
        **blobs,
    }
    file = out / f"aptix-{version}-linux-{config['architecture']}.oci.tar"
    with tarfile.open(file, "w") as target:
        for path, content in files.items():
            add(target, path, content)
    return file


def root_file_system(programs: dict[str, bytes]) -> bytes:
    """Returns the only layer: programs, certificates, the user, and folders that it may write to."""
    certificates = next((Path(path) for path in CERTIFICATES if Path(path).is_file()), None)
    if certificates is None:
        raise SystemExit("This machine has no certificates for the image (the package ca-certificates).")
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as target:
        for path, mode, owner in (
            ("etc", 0o755, 0), ("etc/ssl", 0o755, 0), ("etc/ssl/certs", 0o755, 0), ("home", 0o755, 0), (HOME, 0o700, USER),
            ("tmp", 0o1777, 0), ("usr", 0o755, 0), ("usr/local", 0o755, 0), ("usr/local/bin", 0o755, 0),
        ):
            entry = tarfile.TarInfo(path)
            entry.type, entry.mode, entry.uid, entry.gid, entry.mtime = tarfile.DIRTYPE, mode, owner, owner, EPOCH
            target.addfile(entry)
        add(target, "etc/passwd", f"root:x:0:0:root:/:/sbin/nologin\nnonroot:x:{USER}:{USER}:nonroot:/{HOME}:/sbin/nologin\n".encode())
        add(target, "etc/group", f"root:x:0:\nnonroot:x:{USER}:\n".encode())
        add(target, "etc/ssl/certs/ca-certificates.crt", certificates.read_bytes())
        for name, program in programs.items():
            add(target, f"usr/local/bin/{name}", program, 0o755)
    return layer.getvalue()


def add(target: tarfile.TarFile, path: str, content: bytes, mode: int = 0o644) -> None:
    """Adds a file whose owner and date are the same on every machine."""
    entry = tarfile.TarInfo(path)
    entry.size, entry.mode, entry.mtime = len(content), mode, EPOCH
    target.addfile(entry, io.BytesIO(content))


def encoded(value: object) -> bytes:
    """Returns JSON, the same for the same value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
