"""`tracker amend`."""

from __future__ import annotations

from typing import Any

import click

from tracker.cli import _context, _options


@click.command("amend")
@click.argument("run")
@click.option("--validity", type=click.Choice(["ok", "suspect", "invalid"]), help="Whether the numbers may be used.")
@click.option("--reason", metavar="TEXT", help="Why; needed with suspect and invalid.")
@click.option("--supersedes", metavar="RUN", help="The run that this one replaces.")
@click.option("--samples", type=click.IntRange(min=1), help="Training samples of the drafter.")
@click.option("--tokens", type=click.IntRange(min=1), help="Training tokens of the drafter.")
@click.option("--role", type=click.Choice(["baseline", "candidate"]))
@click.option("--name", metavar="TEXT", help="New run name.")
@click.option("--note", metavar="TEXT", help="New note.")
@click.option("--tag", "tags", multiple=True, metavar="KEY=VALUE", help="A free tag; repeatable.")
@_options.tracking_uri
def command(run: str, tracking_uri: str | None, **options: Any) -> None:
    """Correct what was logged about RUN; the correction is kept with who made it and when.

    RUN is a run id, an unambiguous beginning of one, or a run name. Measured numbers cannot be changed.
    """
    from tracker.workflows.amend import AmendRequest, amend_run

    request = AmendRequest(
        run=run,
        validity=options["validity"],
        reason=options["reason"],
        supersedes=options["supersedes"],
        samples=options["samples"],
        tokens=options["tokens"],
        role=options["role"],
        name=options["name"],
        note=options["note"],
        tags=_context.pairs(options["tags"], "--tag", example=_options.TAG),
    )
    stored = amend_run(request, _context.session(tracking_uri))
    click.echo(stored.run_id)
    click.echo(
        f"{stored.record.name}: {stored.record.validity}, {len(stored.record.amendments)} correction(s)", err=True
    )


COMMAND = command
