"""The strip below the verdict: one row a load, drawn and read out."""

from __future__ import annotations

from tracker.analysis.results import LoadVerdict
from tracker.domain.estimate import Estimate
from tracker.report import format as fmt
from tracker.report import numbers as num
from tracker.report._verdict_text import WORDS, load_words, runs_of, worded
from tracker.report.figures import StripData, StripRow
from tracker.report.reading import Reading
from tracker.report.spans import Part, Rich, Span, known, number, rich


def strip(reading: Reading) -> StripData | None:
    """Return the verdict strip: one row a load; None where nothing is new or nothing was compared."""
    if reading.state in ("nothing_new", "no_candidate", "no_drafter"):
        return None
    if reading.state == "no_baseline":
        return StripData(rows=(), bar_text=Span(text="no baseline run"))
    loads = [item for item in reading.analysis.verdict.by_concurrency if item.speedup.value is not None]
    single = len(loads) == 1 and reading.best is not None and reading.baseline is not None
    rows = tuple(_strip_row(reading, item, single=single) for item in loads)
    bar = num.tok_s(reading.baseline) if single and reading.baseline is not None else Span(text="1.0 = baseline")
    return StripData(rows=rows, bar_text=bar) if rows else None


def _strip_row(reading: Reading, item: LoadVerdict, *, single: bool) -> StripRow:
    value = known(item.speedup.value)
    text = num.speedup_ratio(item.speedup, runs_of(item))
    if single and reading.best is not None and reading.best.throughput_tok_s.value is not None:
        speed = reading.best.throughput_tok_s.value
        text = number(
            f"{fmt.throughput(speed)} tok/s",
            speed,
            "output tokens / wall seconds",
            [reading.best.run_id],
            unit="tok/s",
            kind="measured",
        )
    return StripRow(
        label=fmt.streams(item.concurrency),
        mark=item.status,
        speedup=value,
        low=item.speedup.low,
        high=item.speedup.high,
        text=text,
    )


def strip_title(reading: Reading) -> str:
    """Return the strip's title for screen readers."""
    return {"no_baseline": "Speed-up scale without a baseline"}.get(reading.state, "Speed-up over the baseline")


def strip_description(reading: Reading) -> Rich:
    """Return the strip's values for screen readers."""
    parts: list[Part] = []
    for item in reading.analysis.verdict.by_concurrency:
        if item.speedup.value is None:
            continue
        shown = worded(num.speedup_range(Estimate(low=item.speedup.low, high=item.speedup.high), runs_of(item)))
        parts += [
            "; " if parts else "",
            load_words(item.concurrency),
            ": ",
            num.speedup_ratio(item.speedup, runs_of(item), mark=""),
            rich(", 80 % interval ", shown) if shown else "",
            f", {WORDS[item.status].lower()}",
        ]
    return rich(*parts, ".") if parts else rich("There is no baseline to compare with.")
