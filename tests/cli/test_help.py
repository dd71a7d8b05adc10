"""What a new user types first."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.conftest import Cli
from tracker.cli.main import tracker as group

HEAVY = ("mlflow", "pandas", "numpy", "scipy", "torch", "plotly", "matplotlib", "pyarrow", "jinja2", "httpx", "msgspec")


def test_help_loads_nothing_heavy() -> None:
    code = f"""
import sys
from tracker.cli.main import tracker
tracker.main(args=["--help"], standalone_mode=False)
print(sorted(set({HEAVY!r}) & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", sorted(group.list_commands(None)))  # type: ignore[arg-type]
def test_every_command_explains_itself(cli: Cli, name: str) -> None:
    outcome = cli(name, "--help")

    assert outcome.code == 0
    assert f"tracker {name}" in outcome.out or "Usage" in outcome.out
    assert len(outcome.out.splitlines()) > 5


def test_an_unknown_command_is_a_usage_error(cli: Cli) -> None:
    outcome = cli("lgo-run")

    assert outcome.code == 2
    assert "lgo-run" in outcome.err


def test_an_unknown_option_is_a_usage_error(cli: Cli) -> None:
    outcome = cli("report", "--sinse", "last-week")

    assert outcome.code == 2
    assert "--since" in outcome.err
