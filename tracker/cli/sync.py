"""`tracker sync`."""

from __future__ import annotations

from pathlib import Path

import click

from tracker.cli import _context, _options


@click.command("sync")
@click.argument("spool", required=False, type=click.Path(path_type=Path, file_okay=False), metavar="[SPOOL]")
@_options.tracking_uri
@click.pass_context
def command(ctx: click.Context, /, spool: Path | None, tracking_uri: str | None) -> None:
    """Send what waits in the spool to the store.

    SPOOL is another machine's spool folder, copied here. Run ids go to stdout, one a line.
    """
    from tracker.workflows.sync import sync_spool

    result = sync_spool(_context.session(tracking_uri), spool)
    for outcome in result:
        if outcome.run_id is not None:
            click.echo(outcome.run_id)
        else:
            click.echo(f"still waiting: {outcome.path}: {outcome.error}", err=True)
    sent = sum(outcome.run_id is not None for outcome in result)
    click.echo(f"{sent} of {len(result)} sent", err=True)
    if sent < len(result):
        ctx.exit(1)


COMMAND = command
