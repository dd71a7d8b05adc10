"""Names from outside reach the terminal as text: nothing in them moves a cursor, rings, or turns words around."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.conftest import Cli
from tracker.cli._terminal import printable

EVIL = "run\x1b]0;owned\x07\u202eevil\x9b2J"


@given(st.text())
def test_what_is_printed_is_printable_and_as_it_was_where_it_was(text: str) -> None:
    shown = printable(text)

    assert all(char.isprintable() or char in "\n\t" for char in shown)
    assert shown == text or not text.isprintable()


@pytest.mark.parametrize("command", ["log-run", "runs", "show"])
def test_a_name_made_to_steer_the_terminal_is_shown_as_text(cli: Cli, tmp_path: Path, command: str) -> None:
    table = tmp_path / "t.csv"
    table.write_text(f"config,output_throughput_tok_s\n{EVIL},90.0\n", encoding="utf-8")
    logged = cli("log-run", table, "--experiment", "trial", "--concurrency", "1")
    outcome = {"log-run": lambda: logged, "runs": lambda: cli("runs"), "show": lambda: cli("show", logged.out.strip())}

    done = outcome[command]()

    assert done.code == 0
    assert not set("\x1b\x07\x9b\u202e") & set(done.out + done.err)


def test_an_error_that_names_something_strange_shows_it_as_text(cli: Cli) -> None:
    done = cli("show", EVIL)

    assert done.code == 1
    assert not set("\x1b\x07\x9b\u202e") & set(done.out + done.err)
