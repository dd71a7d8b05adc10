"""Options that moved since the memo before, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracker.analysis.results import OptionAssessment
from tracker.report import format as fmt
from tracker.report.past import calibration
from tracker.report.reading import Reading
from tracker.report.spans import Part, Rich, number, quote, rich, uncapital
from tracker.report.view_parts import Cell, RowHead, TableRow

MAX_MOVED = 5
_VISIBLE = 0.01  # relative change below which two values are shown alike
_BEFORE = "the memo before: options"


def moved_options(reading: Reading, before: Sequence[Mapping[str, Any]]) -> list[TableRow]:
    """Return a row for each option whose rank changed, that is new or that is gone; the highest ranks first."""
    if not before:
        return []
    was = {str(item.get("key")): item for item in before}
    now = {option.key: option for option in reading.decision.options}
    keys = [key for key in (*now, *(key for key in was if key not in now)) if _moved(was.get(key), now.get(key))]
    keys.sort(key=lambda key: _best_rank(was.get(key), now.get(key)))
    return [_row(reading, key, was.get(key), now.get(key)) for key in keys[:MAX_MOVED]]


def _moved(was: Mapping[str, Any] | None, now: OptionAssessment | None) -> bool:
    before = None if was is None else was.get("rank")
    after = None if now is None else now.rank
    return before != after


def _best_rank(was: Mapping[str, Any] | None, now: OptionAssessment | None) -> float:
    ranks = [rank for rank in (_number(was, "rank"), None if now is None else now.rank) if rank is not None]
    return min(ranks, default=float("inf"))


def _row(reading: Reading, key: str, was: Mapping[str, Any] | None, now: OptionAssessment | None) -> TableRow:
    title = now.title if now is not None else str((was or {}).get("title"))
    return TableRow(
        head=RowHead(text=quote(title, f"options[{key}].title")),
        cells=(
            Cell(text=_place(_number(was, "rank"), _BEFORE)),
            Cell(text=_place(None if now is None else now.rank, f"options[{key}].rank")),
            Cell(text=_why(reading, was, now)),
        ),
    )


def _place(rank: float | None, formula: str) -> Rich:
    return Rich() if rank is None else rich("rank ", number(str(int(rank)), rank, formula))


def _why(reading: Reading, was: Mapping[str, Any] | None, now: OptionAssessment | None) -> Rich:
    if was is None:
        return rich("new: it was no option before")
    if now is None:
        return _gone(reading, str(was.get("key")))
    if now.net_gpu_hours.value is None:
        return rich("has no value now: ", quote(now.unvalued_reason or "not computed", "options.unvalued_reason"))
    if _net(was) is None:
        return rich("has a value now")
    parts = [part for part in (_shift(was, now), _price(was, now)) if part]
    if not parts:
        return rich(
            "its own figures stand; others passed it" if _fell(was, now) else "its own figures stand; others fell"
        )
    out: list[Part] = []
    for part in parts:
        out += ["; " if out else "", part]
    return rich(*out)


def _gone(reading: Reading, key: str) -> Rich:
    """Return why an option is none any more: it was tested, or what it rests on cannot be valued now."""
    if key in {item.expected.key for item in calibration(reading.analysis, reading.context).checked}:
        return rich("no option any more: it was put to the test")
    rests_on = [option for option in reading.decision.options if option.key != key and key.startswith(option.key)]
    reason = next((option.unvalued_reason for option in rests_on if option.unvalued_reason), None)
    if reason is None:
        return rich("no option any more: these data do not lead to it")
    return rich("has no value now: ", quote(uncapital(reason), "options.unvalued_reason"))


def _shift(was: Mapping[str, Any], now: OptionAssessment) -> Rich:
    before = was.get("expected_tok_s")
    old = _number(before, "value") if isinstance(before, Mapping) else None
    new = now.expected_tok_s.value
    if old is None or new is None or abs(new / old - 1) < _VISIBLE:
        return Rich()
    return rich(
        "expected ",
        number(fmt.throughput(new), new, f"options[{now.key}].expected_tok_s", unit="tok/s"),
        " tok/s, ",
        number(fmt.throughput(old), old, _BEFORE, unit="tok/s"),
        " before",
    )


def _price(was: Mapping[str, Any], now: OptionAssessment) -> Rich:
    old, new = _number(was, "cost_gpu_hours"), now.cost_gpu_hours
    if old is None or new is None or fmt.gpu_hours(old) == fmt.gpu_hours(new):
        return Rich()
    return rich(
        "costs ",
        number(fmt.gpu_hours(new), new, f"options[{now.key}].cost_gpu_hours", unit="GPU-hours", kind="assumed"),
        f" {fmt.hours_unit(fmt.gpu_hours(new))}, ",
        number(fmt.gpu_hours(old), old, _BEFORE, unit="GPU-hours", kind="assumed"),
        " before",
    )


def _fell(was: Mapping[str, Any], now: OptionAssessment) -> bool:
    before = _number(was, "rank")
    return before is not None and now.rank is not None and now.rank > before


def _net(was: Mapping[str, Any]) -> float | None:
    value = was.get("net_gpu_hours")
    return _number(value, "value") if isinstance(value, Mapping) else None


def _number(item: Mapping[str, Any] | None, key: str) -> float | None:
    value = None if item is None else item.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
