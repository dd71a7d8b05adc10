"""Asking for memos wrongly: one clear sentence, the right exit code, no traceback, nothing half-written."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.cli.conftest import Cli


@pytest.mark.parametrize("when", ["lastweek", "05/11/2026", "2026-13-01"])
def test_a_window_that_cannot_be_read_lists_the_accepted_forms(cli: Cli, when: str) -> None:
    outcome = cli("report", "--since", when)

    assert outcome.code == 2
    assert when in outcome.err
    assert "last-week" in outcome.err
    assert "2026-W47" in outcome.err
    assert "Traceback" not in outcome.err


def test_an_unknown_campaign_names_those_that_exist(cli: Cli, tmp_path: Path) -> None:
    cli("log-run", "--metric", "output_throughput_tok_s=90", "--experiment", "trial")
    outcome = cli("report", "--experiment", "trail")

    assert outcome.code == 1
    assert "trail" in outcome.err
    assert "trial" in outcome.err
    assert not (tmp_path / "reports").exists()


def test_an_unknown_run_says_how_to_list_them(cli: Cli) -> None:
    outcome = cli("show", "0123456789abcdef")

    assert outcome.code == 1
    assert "0123456789abcdef" in outcome.err
    assert "next:" in outcome.err
    assert "Traceback" not in outcome.err


def test_a_store_that_is_down_is_named_within_seconds(cli: Cli) -> None:
    outcome = cli("report", "--tracking-uri", "http://127.0.0.1:9")

    assert outcome.code == 1
    assert "127.0.0.1:9" in outcome.err
    assert "Traceback" not in outcome.err


def test_mail_without_a_mail_server_is_said_before_any_work(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TRACKER_SMTP_HOST", "TRACKER_MAIL_FROM", "TRACKER_SENDMAIL"):
        monkeypatch.delenv(name, raising=False)
    outcome = cli("report", "--email-to", "team@example.org")

    assert outcome.code == 1
    assert "TRACKER_MAIL_FROM" in outcome.err


def test_an_empty_store_says_where_to_begin(cli: Cli) -> None:
    outcome = cli("report")

    assert outcome.code == 0
    assert "log-run" in outcome.err


def test_nothing_new_writes_nothing(cli: Cli, tmp_path: Path) -> None:
    cli("log-run", "--metric", "output_throughput_tok_s=90", "--experiment", "trial")
    outcome = cli("report", "--since", "2020-01-01", "--until", "2020-02-01")

    assert outcome.code == 0
    assert outcome.out == ""
    assert "nothing new" in outcome.err


def test_a_time_zone_of_the_environment_that_cannot_be_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC+25")
    time.tzset()
    try:
        outcome = cli("report")
    finally:
        monkeypatch.undo()
        time.tzset()

    assert outcome.code == 2
    assert "UTC+25" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("report", "--seed", "-1"), "--seed"),
        (("report", "--eml"), "--email-to"),
        (("runs", "--tz", "Mars/Base"), "Mars/Base"),
        (("log-run", "x.csv", "--tag", "x"), "--tag driver=580"),
        (("log-run", "x.csv", "--column", "x"), "--column speed=output_throughput_tok_s"),
    ],
)
def test_an_option_typed_wrongly_is_a_usage_error_that_shows_a_right_one(
    cli: Cli, arguments: tuple[str, ...], words: str
) -> None:
    outcome = cli(*arguments)

    assert outcome.code == 2
    assert words in outcome.err
    assert "Traceback" not in outcome.err
