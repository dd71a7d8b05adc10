"""What earlier memos expected, against what was measured since."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from tracker.analysis.results import CampaignAnalysis, Configuration, Point
from tracker.report.context import EarlierMemo, MemoContext

_TUNED = re.compile(r"tune_configuration_(\d+)_(\d+)_(\d+)")
_MORE_DATA = re.compile(r"more_data_(\d+)")
_FAIR = 0.9  # the range of hits that a calibrated forecaster lands in, as a probability
COVERAGE = 0.8  # share of measured values that an 80 % interval should hold


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """One number an earlier memo gave for something nobody had measured then."""

    key: str
    """Option key, or `forecast_N` for an accept length at N training samples."""
    title: str
    """In words."""
    made_at: datetime | None
    """When the memo was made."""
    unit: Literal["tok/s", "tokens a step"]
    """Unit of the value."""
    value: float | None
    """Expected value."""
    low: float | None
    """80 %."""
    high: float | None
    """80 %."""
    p_beats_baseline: float | None = None
    """Chance given of being faster than the baseline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """An expectation and what came of it."""

    expected: Expectation
    """What was expected."""
    run_id: str | None = None
    """Run that put it to the test; None: not yet measured."""
    measured: float | None = None
    """What it measured."""
    faster: bool | None = None
    """Whether it beat the baseline of its load; None for accept lengths."""

    @property
    def inside(self) -> bool | None:
        """Whether the measured value lies in the interval; None where either is missing."""
        low, high, value = self.expected.low, self.expected.high, self.measured
        return None if low is None or high is None or value is None else low <= value <= high


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A decision taken on an earlier memo."""

    at: datetime | None
    """When."""
    by: str
    """Who."""
    note: str | None
    """Why, in their words."""
    outcome: Outcome
    """The option chosen, and what came of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How far the forecasts of earlier memos held."""

    checked: tuple[Outcome, ...]
    """Forecasts with a measurement, oldest first."""

    @property
    def hits(self) -> tuple[int, int]:
        """Measured values inside their 80 % interval, and how many had one."""
        inside = [item.inside for item in self.checked if item.inside is not None]
        return sum(inside), len(inside)

    @property
    def brier(self) -> tuple[float, int] | None:
        """Mean squared difference between the chance given and what happened, and how many; None without a chance."""
        pairs = [
            (item.expected.p_beats_baseline, item.faster)
            for item in self.checked
            if item.expected.p_beats_baseline is not None and item.faster is not None
        ]
        if not pairs:
            return None
        return sum((chance - happened) ** 2 for chance, happened in pairs) / len(pairs), len(pairs)


def fair_range(count: int) -> tuple[int, int]:
    """Return the hits among `count` forecasts that 80 % intervals which mean what they say give in 9 cases of 10."""
    chances = [math.comb(count, hits) * COVERAGE**hits * (1 - COVERAGE) ** (count - hits) for hits in range(count + 1)]
    tail = (1 - _FAIR) / 2
    low = next(hits for hits in range(count + 1) if sum(chances[: hits + 1]) > tail)
    high = next(hits for hits in range(count, -1, -1) if sum(chances[hits:]) > tail)
    return low, high


def decisions(analysis: CampaignAnalysis, context: MemoContext) -> tuple[Decided, ...]:
    """Return the decisions taken on earlier memos, latest first, each with what came of it."""
    found = []
    for memo in context.earlier:
        decision = memo.decision
        if decision is None:
            continue
        key = str(decision.get("option"))
        option = next((item for item in _items(memo.content, "options") if item.get("key") == key), {"key": key})
        outcome = _outcome_of_option(option, memo, analysis, context)
        if not option.get("title"):
            titled = replace(outcome.expected, title=str(decision.get("title") or key))
            outcome = replace(outcome, expected=titled)
        note = decision.get("note")
        found.append(
            Decided(
                at=_moment(decision.get("decided_at")),
                by=str(decision.get("by") or "not recorded"),
                note=str(note) if note else None,
                outcome=outcome,
            )
        )
    return tuple(found[::-1])


def calibration(analysis: CampaignAnalysis, context: MemoContext) -> Calibration:
    """Return every forecast of an earlier memo that a later run put to the test, once a run.

    Where several memos gave the same forecast, the last one made before the run counts.
    """
    latest: dict[tuple[str, str], Outcome] = {}
    for memo in context.earlier:
        outcomes = [_outcome_of_option(item, memo, analysis, context) for item in _items(memo.content, "options")]
        outcomes += _outcomes_of_forecast(memo, analysis)
        for outcome in outcomes:
            if outcome.run_id is not None and outcome.expected.low is not None:
                latest[(outcome.expected.key, outcome.run_id)] = outcome
    return Calibration(checked=tuple(latest.values()))


def _outcome_of_option(
    option: Mapping[str, Any], memo: EarlierMemo, analysis: CampaignAnalysis, context: MemoContext
) -> Outcome:
    speed = option.get("expected_tok_s")
    speed = speed if isinstance(speed, Mapping) else {}
    expected = Expectation(
        key=str(option.get("key")),
        title=str(option.get("title")),
        made_at=_moment(memo.content.get("generated_at")),
        unit="tok/s",
        value=_number(speed.get("value")),
        low=_number(speed.get("low")),
        high=_number(speed.get("high")),
        p_beats_baseline=_number(option.get("p_beats_baseline")),
    )
    point = _realised(option, memo, analysis, context)
    if point is None:
        return Outcome(expected=expected)
    speedup = point.speedup.value
    return Outcome(
        expected=expected,
        run_id=point.run_id,
        measured=point.throughput_tok_s.value,
        faster=None if speedup is None or not point.configuration.speculative else speedup > 1,
    )


def _realised(
    option: Mapping[str, Any], memo: EarlierMemo, analysis: CampaignAnalysis, context: MemoContext
) -> Point | None:
    """Return the first run that put an option to the test: one that says so, else one with its flags and samples."""
    key, load = str(option.get("key")), option.get("concurrency")
    fresh = _fresh(memo, analysis, load)
    said = [point for point in fresh if context.realises.get(point.run_id) == key]
    return next(iter(said), None) or next((point for point in fresh if _is_it(option, point, memo, analysis)), None)


def _fresh(memo: EarlierMemo, analysis: CampaignAnalysis, load: Any) -> list[Point]:
    """Return usable rows at a load whose run the earlier memo did not know, oldest first."""
    listed = (*_items(memo.content, "evidence"), *_items(memo.content, "runs"))
    known = {str(row.get("run_id")) for row in listed}
    rows = [
        point
        for point in analysis.points
        if point.run_id not in known
        and point.concurrency == load
        and point.excluded_reason is None
        and not point.step_time_only
        and point.throughput_tok_s.value is not None
    ]
    return sorted(rows, key=lambda point: (point.measured_at is None, str(point.measured_at), point.record_id))


def _is_it(option: Mapping[str, Any], point: Point, memo: EarlierMemo, analysis: CampaignAnalysis) -> bool:
    key, flags = str(option.get("key")), point.configuration
    tuned = _TUNED.fullmatch(key)
    if tuned:
        wanted = tuple(int(part) for part in tuned.groups())
        return flags.speculative and (flags.num_steps, flags.eagle_topk, flags.num_draft_tokens) == wanted
    configuration = _configuration(str(option.get("configuration")), memo, analysis)
    if configuration is None or flags != configuration:
        return False
    more = _MORE_DATA.fullmatch(key)
    if more:
        return point.samples == int(more.group(1))
    if key == "deploy_best":
        return (point.drafter, point.samples) == _best_drafter(memo)
    return key == "keep_baseline"


def _configuration(name: str, memo: EarlierMemo, analysis: CampaignAnalysis) -> Configuration | None:
    """Return the flags that an earlier memo called `name`: labels may change as runs are added, runs do not."""
    runs = {row.get("run_id") for row in _items(memo.content, "evidence") if row.get("configuration") == name}
    return next((point.configuration for point in analysis.points if point.run_id in runs), None)


def _best_drafter(memo: EarlierMemo) -> tuple[Any, Any] | None:
    verdict = memo.content.get("verdict")
    loads = _items(verdict, "by_concurrency") if isinstance(verdict, Mapping) else []
    best = {load.get("best_run_id") for load in loads}
    row = next((item for item in _items(memo.content, "evidence") if item.get("run_id") in best), None)
    return None if row is None else (row.get("drafter"), row.get("samples"))


def _outcomes_of_forecast(memo: EarlierMemo, analysis: CampaignAnalysis) -> list[Outcome]:
    scaling = memo.content.get("scaling")
    if not isinstance(scaling, Mapping):
        return []
    configuration = _configuration(str(scaling.get("configuration")), memo, analysis)
    rows = [p for p in _fresh(memo, analysis, scaling.get("concurrency")) if p.configuration == configuration]
    outcomes = []
    for item in _items(scaling, "forecast"):
        samples = item.get("samples")
        point = next((p for p in rows if p.samples == samples and p.accept_length.value is not None), None)
        if point is None:
            continue
        expected = Expectation(
            key=f"forecast_{samples}",
            title="Accept length",
            made_at=_moment(memo.content.get("generated_at")),
            unit="tokens a step",
            value=_number(item.get("median")),
            low=_number(item.get("low")),
            high=_number(item.get("high")),
        )
        outcomes.append(Outcome(expected=expected, run_id=point.run_id, measured=point.accept_length.value))
    return outcomes


def _items(content: Mapping[str, Any], key: str) -> Sequence[Mapping[str, Any]]:
    value = content.get(key)
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list | tuple) else []


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _moment(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None
