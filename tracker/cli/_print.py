"""What commands print: results to stdout, progress and findings to stderr."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from tracker.cli._terminal import printable

if TYPE_CHECKING:
    from tracker.domain.finding import Finding
    from tracker.domain.record import RunRecord
    from tracker.workflows.adopt_connect import Connection
    from tracker.workflows.check import CheckResult
    from tracker.workflows.log_run import LoggedOutcome, LogResult

_COLOURS = {"error": "red", "warning": "yellow", "info": "blue"}


def formats() -> None:
    """List the input formats, generated from the importers themselves."""
    from tracker import importers

    found = importers.formats()
    width = max(len(name) for name in found)
    for name, importer in sorted(found.items()):
        click.echo(f"{name:<{width}}  {importer.title}")
    click.echo("\nNot read, for want of a file that the tool itself wrote; a table with their numbers is:")
    for name in importers.LEFT_OUT:
        click.echo(f"  {name}")


def findings(found: Iterable[Finding], *, indent: str = "  ") -> None:
    """Print findings to stderr, each with its fix."""
    for finding in found:
        label = click.style(finding.severity, fg=_COLOURS[finding.severity], bold=True)
        click.echo(f"{indent}{label} {finding.code}: {printable(finding.message)}", err=True)
        if finding.fix:
            click.echo(f"{indent}  fix: {printable(finding.fix)}", err=True)


def logged(result: LogResult, *, as_json: bool, store: str | None) -> None:
    """Print run ids to stdout, one a line, and the rest to stderr."""
    for path, form in result.detected:
        click.echo(printable(f"read {path} as {form}"), err=True)
    for outcome in result.outcomes:
        record = outcome.record
        run_line(record)
        findings(record.findings)
        if outcome.spooled is not None:
            click.echo(printable(f"  not in the store yet; kept at {outcome.spooled}"), err=True)
    if result.renamed_to is not None:
        click.echo(f"nothing is new: these runs are in the campaign {result.renamed_to}, renamed since", err=True)
    for connection in result.connections:
        click.echo(printable(connected(connection)), err=True)
    if store is not None and result.store_error is None:
        click.echo(f"store: {store}", err=True)
    if as_json:
        click.echo(json.dumps([_as_json(outcome) for outcome in result.outcomes], indent=2, ensure_ascii=False))
        return
    for outcome in result.outcomes:
        if outcome.run_id is not None:
            click.echo(outcome.run_id)


def connected(connection: Connection) -> str:
    """Return what became of a benchmark and a training that belong together, in a line."""
    benchmark = connection.benchmark.record
    name = f"{benchmark.experiment} / {benchmark.name}"
    if connection.rivals:
        others = ", ".join((connection.training.run_id, *connection.rivals))
        return (
            f"not connected: the drafter of {name} may be of several trainings ({others}); log it with --training RUN"
        )
    differs = f"; they differ in {'; '.join(connection.differs)}" if connection.differs else ""
    return (
        f"connected: {name} served the drafter of {connection.training.record.name} (by its {connection.by}){differs}"
    )


def run_line(record: RunRecord) -> None:
    """Print a run's campaign and name to stderr, with why it may not be used."""
    state = "" if record.validity == "ok" else f"  [{record.validity}: {record.validity_reason}]"
    click.echo(printable(f"{record.experiment} / {record.name}{state}"), err=True)


def _as_json(outcome: LoggedOutcome) -> dict[str, object]:
    from tracker.store import codec

    return {
        "run_id": outcome.run_id,
        "spooled": None if outcome.spooled is None else str(outcome.spooled),
        "record": json.loads(codec.encode_record(outcome.record)),
    }


def check_as_json(result: CheckResult) -> dict[str, object]:
    """Return a check's result as the documented JSON object."""
    return {
        "findings": [dataclasses.asdict(finding) for finding in result.findings],
        "server": _plain(result.server),
        "speculation": _plain(result.speculation),
        "drafter": _plain(result.drafter),
        "target": _plain(result.target),
        "unseen": list(result.unseen),
        "own_parser": list(result.own_parser),
    }


def _plain(value: Any) -> object:
    return None if value is None else json.loads(json.dumps(dataclasses.asdict(value), default=dict))


def progress(what: str) -> Callable[[int, int], None] | None:
    """Return a function that shows a share on stderr's last line; None where stderr is no terminal."""
    if not sys.stderr.isatty():
        return None

    def show(done: int, total: int) -> None:
        share = 100 if total == 0 else 100 * done // total
        click.echo(f"\r{what}: {share} %", err=True, nl=done >= total)

    return show
