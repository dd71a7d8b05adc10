"""`tracker demo`."""

from __future__ import annotations

from pathlib import Path

import click

from tracker.cli import _context, _options


@click.command("demo")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("tracker-demo"), show_default=True, metavar="DIR",
    help="Folder for the memos and the demo's own store.",
)  # fmt: skip
@_options.zone
@_options.tracking_uri
def command(out: Path, tz: str | None, tracking_uri: str | None) -> None:
    """Load the two example campaigns and write their memos.

    The runs go into a store of their own under DIR unless --tracking-uri names another. The path of each memo goes to
    stdout.
    """
    from tracker.workflows.demo import STORE_FOLDER, run_demo

    folder = out.resolve() / STORE_FOLDER
    session = _context.session(tracking_uri or f"sqlite:///{folder / 'mlflow.db'}", folder=folder)
    click.echo("logging the example campaigns (about half a minute the first time) ...", err=True)
    result = run_demo(out, session, _context.time_zone(tz))
    click.echo(f"{result.runs} runs in {result.store_uri}", err=True)
    click.echo("memos, to be opened in a browser:", err=True)
    for memo in result.memos:
        click.echo(str(memo.path.resolve()))
    click.echo(f"to browse the runs: tracker ui --tracking-uri {result.store_uri}", err=True)


COMMAND = command
