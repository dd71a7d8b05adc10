"""What became of runs that were copied from another store or an exported folder, printed alike by the commands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import click

from tracker.cli._terminal import printable

if TYPE_CHECKING:
    from tracker.store.copying import CopyOutcome


def tell(ctx: click.Context, outcomes: Iterable[CopyOutcome], *, nothing: str, named: Collection[str] = ()) -> None:
    """Print run ids to stdout and a count to stderr, as they come; exit with 1 when a run was not taken.

    Args:
        ctx: The command's context.
        outcomes: What became of each run.
        nothing: What is said when there was none.
        named: Statuses of which every run is named on stderr; runs with an error always are.
    """
    counts: Counter[str] = Counter()
    for outcome in outcomes:
        counts[outcome.status] += 1
        error = "" if outcome.error is None else f": {outcome.error}"
        if error or outcome.status in named:
            click.echo(printable(f"{outcome.status}: {outcome.experiment} / {outcome.name}{error}"), err=True)
        if outcome.run_id is not None:
            click.echo(outcome.run_id)
    click.echo(", ".join(f"{count} {status}" for status, count in counts.items()) or nothing, err=True)
    if counts["conflict"] or counts["failed"]:
        ctx.exit(1)
