"""The page that lists all memos of a reports folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any

from tracker.report import format as fmt
from tracker.report.clean import clean_text
from tracker.report.jinja import environment


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


def entry_from(memo: Mapping[str, Any], href: str, zone: tzinfo = UTC) -> IndexEntry:
    """Return the index entry of one memo.json.

    Args:
        memo: Its content.
        href: Path of its memo.html relative to the index.
        zone: Zone of the reader.
    """
    moment = datetime.fromisoformat(str(memo["generated_at"]))
    return IndexEntry(
        href=href,
        experiment=clean_text(str(memo["experiment"])),
        title=clean_text(str(memo.get("title") or memo["experiment"])),
        generated_at=moment,
        date=fmt.date_long(moment, zone),
        state=str(memo["state"]),
        headline=clean_text(str(memo["headline"])),
        speedup=_speedup(memo),
    )


def render_index(entries: Iterable[IndexEntry]) -> str:
    """Return index.html: memos by campaign, newest first."""
    groups: dict[str, list[IndexEntry]] = {}
    for entry in sorted(entries, key=lambda item: (item.generated_at, item.href), reverse=True):
        groups.setdefault(entry.experiment, []).append(entry)
    return environment().get_template("index.html").render(groups=groups)


def _speedup(memo: Mapping[str, Any]) -> str:
    loads = memo["verdict"]["by_concurrency"]
    wanted = memo["verdict"]["decision_concurrency"]
    load = next((item for item in loads if item["concurrency"] == wanted), loads[0] if loads else None)
    value = None if load is None else load["speedup"]["value"]
    return fmt.DASH if value is None else fmt.times(value)
