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


@pytest.mark.parametrize(("wrong", "meant"), [(("lgo-run",), "log-run"), (("campaign", "lst"), "list")])
def test_a_misspelt_command_names_the_one_that_is_meant(cli: Cli, wrong: tuple[str, ...], meant: str) -> None:
    outcome = cli(*wrong)

    assert outcome.code == 2
    assert f"Did you mean {meant!r}?" in outcome.err


@pytest.mark.parametrize("name", [(), ("campaign",)])
def test_the_list_of_commands_cuts_no_sentence(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, name: tuple[str, ...]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")

    outcome = cli(*name, "--help")

    assert "..." not in outcome.out.partition("Commands:")[2]


@pytest.mark.parametrize(
    "arguments",
    [
        ("log-run", ""),
        ("log-run", "results.csv", "--experiment", ""),
        ("log-run", "results.csv", "--experiment="),
        ("log-run", "results.csv", "--drafter", "", "--", "true"),
        ("runs", "--tracking-uri", ""),
        ("show", ""),
    ],
)
def test_an_empty_text_is_refused_as_a_variable_that_is_not_set(cli: Cli, arguments: tuple[str, ...]) -> None:
    outcome = cli(*arguments)

    assert outcome.code == 2
    assert "empty" in outcome.err
    assert "variable" in outcome.err


def test_an_empty_note_and_empty_words_of_a_command_are_meant(cli: Cli) -> None:
    logged = cli("log-run", "--metric", "accept_length=2", "--note", "typed")
    emptied = cli("amend", logged.out.strip(), "--note", "")
    ran = cli("log-run", "--", "test", "-z", "")

    assert (logged.code, emptied.code, ran.code) == (0, 0, 0)


def test_an_unknown_option_is_a_usage_error(cli: Cli) -> None:
    outcome = cli("report", "--sinse", "last-week")

    assert outcome.code == 2
    assert "--since" in outcome.err
