"""`tracker doctor`."""

from __future__ import annotations

import dataclasses
import json

import click

from tracker.cli import _context, _options

_COLOURS = {"ok": "green", "warning": "yellow", "problem": "red"}


@click.command("doctor")
@_options.tracking_uri
@_options.as_json
@click.pass_context
def command(ctx: click.Context, /, tracking_uri: str | None, as_json: bool) -> None:
    """Look whether everything tracker needs is there; say what to do where it is not.

    The store is written to and read, and left as it was; no mail is sent. Exit code 1
    when there is a problem, 0 when there are only warnings.
    """
    from datetime import UTC, datetime

    from tracker.workflows.doctor import examine

    found = []
    for check in examine(_context.session(tracking_uri), clock=lambda: datetime.now(UTC)):
        found.append(check)
        if not as_json:
            state = click.style(f"{check.state:<7}", fg=_COLOURS[check.state], bold=check.state != "ok")
            click.echo(f"{state}  {check.topic:<9}  {check.message}")
            if check.fix:
                click.echo(f"{'':<20}fix: {check.fix}")
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(check) for check in found], indent=2, ensure_ascii=False))
    if any(check.state == "problem" for check in found):
        ctx.exit(1)


COMMAND = command
