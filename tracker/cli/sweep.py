"""`tracker sweep`."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tracker.cli import _context, _durations, _options, _print, _progress, _table
from tracker.errors import TrackerError, UsageError

if TYPE_CHECKING:
    from tracker.workflows.sweep import SweepResult
    from tracker.workflows.sweep_adaptive import Ranking
    from tracker.workflows.sweep_check import Checked
    from tracker.workflows.sweep_estimate import Estimate
    from tracker.workflows.sweep_plan import Arm, SweepPlan

LINT_EXIT = 3
FAILED_EXIT = 1
INTERRUPT_EXIT = 130


@click.command("sweep")
@click.argument("campaign", type=click.Path(readable=False, path_type=Path))
@click.option("--plan", "plan_only", is_flag=True, help="Print servers, checks and expected time, and stop.")
@click.option(
    "--models",
    type=click.Path(readable=False, path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder of target and drafters. Default: the campaign's.",
)
@click.option(
    "--out",
    type=click.Path(readable=False, path_type=Path, file_okay=False),
    metavar="DIR",
    help="Results, logs and state. Default: sweeps/NAME.",
)
@click.option(
    "--spool",
    type=click.Path(readable=False, path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write records here and contact no store; `tracker sync DIR` logs them later.",
)
@click.option("--allow", multiple=True, metavar="CODE", help="Start servers in spite of this check; repeatable.")
@click.option("--only", multiple=True, metavar="NAME", help="Only this server (and the baseline); repeatable.")
@click.option(
    "--budget",
    metavar="TIME",
    help="Begin no further server after this time, e.g. 9m, 2h; what promises most comes first (see --adaptive).",
)
@click.option(
    "--adaptive/--in-order",
    default=None,
    help="Measure next what promises the largest improvement per GPU-hour, and say why; or keep the order of the file. "
    "Default: adaptive with --budget.",
)
@click.option("--retry-failed", is_flag=True, help="Try servers again that failed or were refused before.")
@_options.as_json
@_options.tracking_uri
@click.pass_context
def command(ctx: click.Context, /, campaign: Path, plan_only: bool, **options: Any) -> None:
    """Start every server of CAMPAIGN's [sweep], check it, measure it, and log it.

    CAMPAIGN is a campaign.toml or its folder. A server whose flags do not fit its checkpoint is refused and recorded as
    such. An interrupted sweep goes on where it stopped when it is called again. With --budget the next server is chosen
    by expected improvement, under the analysis that the memo uses. Run ids, or with --spool the paths of the records,
    go to stdout. Exits with 3 when a server was refused, with 1 when
    no server but the baseline could be measured.
    """
    from tracker.workflows.sweep_check import check_all
    from tracker.workflows.sweep_estimate import estimate
    from tracker.workflows.sweep_plan import read_sweep
    from tracker.workflows.sweep_state import load_state

    plan = read_sweep(campaign, models=options["models"])
    _refuse_unknown(options["only"], plan)
    if options["adaptive"] is None:
        options["adaptive"] = options["budget"] is not None
    if plan_only:
        only = options["only"]
        found = check_all(plan, allow=options["allow"])
        checks = tuple(item for item in found if not only or item.arm.is_baseline or item.arm.name in only)
        ranking = _ranking(plan, checks, options) if options["adaptive"] else None
        done = load_state(_out(plan, options), retry_failed=options["retry_failed"]).done
        _print_plan(plan, checks, estimate(plan, checks, done=done), ranking, as_json=options["as_json"])
        ctx.exit(LINT_EXIT if any(item.refused_by for item in checks) else 0)
    result = _run(plan, options)
    if result.interrupted:
        ctx.exit(INTERRUPT_EXIT)
    if any((record.validity_reason or "").startswith("refused") for record in result.records):
        ctx.exit(LINT_EXIT)
    candidates = [record for record in result.records if record.role != "baseline"]
    if candidates and all(record.validity == "invalid" for record in candidates):
        ctx.exit(FAILED_EXIT)


def _run(plan: SweepPlan, options: dict[str, Any]) -> SweepResult:
    from tracker.workflows.sweep import SweepOptions, log_results, run_sweep

    session = _context.session(options["tracking_uri"])
    spool = options["spool"]
    chosen = SweepOptions(
        out=_out(plan, options),
        spool=spool if spool is not None else session.spool.folder,
        allow=options["allow"],
        only=options["only"],
        budget_s=None if options["budget"] is None else _durations.seconds(options["budget"], "--budget"),
        adaptive=options["adaptive"],
        retry_failed=options["retry_failed"],
    )
    with _says_what_waits(chosen.spool):
        with _progress.Line() as line, _progress.ends_when_told():
            result = run_sweep(plan, chosen, session, tell=line.tell, on_progress=line.bench)
        ids = [] if spool is not None else log_results(plan, result, session, tell=line.tell)
    _tell(result, ids, spool, as_json=options["as_json"])
    return result


@contextlib.contextmanager
def _says_what_waits(folder: Path) -> Iterator[None]:
    """Say where the records are when the body ends before they are sent."""
    try:
        yield
    except (TrackerError, KeyboardInterrupt):
        waiting = len(tuple(folder.glob("*.run")))
        if waiting:
            click.echo(f"records waiting in {folder}: {waiting}; send them with `tracker sync {folder}`", err=True)
        raise


def _out(plan: SweepPlan, options: dict[str, Any]) -> Path:
    return options["out"] or Path("sweeps") / plan.campaign.campaign.name


def _ranking(plan: SweepPlan, checks: tuple[Checked, ...], options: dict[str, Any]) -> Ranking:
    from tracker.workflows.sweep_adaptive import rank_left

    return rank_left(plan, checks, _out(plan, options), only=options["only"], retry_failed=options["retry_failed"])


def _tell(result: SweepResult, ids: list[str], spool: Path | None, *, as_json: bool) -> None:
    if result.before:
        failed = f", {len(result.failed_before)} of them failed or refused" if result.failed_before else ""
        click.echo(f"{result.before} done by an earlier call{failed}", err=True)
    if result.failed_before:
        click.echo(f"try again with --retry-failed: {', '.join(result.failed_before)}", err=True)
    if result.left:
        click.echo(f"left for the next call: {', '.join(result.left)}", err=True)
    if as_json:
        shown = {
            "runs": [
                {
                    "name": item.name,
                    "record_id": item.record_id,
                    "validity": item.validity,
                    "reason": item.validity_reason,
                }
                for item in result.records
            ],
            "run_ids": ids,
            "spooled": [] if spool is None else [str(path) for path in result.spooled],
            "left": list(result.left),
            "interrupted": result.interrupted,
        }
        click.echo(json.dumps(shown, indent=2, ensure_ascii=False))
        return
    for item in result.spooled if spool is not None else ids:
        click.echo(str(item))


def _refuse_unknown(only: tuple[str, ...], plan: SweepPlan) -> None:
    known = [arm.name for arm in plan.arms]
    unknown = next((name for name in only if name not in known), None)
    if unknown is not None:
        raise UsageError(f"--only {unknown!r} names no server", where=plan.where, hint=f"Known: {', '.join(known)}.")


def _print_plan(
    plan: SweepPlan, checks: tuple[Checked, ...], expected: Estimate, ranking: Ranking | None, *, as_json: bool
) -> None:
    if as_json:
        click.echo(json.dumps(_plan_as_json(plan, checks, expected, ranking), indent=2, ensure_ascii=False))
        return
    rows = [
        (item.arm.name, item.arm.drafter or "–", _state(item), " ".join(_own(item.arm, plan)) or "–") for item in checks
    ]
    click.echo(f"flags of every server: {' '.join(plan.common)}")
    click.echo(_table.render(("server", "drafter", "check", "own flags"), rows))
    for item in checks:
        shown = [found for found in item.findings if found.severity != "info"]
        if shown:
            click.echo(f"{item.arm.name}:", err=True)
            _print.findings(shown)
    for sentence in sorted({sentence for item in checks for sentence in item.unseen}):
        click.echo(sentence, err=True)
    if plan.baseline is None:
        click.echo(
            "no [sweep.baseline]: a speedup will need a plain server's run that is in this campaign already", err=True
        )
    click.echo(f"asked of each: {_asked(plan)}")
    hours = expected.gpu_hours
    click.echo(
        f"expected: {expected.servers} servers in {expected.batches} batches, "
        f"{expected.baseline_measurements} baseline measurements, about {expected.total_s / 60:.0f} minutes"
        + (f", {hours:.2f} GPU-hours" if hours is not None else "")
        + (f"; {expected.done_before} done by an earlier call" if expected.done_before else "")
    )
    if ranking is not None:
        click.echo("in this order, chosen anew after each server:")
        for ranked in ranking.order:
            click.echo(f"  {ranked.name}: {ranked.reason}")
    click.echo(f"assuming {expected.assumes}", err=True)


def _own(arm: Arm, plan: SweepPlan) -> list[str]:
    """Return the variables and flags that not all servers have."""
    shared = plan.table.environment
    variables = [f"{name}={value}" for name, value in arm.environment.items() if shared.get(name) != value]
    return [*variables, *arm.argv[len(plan.common) :]]


def _asked(plan: SweepPlan) -> str:
    if plan.table.command is not None:
        return f"your own benchmark, {plan.table.command}"
    bench = plan.bench
    loads = ", ".join(f"{load.requests} requests at {load}" for load in bench.loads)
    prompts = f"prompts {bench.prompts.name} ({len(bench.prompts.prompts)})"
    if bench.chat_template is not None:
        prompts += f" in the chat template of {plan.table.workload.chat_template}"
    if bench.thinking is not None:
        prompts += f", thinking {'on' if bench.thinking else 'off'}"
    return f"{loads}; {bench.sampling.max_output_tokens} tokens, {bench.repeats} time(s), {prompts}"


def _state(item: Checked) -> str:
    if item.refused_by:
        return f"refused: {', '.join(found.code for found in item.refused_by)}"
    allowed = [found.code for found in item.findings if found.severity == "error"]
    return f"allowed: {', '.join(allowed)}" if allowed else "ok"


def _plan_as_json(
    plan: SweepPlan, checks: tuple[Checked, ...], expected: Estimate, ranking: Ranking | None
) -> dict[str, object]:
    order = None if ranking is None else [dataclasses.asdict(item) for item in ranking.order]
    return {
        **({} if order is None else {"order": order}),
        "servers": [
            {
                "name": item.arm.name,
                "baseline": item.arm.is_baseline,
                "argv": list(item.arm.argv),
                "environment": dict(item.arm.environment),
                "refused_by": [found.code for found in item.refused_by],
                "findings": [found.code for found in item.findings],
                "unseen": list(item.unseen),
            }
            for item in checks
        ],
        "expected": {
            "done_before": expected.done_before,
            "batches": expected.batches,
            "baseline_measurements": expected.baseline_measurements,
            "total_s": expected.total_s,
            "gpu_hours": expected.gpu_hours,
            "assumes": expected.assumes,
        },
    }


COMMAND = command
