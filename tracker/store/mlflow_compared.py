"""What a memo says of each run beside the baseline, as a tag and metrics that can be searched for.

Whether a run is faster than its baseline is not known when it is logged: the baseline may come later, and the interval
rests on all runs. So the memo writes it on the runs, and every later memo writes it anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

VS_BASELINE = "tracker.vs_baseline"
"""Tag: faster, slower, undecided, baseline or not compared; at the campaign's decision load, else the lowest one."""
AT = "tracker.vs_baseline_concurrency"
SPEEDUP = "speedup_over_baseline"
NOT_COMPARED = "not compared"
SHOWN_DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One run beside the baseline."""

    tags: Mapping[str, str]
    """Verdict and load."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """Speed over that of the baseline, with its 80 % interval."""


def compared(memo_json: bytes) -> dict[str, Compared]:
    """Return what a memo says of each run it compares, by the id it names the run by; nothing for another document."""
    try:
        memo = msgspec.json.decode(memo_json)
        verdict, rows = memo["verdict"], memo["evidence"]
        wanted = verdict["decision_concurrency"]
        baselines = {load["concurrency"]: load["baseline_run_id"] for load in verdict["by_concurrency"]}
    except (msgspec.MsgspecError, ValueError, KeyError, TypeError):
        return {}
    found: dict[str, Mapping[str, Any]] = {}
    for row in sorted(rows, key=lambda row: (row["concurrency"] != wanted, row["concurrency"] or 0)):
        if row["excluded_reason"] is None and row["speedup"]["value"] is not None:
            found.setdefault(row["run_id"], row)
    return {run_id: _compared(row, baselines.get(row["concurrency"])) for run_id, row in found.items()}


def _compared(row: Mapping[str, Any], baseline: str | None) -> Compared:
    speedup = row["speedup"]
    numbers = {SPEEDUP: speedup["value"], f"{SPEEDUP}_low": speedup["low"], f"{SPEEDUP}_high": speedup["high"]}
    verdict = "baseline" if row["run_id"] == baseline else _verdict(speedup)
    load = {} if row["concurrency"] is None else {AT: str(row["concurrency"])}
    return Compared(
        tags={VS_BASELINE: verdict, **load},
        metrics={key: float(f"{value:.{SHOWN_DIGITS}g}") for key, value in numbers.items() if value is not None},
    )


def _verdict(speedup: Mapping[str, float | None]) -> str:
    low, high = speedup["low"], speedup["high"]
    if low is not None and low > 1:
        return "faster"
    return "slower" if high is not None and high < 1 else "undecided"
