"""The platforms that releases are built for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Platform:
    """A Rust target and its names elsewhere."""

    target: str
    wheel_tag: str
    npm_os: str
    npm_cpu: str
    exe: str = ""
    image_base: str = ""
    """Base image that has certificates, and a C library if the program needs one."""


_STATIC = "gcr.io/distroless/static-debian12:nonroot"
_DYNAMIC = "gcr.io/distroless/cc-debian12:nonroot"

PLATFORMS = {
    platform.target: platform
    for platform in (
        # A static program runs with every C library.
        Platform(
            "x86_64-unknown-linux-musl", "manylinux_2_17_x86_64.musllinux_1_1_x86_64", "linux", "x64", "", _STATIC
        ),
        Platform(
            "aarch64-unknown-linux-musl", "manylinux_2_17_aarch64.musllinux_1_1_aarch64", "linux", "arm64", "", _STATIC
        ),
        # These run on machines like the one that built them.
        Platform("x86_64-unknown-linux-gnu", "linux_x86_64", "linux", "x64", "", _DYNAMIC),
        Platform("aarch64-unknown-linux-gnu", "linux_aarch64", "linux", "arm64", "", _DYNAMIC),
        Platform("x86_64-apple-darwin", "macosx_10_12_x86_64", "darwin", "x64"),
        Platform("aarch64-apple-darwin", "macosx_11_0_arm64", "darwin", "arm64"),
        Platform("x86_64-pc-windows-msvc", "win_amd64", "win32", "x64", ".exe"),
    )
}
