"""Figure: what the intervals are made of, and so what would narrow them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tracker.analysis.results import SpreadPart
from tracker.report import format as fmt
from tracker.report._bars import lead_cost
from tracker.report._verdict_text import runs_of
from tracker.report.figures_spread import SpreadData, SpreadGroup, SpreadRow
from tracker.report.reading import Reading
from tracker.report.spans import Part, Rich, Span, label, number, rich
from tracker.report.view_parts import FigureView, Key

_PRINTED = ("rounding", "verify steps")  # follow from the figures themselves, so never an assumption
_CURES = {
    "noise between runs": "freshly started servers, with the baseline in between, narrow it; more prompts do not",
    "baseline drift": "the baseline before and after the drafter narrows it; more prompts do not",
    "prompts": "more prompts narrow it; more repeats of the same ones do not",
    "kinds of prompts": "more kinds of prompts narrow it",
    "repeats": "more repeats narrow it",
    "verify steps": "longer answers or more prompts narrow it",
    "rounding": "counts instead of printed figures remove it",
}
_LEAST = 0.05  # a part below this share of the largest adds nothing that could be seen


def spread_figure(reading: Reading) -> FigureView | None:
    """Return the parts of the speed-up's and the break-even's interval at the headline's load; None without parts."""
    groups = tuple(group for group in (_speedup(reading), _bar(reading)) if group is not None)
    if not groups:
        return None
    data = SpreadData(groups=groups)
    assumed = any(row.assumed for group in groups for row in group.rows)
    keys = (Key(mark="attack", text=rich("the largest")),) if _measured_largest(groups) else ()
    outlined = (Key(mark="assumed", text=rich("assumed, for nothing was repeated")),) if assumed else ()
    return FigureView(
        key="spread",
        question="What would narrow the interval?",
        answer=_answer(groups[0]),
        data=data,
        source=rich("Relative standard deviations; independent parts add as squares."),
        title="What the intervals are made of",
        description=_description(data),
        keys=(*keys, *outlined),
    )


def _measured_largest(groups: Sequence[SpreadGroup]) -> bool:
    return any(row.largest and not row.assumed for group in groups for row in group.rows)


def _speedup(reading: Reading) -> SpreadGroup | None:
    verdict = reading.verdict
    if verdict is None or not verdict.parts:
        return None
    at = f" at {fmt.streams(verdict.concurrency)}" if len(reading.loads) > 1 else ""
    return spread_group(verdict.parts, title=f"Speed-up{at}", runs=runs_of(verdict), source="verdict.by_concurrency")


def _bar(reading: Reading) -> SpreadGroup | None:
    cost = reading.best_cost or lead_cost(reading)
    if cost is None or not cost.break_even.parts:
        return None
    return spread_group(
        cost.break_even.parts,
        title=f"Break-even of {reading.names.configuration(cost.configuration)}",
        runs=cost.run_ids,
        source="break_even_by_configuration",
    )


def spread_group(parts: Sequence[SpreadPart], *, title: str, runs: tuple[str, ...], source: str) -> SpreadGroup:
    """Return parts of one name joined, largest first; what is too small to be seen is dropped."""
    squares: dict[str, float] = {}
    assumed: dict[str, bool] = {}
    for part in parts:
        squares[part.name] = squares.get(part.name, 0.0) + part.sd**2
        open_ended = math.isinf(part.df) and part.name not in _PRINTED
        assumed[part.name] = assumed.get(part.name, True) and open_ended
    total = math.sqrt(sum(squares.values()))
    order = sorted(squares, key=lambda name: (-squares[name], name))
    largest = math.sqrt(squares[order[0]])
    rows = tuple(
        SpreadRow(
            label=name,
            sd=sd,
            text=_percent(sd, f"{source}.parts[{name}]", runs),
            assumed=assumed[name],
            largest=name == order[0],
        )
        for name in order
        if (sd := math.sqrt(squares[name])) >= _LEAST * largest
    )
    formula = f"square root of the sum of squares of {source}.parts"
    return SpreadGroup(title=title, rows=rows, total=total, total_text=_percent(total, formula, runs))


def _percent(sd: float, formula: str, runs: tuple[str, ...]) -> Span:
    return number(fmt.percent(sd, digits=1, signed=False), sd, formula, runs)


def _answer(group: SpreadGroup) -> Rich:
    first = group.rows[0]
    cure = _CURES.get(first.label, "measuring that again narrows it")
    guess = ", an assumption" if first.assumed else ""
    if len(group.rows) == 1:
        return rich("It is all ", label(first.label), f"{guess}: {cure}.")
    runs = () if first.text.fact is None else first.text.fact.run_ids
    rest = math.sqrt(max(0.0, group.total**2 - first.sd**2))
    shown = number(fmt.percent(rest, digits=1, signed=False), rest, "the other parts together, squares added", runs)
    tail = rich(" Without it, ", shown, " instead of ", group.total_text, " would be left.")
    return rich("Mostly ", label(first.label), f"{guess}: {cure}.", tail)


def _description(data: SpreadData) -> Rich:
    parts: list[Part] = []
    for group in data.groups:
        parts += [" " if parts else "", label(group.title), ": "]
        for index, row in enumerate(group.rows):
            parts += [", " if index else "", label(row.label), " ", row.text, " (assumed)" if row.assumed else ""]
        parts += ["; together ", group.total_text, "."] if len(group.rows) > 1 else ["."]
    return rich(*parts)
