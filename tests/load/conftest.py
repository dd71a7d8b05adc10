"""What the tests of this room share."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture
def without_aiohttp(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make aiohttp and uvloop as absent as they are without the extra `[bench]`."""
    for name in ("httpx_aiohttp", "uvloop"):
        monkeypatch.setitem(sys.modules, name, None)
    return
