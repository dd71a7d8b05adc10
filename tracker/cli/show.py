"""`tracker show`."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING

import click

from tracker.cli import _context, _options, _print, _table
from tracker.cli._terminal import printable

if TYPE_CHECKING:
    from tracker.domain.record import StoredRun


@click.command("show")
@click.argument("run")
@_options.as_json
@_options.tracking_uri
def command(run: str, as_json: bool, tracking_uri: str | None) -> None:
    """Show one run: flags, checkpoint, measurements and findings.

    RUN is a run id, an unambiguous beginning of one, or a run name.
    """
    from tracker.store import codec
    from tracker.workflows.browse import load_runs

    (stored,) = load_runs(_context.session(tracking_uri), [run])
    if as_json:
        click.echo(json.dumps(json.loads(codec.encode_record(stored.record)), indent=2, ensure_ascii=False))
        return
    _head(stored)
    _measurements(stored)
    _print.findings(stored.record.findings, indent="")


def _moment(moment: datetime | None) -> str:
    return "at a time not recorded" if moment is None else moment.isoformat(timespec="seconds")


def _head(stored: StoredRun) -> None:
    record = stored.record
    click.echo(printable(f"{record.name}  ({record.role or record.kind}, {record.validity})"))
    rows: list[tuple[str, object]] = [
        ("run", stored.run_id),
        ("link", stored.url),
        ("campaign", record.experiment),
        ("measured", _moment(record.provenance.measured_at)),
        ("logged", _moment(record.provenance.logged_at)),
        ("target", record.target.name if record.target else None),
        ("drafter", record.drafter.name if record.drafter else None),
        ("hardware", _hardware(stored)),
        ("engine", " ".join(filter(None, (record.server.engine, record.server.version))) if record.server else None),
        ("command", " ".join(record.server.argv) if record.server and record.server.argv else None),
        ("training", f"{record.training.samples:,} samples" if record.training and record.training.samples else None),
        ("state", record.validity_reason),
        ("note", record.note),
    ]
    for name, value in rows:
        if value is not None:
            click.echo(printable(f"  {name:<9} {value}"))
    for change in record.amendments:
        fields = ", ".join(f"{key} = {value}" for key, value in change.changes.items())
        click.echo(printable(f"  amended   {change.at:%Y-%m-%d %H:%M} UTC by {change.by or 'unknown'}: {fields}"))


def _hardware(stored: StoredRun) -> str | None:
    hardware = stored.record.hardware
    if hardware is None or hardware.gpu is None:
        return None
    return f"{hardware.gpu_count} x {hardware.gpu}" if hardware.gpu_count else hardware.gpu


def _measurements(stored: StoredRun) -> None:
    cells = stored.record.pooled()
    if not cells:
        return
    heads = ("streams", "requests", "tok/s", "accept length", "accept rate")
    rows = [
        (
            _table.number(cell.concurrency, 0),
            _table.number(cell.requests_completed, 0),
            _table.number(cell.output_throughput_tok_s, 1),
            _table.number(cell.accept_length, 3),
            _table.number(cell.accept_rate, 3),
        )
        for cell in cells
    ]
    click.echo(_table.render(heads, rows, right={0, 1, 2, 3, 4}))


COMMAND = command
