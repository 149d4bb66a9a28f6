from __future__ import annotations

from collections.abc import Iterator

import pytest

from aptix.testing import LocalCloud


@pytest.fixture(scope="session")
def cloud() -> Iterator[LocalCloud]:
    # A short lease, since `SessionBusy` asks clients to wait for the lease of the running turn.
    with LocalCloud("--lease-seconds", "3", "--concurrency", "32") as cloud:
        yield cloud
