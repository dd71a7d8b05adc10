"""What `tracker bench` makes of its options, and what it prints."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from tracker.cli import _durations, _print, _table
from tracker.errors import UsageError

if TYPE_CHECKING:
    from tracker.domain.record import RunRecord
    from tracker.load.prompts import PromptSet
    from tracker.workflows.bench import BenchOutcome
    from tracker.workflows.bench_plan import BenchPlan

# A data set like ShareGPT has a hundred thousand.
MAX_DEFAULT_PROMPTS = 500


def plan(options: dict[str, Any]) -> BenchPlan:
    """Return what the options ask for.

    Raises:
        UsageError: A list of numbers or a span of time cannot be read.
        InputError: The prompts cannot be read.
    """
    from tracker.load.answers import Sampling
    from tracker.load.chat_template import read_chat_template
    from tracker.load.prompt_files import read_prompts
    from tracker.workflows.bench_plan import REQUESTS_PER_STREAM, BenchPlan, Load, closed_loads

    rates = _numbers(options["rate"], "--rate", whole=False)
    streams = options["concurrency"] or (None if rates else "1,8")
    concurrencies = tuple(int(value) for value in _numbers(streams, "--concurrency", whole=True))
    requests = options["requests"]
    most = requests or max(MAX_DEFAULT_PROMPTS, REQUESTS_PER_STREAM * max(concurrencies, default=0))
    prompts = _first(read_prompts(options["prompts"]), most)
    count = len(prompts.prompts)
    closed = closed_loads(concurrencies, prompts=min(count, MAX_DEFAULT_PROMPTS), requests=requests)
    return BenchPlan(
        prompts=prompts,
        loads=(
            *closed,
            *(Load(rate_per_s=rate, requests=requests or min(count, MAX_DEFAULT_PROMPTS)) for rate in rates),
        ),
        sampling=Sampling(
            max_output_tokens=options["output_tokens"],
            temperature=options["temperature"],
            top_p=options["top_p"],
            ignore_eos=not options["stop_at_eos"],
        ),
        repeats=options["repeats"],
        precision=None if options["precision"] is None else options["precision"] / 100,
        budget_s=None if options["budget"] is None else _span(options["budget"], "--budget"),
        warmup_requests=options["warmup"],
        streamed_fraction=options["streamed"] / 100,
        flush_cache=not options["no_flush"],
        route=options["route"],
        model=options["model"],
        chat_template=None if options["chat_template"] is None else read_chat_template(options["chat_template"]),
        thinking=_thinking(options),
        timeout_s=_span(options["timeout"], "--timeout"),
        seed=options["seed"],
    )


def _span(text: str, option: str) -> float:
    """Return a span of time in seconds.

    Raises:
        UsageError: Not a span, or an empty one.
    """
    found = _durations.seconds(text, option)
    if found <= 0:
        raise UsageError(f"{option} {text!r} leaves no time", hint=f"Write {option} 90s, 9m or 1.5h.")
    return found


def _first(prompts: PromptSet, count: int) -> PromptSet:
    """Return the prompts that a pass sends, so that the set's digest is that of what was measured."""
    import dataclasses

    if len(prompts.prompts) <= count:
        return prompts
    click.echo(f"{count:,} of the {len(prompts.prompts):,} prompts in {prompts.name} are sent", err=True)
    return dataclasses.replace(prompts, prompts=prompts.prompts[:count])


def _thinking(options: dict[str, Any]) -> bool | None:
    """Return the thinking switch.

    Raises:
        UsageError: Nothing would carry it to the model.
    """
    if options["thinking"] is None:
        return None
    if options["chat_template"] is None and options["route"] != "openai-chat":
        raise UsageError(
            "--thinking is a switch of the chat template, and none is used",
            hint="Add --chat-template MODEL_FOLDER, or --route openai-chat.",
        )
    return bool(options["thinking"] == "on")


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
        _print.run_line(record)
        click.echo(_cells(record), err=True)
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


def _cells(record: RunRecord) -> str:
    from tracker.workflows.bench_precision import half_width

    heads = ("streams", "requests", "failed", "tok/s", "±", "steady", "accept length", "by position", "TTFT ms",
             "TPOT ms", "latency ms")  # fmt: skip
    rows = []
    for cell in record.pooled():
        repeats = [
            part.output_throughput_tok_s
            for part in record.measurements
            if part.concurrency == cell.concurrency and part.repeat is not None and part.category is None
        ]
        width = None if None in repeats else half_width([value for value in repeats if value is not None])
        rows.append(
            (
                _table.number(cell.concurrency, 0),
                _table.number(cell.requests_completed, 0),
                _table.number(cell.requests_failed, 0),
                _table.number(cell.output_throughput_tok_s, 1),
                "–" if width is None else f"{100 * width:.1f} %",
                _table.number(cell.extra.get("steady_output_throughput_tok_s"), 1),
                _table.number(cell.accept_length, 3),
                " ".join(f"{rate:.2f}" for rate in cell.position_rates or ()) or "–",
                *(_table.number(part.median_ms if part else None, 1)
                  for part in (cell.ttft_ms, cell.tpot_ms, cell.e2e_latency_ms)),
            )
        )  # fmt: skip
    # A column that nothing fills says nothing.
    kept = [index for index in range(len(heads)) if index < 4 or any(row[index] != "–" for row in rows)]
    return _table.render(
        tuple(heads[index] for index in kept),
        [tuple(row[index] for index in kept) for row in rows],
        right=set(range(len(kept))),
    )
