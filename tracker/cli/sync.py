"""`tracker sync`."""

from __future__ import annotations

from pathlib import Path

import click

from tracker.cli import _context, _copied, _options


@click.command("sync")
@click.argument(
    "spool", required=False, type=click.Path(readable=False, path_type=Path, file_okay=False), metavar="[SPOOL]"
)
@click.option("--from", "source", metavar="URI", help="Copy all runs of this store instead, e.g. sqlite:////PATH.db.")
@click.option("--experiment", metavar="NAME", help="With --from: only this campaign.")
@_options.tracking_uri
@click.pass_context
def command(
    ctx: click.Context, /, spool: Path | None, source: str | None, experiment: str | None, tracking_uri: str | None
) -> None:
    """Send what waits in the spool to the store.

    SPOOL is another machine's spool folder, copied here. With --from, all campaigns of
    another store are copied: their facts, runs, rows, files, corrections, memos and decisions;
    again as often as you like. Tags that people gave in MLflow are copied as they are; of an
    adopted run its record is copied, not what its trainer put beside it. Run ids go to
    stdout, one a line.
    """
    from tracker.errors import UsageError
    from tracker.workflows.sync import sync_spool

    if source is not None:
        if spool is not None:
            raise UsageError("SPOOL and --from are two things to send", hint="Give one of them.")
        _copy(ctx, source, experiment, tracking_uri)
        return
    if experiment is not None:
        raise UsageError("--experiment goes with --from", hint="The spool is always sent whole.")
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


def _copy(ctx: click.Context, source: str, experiment: str | None, tracking_uri: str | None) -> None:
    from tracker.workflows.sync import copy_from

    outcomes = copy_from(_context.session(tracking_uri), source, experiment)
    _copied.tell(ctx, outcomes, nothing="nothing to copy", named=("copied", "amended"))


COMMAND = command
