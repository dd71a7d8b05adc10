"""Fixtures every room uses."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real inputs beside the checkout; the test skips where it is absent."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip(f"real inputs are not here: {folder}")
    return folder
