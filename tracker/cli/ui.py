"""`tracker ui`."""

from __future__ import annotations

import click

from tracker.cli import _context, _options, _progress


@click.command("ui")
@click.option("--experiment", metavar="NAME", help="Open at this campaign.")
@click.option("--port", type=click.IntRange(min=1, max=65535), default=5000, show_default=True)
@_options.tracking_uri
@click.pass_context
def command(ctx: click.Context, /, experiment: str | None, port: int, tracking_uri: str | None) -> None:
    """Start the MLflow web interface on the store and print the address to open.

    For a store that is a server already, only the address is printed.
    """
    from tracker.workflows.ui import plan_ui, serve_ui

    session = _context.session(tracking_uri)
    plan = plan_ui(session, experiment=experiment, port=port)
    click.echo(plan.url)
    click.echo(f"store: {session.describe_store()}", err=True)
    if plan.command is not None:
        click.echo("starting; ready in about ten seconds, Ctrl-C ends it", err=True)
    with _progress.ends_when_told():
        code = serve_ui(plan, session)
    if code:
        ctx.exit(1)


COMMAND = command
