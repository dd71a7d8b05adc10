"""`tracker compare`."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

import click

from tracker.cli import _context, _options, _table
from tracker.cli._terminal import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tracker.analysis.head_to_head import Duel
    from tracker.domain.estimate import Estimate


@click.command("compare")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option("--experiment", metavar="NAME", help="Campaign to look for drafters in. Default: all.")
@_options.as_json
@_options.tracking_uri
def command(first: str, second: str, experiment: str | None, as_json: bool, tracking_uri: str | None) -> None:
    """Compare B with A at every load, paired by prompt; intervals are 80 %.

    A and B are runs (id, beginning of an id, or name) or drafters (name): all runs that served one.
    """
    from tracker.workflows.compare import compare_sides

    result = compare_sides(first, second, _context.session(tracking_uri), experiment=experiment)
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(duel) for duel in result.duels], indent=2, ensure_ascii=False))
        return
    click.echo(printable(f"A  {first}\nB  {second}"))
    heads = (
        "streams",
        "A run",
        "B run",
        "A tok/s",
        "B tok/s",
        "B over A",
        "80 %",
        "A accepts",
        "B accepts",
        "prompts",
        "B is",
    )
    rows = [_cells(duel, result.names) for duel in result.duels]
    click.echo(_table.render(heads, rows, right={0, 3, 4, 5, 6, 7, 8, 9}))
    for caveat in dict.fromkeys(duel.caveat for duel in result.duels if duel.caveat):
        click.echo(printable(f"note: {caveat}"), err=True)


def _cells(duel: Duel, names: Mapping[str, str]) -> tuple[str, ...]:
    return (
        _table.number(duel.concurrency, 0),
        names[duel.first_run_id],
        names[duel.second_run_id],
        _table.number(duel.first_tok_s, 1),
        _table.number(duel.second_tok_s, 1),
        _table.number(duel.speedup.value, 3),
        _interval(duel.speedup),
        _table.number(duel.first_accept_length, 2),
        _table.number(duel.second_accept_length, 2),
        _table.number(duel.prompts_in_common, 0),
        duel.outcome,
    )


def _interval(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return "–"
    return f"{estimate.low:.2f}–{estimate.high:.2f}"


COMMAND = command
