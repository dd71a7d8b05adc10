"""Comparing and amending with names that mean no run, several, or one and the same."""

from __future__ import annotations

from tests.cli.conftest import Cli


def _log(cli: Cli, name: str, *more: str) -> str:
    return cli(
        "log-run", "--metric", "output_throughput_tok_s=90", "--concurrency", "1", "--name", name, *more
    ).out.strip()


def test_a_name_of_two_runs_lists_both(cli: Cli) -> None:
    first, second, _ = _log(cli, "typed"), _log(cli, "typed"), _log(cli, "other")

    outcome = cli("compare", "typed", "other")

    assert outcome.code == 1
    assert "2 runs match 'typed'" in outcome.err
    assert first in outcome.err
    assert second in outcome.err


def test_a_campaign_tells_runs_of_one_name_apart(cli: Cli) -> None:
    _log(cli, "base", "--experiment", "here", "--role", "baseline")
    _log(cli, "base", "--experiment", "there", "--role", "baseline")
    _log(cli, "other", "--experiment", "here", "--role", "candidate")
    _log(cli, "silent", "--experiment", "here")

    outcome = cli("compare", "base", "other", "--experiment", "here")

    assert outcome.code == 0, outcome.err
    assert "undecided" in outcome.out


def test_a_run_that_says_nothing_about_speculation_is_named_with_the_way_out(cli: Cli) -> None:
    run = _log(cli, "typed")
    _log(cli, "base", "--role", "baseline")

    outcome = cli("compare", "base", "typed")

    assert outcome.code == 2
    assert f"tracker amend {run} --role" in outcome.err


def test_a_campaign_that_is_not_there_is_said_so(cli: Cli) -> None:
    _log(cli, "base")

    outcome = cli("compare", "base", "base", "--experiment", "nowhere")

    assert outcome.code == 1
    assert "there is no campaign 'nowhere'" in outcome.err


def test_a_run_is_not_compared_with_itself(cli: Cli) -> None:
    run = _log(cli, "base")

    outcome = cli("compare", "base", run[:8])

    assert (outcome.code, outcome.out) == (2, "")
    assert "the same" in outcome.err


def test_a_run_cannot_replace_itself(cli: Cli) -> None:
    run = _log(cli, "base")

    outcome = cli("amend", "base", "--supersedes", run)

    assert outcome.code == 2
    assert "itself" in outcome.err
    assert "1 correction" not in outcome.err
