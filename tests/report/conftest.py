"""Golden files and examples of the report tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.report.examples import MEMOS
from tracker.report import MemoView

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the one switch that rewrites golden files."""
    parser.addoption("--update-golden", action="store_true", help="write golden files anew; look at the difference")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with its golden file, or write it when asked to."""
    update = request.config.getoption("--update-golden", default=False)

    def compare(name: str, actual: str) -> None:
        path = GOLDEN / name
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(actual, encoding="utf-8")
        expected = path.read_text(encoding="utf-8")
        assert expected == actual

    return compare


@pytest.fixture(scope="session", params=sorted(MEMOS))
def memo(request: pytest.FixtureRequest) -> tuple[str, MemoView]:
    """Each example memo with its name."""
    name: str = request.param
    return name, MEMOS[name]()
