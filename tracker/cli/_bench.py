"""What `tracker bench` makes of its options, and what it prints."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from tracker.cli import _durations, _print, _table
from tracker.errors import UsageError

if TYPE_CHECKING:
    from tracker.workflows.bench import BenchOutcome
    from tracker.workflows.bench_plan import BenchPlan


def plan(options: dict[str, Any]) -> BenchPlan:
    """Return what the options ask for.

    Raises:
        UsageError: A list of numbers or a span of time cannot be read.
        InputError: The prompts cannot be read.
    """
    from tracker.load.answers import Sampling
    from tracker.load.prompt_files import read_prompts
    from tracker.workflows.bench_plan import BenchPlan, Load, closed_loads

    prompts = read_prompts(options["prompts"])
    rates = _numbers(options["rate"], "--rate", whole=False)
    streams = options["concurrency"] or (None if rates else "1,8")
    count, requests = len(prompts.prompts), options["requests"]
    closed = closed_loads(
        tuple(int(value) for value in _numbers(streams, "--concurrency", whole=True)), prompts=count, requests=requests
    )
    return BenchPlan(
        prompts=prompts,
        loads=(*closed, *(Load(rate_per_s=rate, requests=requests or count) for rate in rates)),
        sampling=Sampling(
            max_output_tokens=options["output_tokens"],
            temperature=options["temperature"],
            top_p=options["top_p"],
            ignore_eos=not options["stop_at_eos"],
        ),
        repeats=options["repeats"],
        precision=None if options["precision"] is None else options["precision"] / 100,
        budget_s=None if options["budget"] is None else _durations.seconds(options["budget"], "--budget"),
        warmup_requests=options["warmup"],
        streamed_fraction=options["streamed"] / 100,
        flush_cache=not options["no_flush"],
        route=options["route"],
        model=options["model"],
        timeout_s=_durations.seconds(options["timeout"], "--timeout"),
        seed=options["seed"],
    )


def _numbers(text: str | None, option: str, *, whole: bool) -> tuple[float, ...]:
    """Return the numbers in `1,8,32`.

    Raises:
        UsageError: A part is no number above 0.
    """
    found: list[float] = []
    for part in (text or "").split(",") if text else []:
        try:
            value = float(int(part)) if whole else float(part)
        except ValueError:
            value = 0.0
        if not 0 < value < float("inf"):
            raise UsageError(f"{option} {text!r} holds {part.strip()!r}", hint=f"Write {option} 1,8,32.")
        found.append(value)
    return tuple(found)


def tell(outcomes: tuple[BenchOutcome, ...], *, as_json: bool) -> None:
    """Print tables and findings to stderr, run ids or JSON to stdout."""
    from tracker.store import codec

    for item in outcomes:
        record = item.record
        state = "" if record.validity == "ok" else f"  [{record.validity}: {record.validity_reason}]"
        click.echo(f"{record.experiment} / {record.name}{state}", err=True)
        click.echo(_cells(record.pooled()), err=True)
        _print.findings(record.findings)
        if item.error is not None:
            click.echo(f"  not in the store yet: {item.error}", err=True)
    if as_json:
        shown = [
            {"run_id": item.run_id, "spooled": None if item.spooled is None else str(item.spooled),
             "record": json.loads(codec.encode_record(item.record))}
            for item in outcomes
        ]  # fmt: skip
        click.echo(json.dumps(shown, indent=2, ensure_ascii=False))
        return
    for item in outcomes:
        if item.run_id is not None or item.spooled is not None:
            click.echo(item.run_id or str(item.spooled))


def _cells(cells: tuple[Any, ...]) -> str:
    heads = ("streams", "requests", "failed", "tok/s", "accept length", "TTFT ms", "TPOT ms", "latency ms")
    rows = [
        (
            _table.number(cell.concurrency, 0),
            _table.number(cell.requests_completed, 0),
            _table.number(cell.requests_failed, 0),
            _table.number(cell.output_throughput_tok_s, 1),
            _table.number(cell.accept_length, 3),
            *(_table.number(part.median_ms if part else None, 1)
              for part in (cell.ttft_ms, cell.tpot_ms, cell.e2e_latency_ms)),
        )
        for cell in cells
    ]  # fmt: skip
    return _table.render(heads, rows, right=set(range(len(heads))))
