"""`tracker doctor`."""

from __future__ import annotations

import dataclasses
import json

import click

from tracker.cli import _context, _options
from tracker.cli._terminal import printable

_COLOURS = {"ok": "green", "warning": "yellow", "problem": "red"}


@click.command("doctor")
@click.option("--migrate", is_flag=True, help="First migrate a SQLite store of an older MLflow, after a backup.")
@_options.tracking_uri
@_options.as_json
@click.pass_context
def command(ctx: click.Context, /, migrate: bool, tracking_uri: str | None, as_json: bool) -> None:
    """Look whether everything tracker needs is there; say what to do where it is not.

    The store is written to and read, and left as it was; no mail is sent. Exit code 1
    when there is a problem, 0 when there are only warnings.

    A store made by an older MLflow is refused, because migrating it locks that one out;
    --migrate does it all the same, and keeps a backup beside the database.
    """
    from datetime import UTC, datetime

    from tracker.workflows.doctor import examine
    from tracker.workflows.migrate import migrate_store

    session = _context.session(tracking_uri)
    if migrate:
        click.echo(f"migrated; as it was before it is in {migrate_store(session)}", err=True)
    found = []
    for check in examine(session, clock=lambda: datetime.now(UTC)):
        found.append(check)
        if not as_json:
            state = click.style(f"{check.state:<7}", fg=_COLOURS[check.state], bold=check.state != "ok")
            click.echo(f"{state}  {check.topic:<9}  {printable(check.message)}")
            if check.fix:
                click.echo(printable(f"{'':<20}fix: {check.fix}"))
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(check) for check in found], indent=2, ensure_ascii=False))
    if any(check.state == "problem" for check in found):
        ctx.exit(1)


COMMAND = command
