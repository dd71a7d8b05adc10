"""evalscope perf's printed summary: a grid of keys and values.

Its decoded tokens per iteration and acceptance rate are estimated by the client from streamed chunks (a rate of
1 - 1/length), so they are kept under their own names and never taken for the server's.
"""

from __future__ import annotations

import re
from pathlib import Path

from tracker.domain.measurement import Latency, Measurement, Reported
from tracker.domain.workload import Workload
from tracker.errors import InputError
from tracker.importers import _identities, _normalise, _source
from tracker.importers.base import ImportedRun

_ROW = re.compile(r"^\|\s*(?P<key>[^|]{1,80}?)\s*\|\s*(?P<value>[^|]{0,80}?)\s*\|\s*$")
_RULE = re.compile(r"^\+[-=+]{20,}\+\s*$")
_HEAD = re.compile(rb"Benchmarking summary:\s*\n\+-+\+|^\| (Time taken for tests|Test Duration) \(s\) ", re.M)
# Names of the printed summary over the years.
_NAMES: dict[str, tuple[str, ...]] = {
    "wall_s": ("Time taken for tests (s)", "Test Duration (s)"),
    "concurrency": ("Number of concurrency", "Concurrency"),
    "completed": ("Succeed requests", "Success Requests"),
    "failed": ("Failed requests", "Failed Requests"),
    "throughput": ("Output token throughput (tok/s)", "Output Throughput (tok/s)"),
    "input_tokens": ("Average input tokens per request", "Avg Input Tokens"),
    "output_tokens": ("Average output tokens per request", "Avg Output Tokens"),
    "latency_s": ("Average latency (s)", "Avg Latency (s)"),
    "ttft_s": ("Average time to first token (s)",),
    "tpot_s": ("Average time per output token (s)",),
    "itl_s": ("Average inter-token latency (s)",),
    "ttft_ms": ("Avg TTFT (ms)",),
    "tpot_ms": ("Avg TPOT (ms)",),
    "itl_ms": ("Avg ITL (ms)",),
}
_ESTIMATED = (
    "Avg Decoded Tok/Iter",
    "Spec. Accept Rate",
    "Average decoded tokens per iter",
    "Approx. spec. acceptance rate",
)


class Evalscope:
    """evalscope's printed summary."""

    name = "evalscope"
    title = "evalscope perf summary as printed"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the text holds evalscope's summary."""
        return bool(_HEAD.search(head))

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return the one run.

        Raises:
            InputError: There is no whole row, or a value is no number.
        """
        values, ended, last = _values(path)
        if not values:
            raise InputError("the summary has no whole row", where=str(path), hint="Save the console up to its end.")
        numbers = {name: _number(values, keys, path) for name, keys in _NAMES.items()}
        cell = _cell(numbers, values)
        missing = None
        if numbers["throughput"] is None:
            missing = f"the summary names no output throughput; it ends after `{last}`"
        elif not ended:
            missing = f"the summary ends after `{last}`"
        return (
            ImportedRun(
                measurements=(cell,),
                workload=Workload(
                    input_tokens_mean=numbers["input_tokens"],
                    output_tokens_mean=numbers["output_tokens"],
                    concurrencies=() if cell.concurrency is None else (cell.concurrency,),
                ),
                findings=_identities.check(cell),
                missing=missing,
            ),
        )


def _values(path: Path) -> tuple[dict[str, str], bool, str]:
    """Return the rows by key, whether the grid is closed, and the last key."""
    values: dict[str, str] = {}
    closed, last = False, "nothing"
    for line in _source.lines(path):
        text = line.content.decode(errors="replace")
        if not line.ended:
            break
        if _RULE.match(text):
            closed = True
        elif (match := _ROW.match(text)) and match["key"] != "Key":
            closed, last = False, match["key"]
            values.setdefault(match["key"], match["value"])
    return values, closed, last


def _number(values: dict[str, str], keys: tuple[str, ...], path: Path) -> float | None:
    """Return the first of several names' number; None when it is not there or not available.

    Raises:
        InputError: The value is no number.
    """
    for key in keys:
        text = values.get(key, "")
        if text and text.upper() not in ("N/A", "NAN", "-1", "NONE"):
            value = _normalise.number(text)
            if value is None or value < 0:
                raise InputError(f"`{key}` is no number: {text[:40]}", where=str(path), hint="Correct that row.")
            return value
    return None


def _count(value: float | None) -> int | None:
    return int(value) if value is not None and value.is_integer() and value < 2**53 else None


def _latency(mean_ms: float | None, mean_s: float | None) -> Latency | None:
    """Return a latency from its mean in either unit; older versions print seconds, and 0 where there is none."""
    mean = mean_ms if mean_ms is not None else None if mean_s is None else 1000 * mean_s
    return Latency(mean_ms=mean) if mean else None


def _cell(numbers: dict[str, float | None], values: dict[str, str]) -> Measurement:
    throughput = numbers["throughput"]
    estimated = {key: number for key in _ESTIMATED if (number := _normalise.number(values.get(key, ""))) is not None}
    return Measurement(
        concurrency=_count(numbers["concurrency"]) or None,
        requests_completed=_count(numbers["completed"]),
        requests_failed=_count(numbers["failed"]),
        wall_s=numbers["wall_s"],
        reported_throughput_tok_s=None if throughput is None else Reported(value=throughput),
        ttft_ms=_latency(numbers["ttft_ms"], numbers["ttft_s"]),
        tpot_ms=_latency(numbers["tpot_ms"], numbers["tpot_s"]),
        itl_ms=_latency(numbers["itl_ms"], numbers["itl_s"]),
        e2e_latency_ms=_latency(None, numbers["latency_s"]),
        extra=estimated,
    )


IMPORTER = Evalscope()
