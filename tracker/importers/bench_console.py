"""The table that serving benchmarks print at their end (vLLM, SGLang), from a saved console, log prefixes included.

Peak throughput and ITL count chunks, not tokens, once the server speculates.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tracker.domain.finding import Finding
from tracker.domain.measurement import Latency, Measurement, Reported
from tracker.domain.server import Speculation
from tracker.domain.workload import Workload
from tracker.errors import InputError
from tracker.importers import _identities, _normalise, _serving, _source, _spec_block, sglang_bench_serving
from tracker.importers.base import ImportedRun

_TITLE = re.compile(r"=+ (Offline Throughput |Serving )?Benchmark Result =+")
_END = re.compile(r"={20,}\s*$")
_VALUE = re.compile(
    r"(?P<label>(?:Successful|Failed|Maxi?m?u?m? req\w+|Request|Traffic request|Benchmark|Total|Output|Input|Peak|"
    r"Backend|Concurrency|Accept|Acceptance|Draft|Drafts|Accepted|Mean|Median|P\d+|Position)\b[^:\n]*):\s+"
    r"(?P<value>\S+)\s*$"
)
_LATENCY = re.compile(r"(Mean|Median|P90|P99) (TTFT|TPOT|ITL|E2EL|E2E Latency) \(ms\)")
_POSITION = re.compile(r"Position (\d+)")
_LABELS = {
    "successful requests": "completed",
    "failed requests": "failed",
    "request rate configured (rps)": "rate",
    "traffic request rate": "rate",
    "benchmark duration (s)": "wall_s",
    "total input tokens": "input_tokens",
    "total generated tokens": "output_tokens",
    "output token throughput (tok/s)": "throughput",
    "accept length": "cumulative_length",
    "acceptance length": "length",
    "acceptance rate (%)": "rate_pct",
    "drafts": "steps",
    "draft tokens": "proposed",
    "accepted tokens": "accepted",
    "backend": "backend",
}
# SGLang printed `Max reqeuest concurrency` for years.
_CONCURRENCY = re.compile(r"maxi?m?u?m? req\w+ concurrency")
_PEAK = "Peak output token throughput (tok/s)"
_EXTRA = re.compile(
    r"(request|input token|total token|peak output token) throughput.*|peak concurrent requests|concurrency"
)


@dataclass(slots=True)
class _Table:
    """The lines of one printed result."""

    values: dict[str, str] = field(default_factory=dict)
    latencies: dict[str, dict[str, float]] = field(default_factory=dict)
    positions: dict[int, Reported] = field(default_factory=dict)
    extra: dict[str, float] = field(default_factory=dict)
    last_label: str = ""
    ended: bool = False


class BenchConsole:
    """Printed results of serving benchmarks."""

    name = "bench_console"
    title = "console of vllm bench serve or SGLang bench_serving, as printed or as logged"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the text holds the printed table."""
        text = head.decode(errors="replace")
        return "Total generated tokens:" in text and (
            "Request throughput (req/s):" in text or bool(_TITLE.search(text))
        )

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return the runs whose results the text holds.

        Raises:
            InputError: There is no result in it, or a value is no number.
        """
        tables = _tables(path)
        if not tables:
            raise InputError(
                "there is no benchmark result in it", where=str(path), hint="Save the console up to its end."
            )
        single = len(tables) == 1
        return tuple(_run(table, None if single else row) for row, table in enumerate(tables))


def _tables(path: Path) -> list[_Table]:
    """Return the printed results; a title or a repeated label begins the next one."""
    tables: list[_Table] = []
    current: _Table | None = None
    for line in _source.lines(path):
        text = line.content.decode(errors="replace")
        if _TITLE.search(text):
            current = None
            continue
        if current is not None and _END.search(text) and line.ended:
            current.ended = True
            current = None
            continue
        match = _VALUE.search(text)
        if match is None or not line.ended:
            continue
        label = match["label"].strip()
        if current is None or label in current.values:
            current = _Table()
            tables.append(current)
        _place(current, label, match["value"], f"{path}:{line.number}")
    return [table for table in tables if "Total generated tokens" in table.values or table.latencies]


def _place(table: _Table, label: str, value: str, where: str) -> None:
    """Put one line's value where it belongs.

    Raises:
        InputError: A value that must be a number is none.
    """
    table.values[label] = value
    table.last_label = label
    if label == "Backend" or value in ("inf", "trace", "not"):
        return
    number = _normalise.reported(value)
    known = _LATENCY.fullmatch(label) or _POSITION.fullmatch(label) or label.lower() in _LABELS
    if number is None:
        if known:
            raise InputError(f"`{label}` is no number: {value[:40]}", where=where, hint="Correct that line.")
        return
    if match := _LATENCY.fullmatch(label):
        statistic, quantity = match[1].lower(), match[2].lower().split()[0].replace("e2el", "e2e")
        table.latencies.setdefault(quantity, {})[f"{statistic}_ms"] = number.value
    elif match := _POSITION.fullmatch(label):
        # Only vLLM prints positions, always in per cent.
        table.positions[int(match[1])] = Reported(value=number.value / 100)
    elif _EXTRA.fullmatch(label.lower()):
        table.extra[label] = number.value


def _run(table: _Table, row: int | None) -> ImportedRun:
    """Return the run of one printed result."""
    named = {_LABELS.get(label.lower()): value for label, value in table.values.items()}
    values = {key: value for key, value in named.items() if key is not None}
    concurrency = next((value for label, value in table.values.items() if _CONCURRENCY.fullmatch(label.lower())), None)
    # vLLM prints a rate and no backend, and counts chunks; SGLang prints its backend.
    chunks = "rate_pct" in values or (
        values.get("backend", "").startswith("sglang-oai") and "cumulative_length" in values
    )
    cell, peak = _serving.with_peak(_measurement(values, concurrency, table), _PEAK, counts_chunks=chunks)
    positions = [table.positions[index].value for index in sorted(table.positions)]
    findings: list[Finding] = list(_identities.check(cell, position_rates=positions or None))
    if "cumulative_length" in values:
        findings.append(sglang_bench_serving.CUMULATIVE)
    findings += peak
    cell, spec, derived = _with_drafts(cell, len(positions))
    findings += derived
    return ImportedRun(
        row=row,
        measurements=(cell,),
        workload=_workload(values, cell),
        speculation=spec,
        engine=None if "backend" not in values else values["backend"].split("-")[0],
        findings=_identities.merge(findings),
        missing=None if table.ended else f"the printed result ends after `{table.last_label}`",
    )


def _with_drafts(cell: Measurement, positions: int) -> tuple[Measurement, Speculation | None, tuple[Finding, ...]]:
    """Return the cell, what it says about the drafts, and a finding where its accept length had to be derived."""
    steps, proposed = cell.verify_steps, cell.proposed_drafts
    if steps and proposed and proposed % steps == 0:
        return cell, _drafting(proposed // steps), ()
    if positions:
        return cell, _drafting(positions), ()
    rate, gaps, itl, tpot = cell.reported_accept_rate, None, cell.itl_ms, cell.tpot_ms
    if rate is not None and cell.accept_length is None and itl is not None and tpot is not None:
        gaps = _normalise.drafts_from_gaps(rate, itl_ms=itl.mean_ms or 0.0, tpot_ms=tpot.mean_ms or 0.0)
    if rate is None or gaps is None:
        return cell, _spec_block.seen((cell,)) or (None if rate is None else Speculation(enabled=True)), ()
    width = None if rate.half_width is None else gaps * rate.half_width
    length = Reported(value=1 + gaps * rate.value, half_width=width)
    finding = Finding(
        code="ACCEPT_LENGTH_FROM_RATE",
        severity="info",
        message=f"No accept length is printed. A rate of {rate.value:.2%} and ITL over TPOT agree on {gaps} drafts a "
        f"step, so that it is 1 + {gaps} x {rate.value:.4f} = {length.value:.2f}.",
        fix="Save the console up to its end, or give the server's log or counters.",
        confidence="medium",
    )
    return dataclasses.replace(cell, reported_accept_length=length), _drafting(gaps), (finding,)


def _drafting(drafts: int) -> Speculation:
    return Speculation(enabled=True, num_steps=drafts, num_draft_tokens=drafts + 1)


def _measurement(values: Mapping[str, str], concurrency: str | None, table: _Table) -> Measurement:
    length = values.get("length", values.get("cumulative_length"))
    rate = None if "rate_pct" not in values else _normalise.reported(values["rate_pct"], scale=0.01)
    return Measurement(
        concurrency=_count(concurrency) or None,
        requests_completed=_count(values.get("completed")),
        requests_failed=_count(values.get("failed")),
        input_tokens=_count(values.get("input_tokens")),
        output_tokens=_count(values.get("output_tokens")),
        wall_s=None if "wall_s" not in values else _normalise.number(values["wall_s"]),
        verify_steps=_count(values.get("steps")),
        accepted_drafts=_count(values.get("accepted")),
        proposed_drafts=_count(values.get("proposed")),
        reported_throughput_tok_s=_normalise.reported(values.get("throughput", "")),
        reported_accept_length=None if length is None else _normalise.reported(length),
        reported_accept_rate=rate,
        accept_rate_convention=None if rate is None else "accepted_over_proposed",
        ttft_ms=_latency(table, "ttft"),
        tpot_ms=_latency(table, "tpot"),
        itl_ms=_latency(table, "itl"),
        e2e_latency_ms=_latency(table, "e2e"),
        extra=table.extra,
    )


def _latency(table: _Table, quantity: str) -> Latency | None:
    """Return one latency; the tools print 0 where no request had one."""
    values = table.latencies.get(quantity)
    return None if values is None or values.get("mean_ms") == 0 else Latency(**values)


def _count(text: str | None) -> int | None:
    """Return a whole number; None where the text is none."""
    value = None if text is None else _normalise.number(text)
    return int(value) if value is not None and value.is_integer() and 0 <= value < 2**53 else None


def _workload(values: Mapping[str, str], cell: Measurement) -> Workload:
    done = cell.requests_completed
    rate = _normalise.number(values.get("rate", ""))
    return Workload(
        input_tokens_mean=cell.input_tokens / done if cell.input_tokens is not None and done else None,
        output_tokens_mean=cell.output_tokens / done if cell.output_tokens is not None and done else None,
        concurrencies=() if cell.concurrency is None else (cell.concurrency,),
        request_rate_per_s=rate if rate else None,
    )


IMPORTER = BenchConsole()
