"""`tracker ui` before it starts anything: the address, the campaign, and a port that is taken."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tracker.workflows.session import Session
from tracker.workflows.ui import plan_ui

METRIC = ("log-run", "--metric", "output_throughput_tok_s=90", "--concurrency", "1")


@pytest.fixture
def taken() -> Iterator[socket.socket]:
    """A port that something listens on."""
    found = socket.create_server(("127.0.0.1", 0))
    with found:
        yield found


def test_a_port_that_is_taken_is_told_at_once_with_one_that_is_free(cli: Cli, taken: socket.socket) -> None:
    port = taken.getsockname()[1]

    outcome = cli("ui", "--port", str(port))

    assert (outcome.code, outcome.out) == (2, "")
    assert f"port {port} cannot be used" in outcome.err
    assert "Add --port" in outcome.err


def test_the_only_campaign_opens_by_itself_and_of_two_the_list(cli: Cli, tmp_path: Path) -> None:
    cli(*METRIC, "--experiment", "one")
    session = Session(now=datetime.now(UTC), environ={}, cwd=tmp_path, folder=tmp_path / "data")
    only = plan_ui(session, experiment=None, port=5998).url
    named = plan_ui(session, experiment="one", port=5998).url
    cli(*METRIC, "--experiment", "two")

    both = plan_ui(session, experiment=None, port=5998)

    assert only == named
    assert "/runs?workflowType=machine_learning&viewStateShareKey=" in only
    assert both.url.endswith("#/experiments?workflowType=machine_learning")
    assert both.command is not None
    assert session.store().uri in both.command


def test_a_campaign_that_is_not_there_is_told_with_what_may_be_meant(cli: Cli) -> None:
    cli(*METRIC, "--experiment", "kimi-eagle3")

    outcome = cli("ui", "--experiment", "kimi-eagle")

    assert outcome.code == 1
    assert "Did you mean 'kimi-eagle3'" in outcome.err


@pytest.mark.slow
def test_for_a_server_only_the_address_is_printed(cli: Cli, mlflow_server: str) -> None:
    outcome = cli("ui", "--tracking-uri", mlflow_server)

    assert outcome.code == 0
    assert outcome.out.startswith(f"{mlflow_server}/#/experiments")
    assert f"store: {mlflow_server}" in outcome.err
