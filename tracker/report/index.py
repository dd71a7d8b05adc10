"""The page that lists all memos of a reports folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any

from tracker.report import format as fmt
from tracker.report.charts import draw
from tracker.report.clean import clean_text
from tracker.report.figures_history import HistoryData, HistoryPoint
from tracker.report.jinja import environment
from tracker.report.spans import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry:
    """One memo."""

    href: str
    """Path of memo.html relative to the index."""
    experiment: str
    """Campaign."""
    title: str
    """What it is about."""
    generated_at: datetime
    """When it was made."""
    date: str
    """The same, as shown."""
    state: str
    """Key of the verdict mark."""
    headline: str
    """Verdict and reason."""
    speedup: str
    """Best contender over baseline at the load that matters; an en dash where there is none."""
    value: float | None = None
    """The same as a number."""


def entry_from(memo: Mapping[str, Any], href: str, zone: tzinfo = UTC) -> IndexEntry:
    """Return the index entry of one memo.json.

    Args:
        memo: Its content.
        href: Path of its memo.html relative to the index.
        zone: Zone of the reader.
    """
    moment = datetime.fromisoformat(str(memo["generated_at"]))
    value = _speedup(memo)
    return IndexEntry(
        href=href,
        experiment=clean_text(str(memo["experiment"])),
        title=clean_text(str(memo.get("title") or memo["experiment"])),
        generated_at=moment,
        date=fmt.date_long(moment, zone),
        state=str(memo["state"]),
        headline=clean_text(str(memo["headline"])),
        speedup=fmt.DASH if value is None else fmt.times(value),
        value=value,
    )


def render_index(entries: Iterable[IndexEntry]) -> str:
    """Return index.html: memos by campaign, newest first, with the trend of the speed-up where there are two."""
    groups: dict[str, list[IndexEntry]] = {}
    for entry in sorted(entries, key=lambda item: (item.generated_at, item.href), reverse=True):
        groups.setdefault(entry.experiment, []).append(entry)
    trends = {name: trend for name, members in groups.items() if (trend := _trend(members)) is not None}
    return environment().get_template("index.html").render(groups=groups, trends=trends, draw=draw)


def _trend(newest_first: Sequence[IndexEntry]) -> HistoryData | None:
    """Return the speed-up of each memo over time; None below two that have one."""
    points = tuple(
        HistoryPoint(
            at=entry.generated_at,
            value=entry.value,
            label="",
            name=entry.date,
            text=Span(text=entry.speedup),
            kind="contender",
        )
        for entry in reversed(newest_first)
        if entry.value is not None
    )
    if len(points) < 2 or points[0].at == points[-1].at:
        return None
    return HistoryData(points=points, bar=1.0, bar_text=Span(text="1.0 = baseline"), unit="speed-up by memo")


def _speedup(memo: Mapping[str, Any]) -> float | None:
    loads = memo["verdict"]["by_concurrency"]
    wanted = memo["verdict"]["decision_concurrency"]
    load = next((item for item in loads if item["concurrency"] == wanted), loads[0] if loads else None)
    return None if load is None else load["speedup"]["value"]
