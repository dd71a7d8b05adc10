"""`tracker runs`."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

import click

from tracker.cli import _context, _options, _table

if TYPE_CHECKING:
    from tracker.workflows.browse import RunLine


@click.command("runs")
@click.option("--experiment", metavar="NAME", help="One campaign. Default: all.")
@click.option("--since", metavar="WHEN", help="Logged since then, e.g. last-week, 7d, 2026-11-01.")
@_options.zone
@_options.as_json
@_options.tracking_uri
def command(experiment: str | None, since: str | None, tz: str | None, as_json: bool, tracking_uri: str | None) -> None:
    """List runs, one line a run and concurrency."""
    from tracker.workflows.browse import list_runs
    from tracker.workflows.window import resolve_window

    session = _context.session(tracking_uri)
    zone = _context.time_zone(tz)
    start = None
    if since is not None:
        window = resolve_window(since, "now", now=session.now, zone=zone, store=session.store, last_report=lambda: None)
        start = window.since
    lines = list_runs(session, experiment=experiment, since=start)
    if as_json:
        rows = [{**dataclasses.asdict(line), "logged_at": line.logged_at.isoformat()} for line in lines]
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    if not lines:
        click.echo("no runs", err=True)
        return
    heads = ("run", "campaign", "name", "role", "streams", "tok/s", "accept length", "state")
    click.echo(_table.render(heads, [_cells(line) for line in lines], right={4, 5, 6}))


def _cells(line: RunLine) -> tuple[str, ...]:
    state = line.validity if not line.errors else f"{line.validity}, {line.errors} error"
    return (
        line.run_id[:8],
        line.experiment,
        line.name,
        line.role or "–",
        _table.number(line.concurrency, 0),
        _table.number(line.output_throughput_tok_s, 1),
        _table.number(line.accept_length, 2),
        state,
    )


COMMAND = command
