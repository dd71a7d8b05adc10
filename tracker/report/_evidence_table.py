"""Every run in one table a load, the worst included."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tracker.analysis.results import CampaignAnalysis, Point
from tracker.report import format as fmt
from tracker.report import numbers as num
from tracker.report.reading import Reading, in_noise, paired
from tracker.report.spans import Part, Rich, Span, capital, code, label, number, quote, rich
from tracker.report.view_parts import Cell, RowHead, RowRole, TableRow, TableView

CODE = re.compile(r"^[A-Z][A-Z0-9_]+: ")
_FLAG = re.compile(r"(--[a-z][a-z0-9-]*)")
_LOADS = re.compile(r"(?:^|, )\d[\d,]*(?:, \d[\d,]*)*(?: and \d[\d,]*)? streams?(?=,|$)")
_LENGTH = "1 + accepted drafts / verify steps"
_STEP = "busy time / verify steps"


def evidence_tables(reading: Reading) -> Iterator[TableView]:
    """Yield one table a load, the headline's load first."""
    loads = list(dict.fromkeys(point.concurrency for point in reading.analysis.points))
    loads.sort(key=lambda load: (load != reading.load, -1 if load is None else load))
    for load in loads:
        yield _table(reading, load, alone=len(loads) == 1)


def _table(reading: Reading, load: int | None, *, alone: bool) -> TableView:
    points = [point for point in reading.analysis.points if point.concurrency == load]
    baseline = _baseline(reading, load)
    what = every(reading.analysis)
    caption = rich(f"{what}, worst included") if alone else rich(f"{what} at ", _streams(load))
    against = "against baseline"
    if baseline is not None and baseline.throughput_tok_s.value is not None:
        against = f"against {fmt.throughput(baseline.throughput_tok_s.value)}"
    return TableView(
        key=f"evidence-{'all' if load is None else load}",
        caption=caption,
        conditions=_conditions(reading, points, scoped=alone or load == reading.load, alone=alone),
        head="Configuration",
        columns=("tok/s", against, "accept length", "step, ms", "break-even", "still needs", "run"),
        rows=tuple(_row(reading, point, baseline, _decimals(points)) for point in points),
        run_column=6,
    )


def every(analysis: CampaignAnalysis) -> str:
    """Return what the tables hold: of a campaign of very many runs each kind, which must not be read as every run."""
    thinned = any(note.topic.lower() == "runs left aside" for note in analysis.data_quality)
    return "Every kind of run" if thinned else "Every run"


def _baseline(reading: Reading, load: int | None) -> Point | None:
    verdict = next((v for v in reading.analysis.verdict.by_concurrency if v.concurrency == load), None)
    return None if verdict is None else reading.point(verdict.baseline_run_id, load)


def _streams(load: int | None) -> Rich:
    if load is None:
        return rich("an unrecorded load")
    return rich(
        number(str(load), load, "concurrency, as measured", kind="measured"), " stream" if load == 1 else " streams"
    )


def _conditions(reading: Reading, points: Sequence[Point], *, scoped: bool, alone: bool) -> Rich:
    scope = reading.analysis.verdict.scope if scoped else ""
    if not alone:
        scope = _LOADS.sub("", scope).strip(", ")  # the caption names the one load of this table
    parts: list[Part] = [quote(capital(scope), "verdict.scope"), "." if scope else ""]
    small = []
    if any(point.break_even or point.accept_length.low or point.step_time_ms.low for point in points):
        small.append("80 % interval")
    if any(point.accept_length_rounding or point.step_time_rounding_ms for point in points):
        small.append("in brackets what rounding alone leaves open")
    load = points[0].concurrency if points else None
    verdict = next((item for item in reading.analysis.verdict.by_concurrency if item.concurrency == load), None)
    if verdict is not None and paired(reading, verdict):
        parts.append(" Differences to the baseline: on the prompts that both runs answered.")
    return rich(*parts, f" Small figures: {'; '.join(small)}." if small else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decimals:
    """Decimals of the columns: equal within a column."""

    tok_s: int
    step_ms: int


def _decimals(points: Sequence[Point]) -> _Decimals:
    fastest = max((point.throughput_tok_s.value or 0.0 for point in points), default=0.0)
    longest = max((point.step_time_ms.value or 0.0 for point in points), default=0.0)
    return _Decimals(tok_s=1 if fastest < 200 else 0, step_ms=num.step_decimals(longest))


def _row(reading: Reading, point: Point, baseline: Point | None, decimals: _Decimals) -> TableRow:
    verdict = next((v for v in reading.analysis.verdict.by_concurrency if v.concurrency == point.concurrency), None)
    is_baseline = baseline is not None and point.run_id == baseline.run_id
    is_best = verdict is not None and point.run_id == verdict.best_run_id
    role: RowRole = (
        "excluded" if point.excluded_reason else "baseline" if is_baseline else "best" if is_best else "plain"
    )
    tag = {"baseline": "to beat", "best": "best"}.get(role)
    return TableRow(
        head=RowHead(text=rich(label(capital(reading.names.row(point)))), tag=tag, small=_small(reading, point)),
        cells=(
            Cell(text=_throughput(point, decimals.tok_s)),
            Cell(text=_against(point, baseline, is_baseline=is_baseline)),
            _length_cell(point),
            _step_cell(point, decimals.step_ms),
            _bar_cell(point),
            _needs_cell(point),
            Cell(text=rich(reading.names.run(point.run_id))),
        ),
        role=role,
    )


def _small(reading: Reading, point: Point) -> tuple[Rich, ...]:
    lines: list[Rich] = []
    if point.deployed:
        lines.append(rich("deployed now"))
    if point.step_time_only:
        lines.append(rich("acceptance simulated: step time only"))
    if not point.is_news and reading.state != "nothing_new":
        lines.append(rich("older run"))
    if point.excluded_reason:
        # The finding's code is named once, beside the root cause and in the data quality section.
        reason = CODE.sub("", point.excluded_reason)
        lines.append(rich("excluded: ", *_with_flags(reason, point.run_id)))
    return tuple(lines)


def _with_flags(reason: str, run_id: str) -> list[Part]:
    """Return a reason in which flags are set as flags, so that none is broken at its dashes."""
    parts = _FLAG.split(reason)
    return [
        code(part) if _FLAG.fullmatch(part) else quote(part, "evidence.excluded_reason", [run_id])
        for part in parts
        if part
    ]


def _throughput(point: Point, decimals: int) -> Rich:
    if point.step_time_only:
        return Rich()  # acceptance was set, and the speed with it: shown, it would be taken for a drafter's
    if point.throughput_tok_s.value is None:
        return rich(point.throughput_tok_s.reason or "not reported")
    return rich(num.tok_s(point, decimals))


def _against(point: Point, baseline: Point | None, *, is_baseline: bool) -> Rich:
    if is_baseline or baseline is None or point.speedup.value is None:
        return Rich()
    return rich(num.difference(point.speedup, (point.run_id, baseline.run_id)))


def _length_cell(point: Point) -> Cell:
    if point.accept_length.value is None:
        return Cell(text=Rich())
    if point.excluded_reason and point.accept_length.low is None:
        value = number(
            fmt.fixed(point.accept_length.value, 1), point.accept_length.value, _LENGTH, [point.run_id], kind="measured"
        )
        return Cell(text=rich("about ", value))
    small = [num.interval(point.accept_length, 2, f"80 % interval of {_LENGTH}", (point.run_id,))]
    small.append(_brackets(point.accept_length_rounding, 2, _LENGTH, point.run_id))
    return Cell(text=rich(num.accept_length(point)), small=tuple(line for line in small if line))


def _step_cell(point: Point, decimals: int) -> Cell:
    if point.step_time_ms.value is None:
        return Cell(text=Rich())
    small = [num.interval(point.step_time_ms, decimals, f"80 % interval of {_STEP}", (point.run_id,), unit="ms")]
    small.append(_brackets(point.step_time_rounding_ms, decimals, _STEP, point.run_id))
    return Cell(text=rich(num.step_ms(point, decimals)), small=tuple(line for line in small if line))


def _brackets(ends: tuple[float, float] | None, decimals: int, formula: str, run: str) -> Rich:
    if ends is None:
        return Rich()
    shown = num.ends(
        ends[0], ends[1], decimals, f"{formula}, over the range that the printed digits leave open", (run,)
    )
    return rich("(", shown, ")")


def _bar_cell(point: Point) -> Cell:
    if point.break_even is None:
        return Cell(text=Rich())
    runs = (point.run_id,)
    small = [num.bar_range(point.break_even, runs)]
    rounding = num.bar_rounding(point.break_even, runs)
    if rounding:
        small.append(rich("(", rounding, ")"))
    return Cell(text=rich(num.bar(point.break_even, runs)), small=tuple(line for line in small if line))


def _needs_cell(point: Point) -> Cell:
    shown = num.needs(point)
    if shown is None:
        return Cell(text=Rich())
    if point.needs_fraction is not None and point.needs_fraction <= 0:
        shown = Span(text="clears it")
    small: list[Rich] = [rich("inside the noise")] if in_noise(point) else []
    if point.reachable is False and point.configuration.num_steps is not None:
        most = point.configuration.num_steps + 1
        small.append(rich("out of reach, at most ", number(str(most), most, "num_steps + 1", [point.run_id])))
    elif point.reachable_note:
        small.append(quote(point.reachable_note, "evidence.reachable_note", [point.run_id]))
    return Cell(text=rich(shown), small=tuple(small))
