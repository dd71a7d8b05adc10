"""`tracker adopt`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from tracker.cli import _context, _options, _print
from tracker.cli._terminal import printable

if TYPE_CHECKING:
    from tracker.workflows.adopt import AdoptOutcome
    from tracker.workflows.session import Session


@click.command("adopt")
@click.argument("run", required=False, metavar="[RUN]")
@click.option("--experiment", metavar="NAME", help="Adopt all trainings of this MLflow experiment.")
@click.option("--drafter", metavar="DIR_OR_NAME", help="The checkpoint it made: folder, Hub id, or name when served.")
@click.option("--target", metavar="DIR_OR_NAME", help="The model it was trained for.")
@click.option("--samples", type=click.IntRange(min=1), help="Training samples.")
@click.option("--tokens", type=click.IntRange(min=1), help="Training tokens.")
@click.option("--as", "form", metavar="TRAINER", help="Take the runs for those of specforge or speculators.")
@click.option("--unfinished", is_flag=True, help="Adopt a training that has not ended, as far as it has got.")
@click.option("--forget", is_flag=True, help="Take the adoption of RUN back, or the connection of the benchmark RUN.")
@click.option("--dry-run", is_flag=True, help="Read and print, add and remove nothing.")
@_options.as_json
@_options.tracking_uri
@click.pass_context
def command(ctx: click.Context, /, run: str | None, **options: Any) -> None:
    """Adopt a training that SpecForge or speculators wrote to MLflow itself.

    RUN is a run id, an unambiguous beginning of one, or a run name. The run stays where and as it is; a record, tags
    and links are added, and the drafter it made is connected to the benchmarks that served it and to later ones.
    Adopted again, only what is new is added. Run ids go to stdout, one a line.

    --forget removes what adopting RUN added and nothing of the trainer's; the benchmarks connected with it forget what
    they were told. Of a benchmark, it takes back its connection alone, for good.

    A campaign of adopted runs is the trainer's own MLflow experiment: `tracker campaign rename` and `delete` would act
    on that, and on runs that were not adopted; they refuse unless told --others-too.
    """
    from tracker.workflows.adopt import AdoptRequest, adopt_runs

    if options["forget"]:
        _forget(run, options, _context.session(options["tracking_uri"]))
        return

    request = AdoptRequest(
        run=run,
        experiment=options["experiment"],
        form=options["form"],
        drafter=options["drafter"],
        target=options["target"],
        samples=options["samples"],
        tokens=options["tokens"],
        unfinished=options["unfinished"],
        dry_run=options["dry_run"],
    )
    outcomes = adopt_runs(request, _context.session(options["tracking_uri"]))
    for outcome in outcomes:
        _tell(outcome)
    taken = [outcome for outcome in outcomes if outcome.status != "skipped"]
    if options["as_json"]:
        click.echo(json.dumps([_as_json(outcome) for outcome in outcomes], indent=2, ensure_ascii=False))
    else:
        for outcome in taken:
            click.echo(outcome.run.run_id)
    if not taken:
        none = "" if outcomes else ": no run in it is of SpecForge or speculators (tracker's own need no adoption)"
        click.echo(f"no training was adopted{none}", err=True)
        ctx.exit(1)


def _forget(run: str | None, options: dict[str, Any], session: Session) -> None:
    from tracker.errors import UsageError
    from tracker.workflows.adopt_forget import forget_run

    others = ("experiment", "form", "drafter", "target", "samples", "tokens", "unfinished", "as_json")
    if run is None or any(options[name] for name in others):
        raise UsageError("--forget takes one RUN, and beside it only --dry-run", hint="`tracker adopt RUN --forget`")
    done = forget_run(run, session, dry_run=options["dry_run"])
    would = "would be " if options["dry_run"] else ""
    if done.is_training:
        click.echo(printable(f"{would}forgotten: {done.name}; what its trainer wrote stays"), err=True)
    for benchmark in done.disconnected:
        click.echo(
            printable(f"  {would}disconnected: {benchmark.record.experiment} / {benchmark.record.name}"), err=True
        )
    for benchmark in done.named_by_hand:
        name = f"{benchmark.record.experiment} / {benchmark.record.name}"
        click.echo(printable(f"  left: {name} was logged with --training and this run, and still says so"), err=True)
    if done.left_behind is not None:
        click.echo(f"  the store deletes no artifacts: {done.left_behind} stays; delete it by hand", err=True)
    click.echo(done.run_id)


def _tell(outcome: AdoptOutcome) -> None:
    told = outcome.reason or f"{outcome.trainer}, {_size(outcome)}"
    click.echo(printable(f"{outcome.status}: {outcome.run.experiment} / {outcome.run.name}: {told}"), err=True)
    if outcome.record is not None:
        _print.findings(outcome.record.findings)
    for connection in outcome.connections:
        click.echo(printable(f"  {_print.connected(connection)}"), err=True)


def _size(outcome: AdoptOutcome) -> str:
    training = outcome.record.training if outcome.record is not None else None
    if training is None:
        return "no facts"
    facts = (
        ("samples", training.samples),
        ("tokens", training.tokens),
        ("optimizer steps", training.optimizer_steps),
        ("epochs", training.epochs),
    )
    return ", ".join(f"{value:,g} {name}" if isinstance(value, float) else f"{value:,} {name}"
                     for name, value in facts if value is not None) or "no sizes"  # fmt: skip


def _as_json(outcome: AdoptOutcome) -> dict[str, object]:
    from tracker.store import codec

    record = outcome.record
    return {
        "run_id": outcome.run.run_id,
        "experiment": outcome.run.experiment,
        "name": outcome.run.name,
        "status": outcome.status,
        "reason": outcome.reason,
        "trainer": outcome.trainer,
        "record": None if record is None else json.loads(codec.encode_record(record)),
        "connected": [item.benchmark.run_id for item in outcome.connections if not item.rivals],
        "ambiguous": [item.benchmark.run_id for item in outcome.connections if item.rivals],
    }


COMMAND = command
