"""What a memo needs beside the analysis: the clock, the links, the memo before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierMemo:
    """A memo of the same campaign made before."""

    content: Mapping[str, Any]
    """Its memo.json."""
    decision: Mapping[str, Any] | None = None
    """The decision taken on it, as `tracker decide` keeps it; None while there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoContext:
    """Inputs of a memo that are not evidence."""

    generated_at: datetime
    """When the memo is made, with a zone."""
    timezone: tzinfo = UTC
    """Zone of the reader."""
    since_text: str | None = None
    """Start of the window as resolved, local and UTC; None: written from the window."""
    until_text: str | None = None
    """End of the window, likewise."""
    tracking_url: str | None = None
    """Address of the MLflow UI; None for an embedded store without a server."""
    run_urls: Mapping[str, str | None] = field(default_factory=dict)
    """Link of each run in the MLflow UI, by run id."""
    memo_number: int | None = None
    """How many memos this campaign has had, this one included."""
    previous: Mapping[str, Any] | None = None
    """memo.json of the memo before; None for the first."""
    tracker_version: str | None = None
    """Version of this package, for the footer."""
    earlier: tuple[EarlierMemo, ...] = ()
    """All memos before, oldest first: their forecasts are checked against what was measured since."""
    logged_at: Mapping[str, datetime] = field(default_factory=dict)
    """When each run was logged, by run id: its place in the history where the time of measuring is not recorded."""
    realises: Mapping[str, str] = field(default_factory=dict)
    """Option key that a run says it puts to the test (its tag `option`), by run id."""

    def __post_init__(self) -> None:
        """Refuse a time without a zone: it cannot be shown.

        Raises:
            ValueError: `generated_at` is naive.
        """
        if self.generated_at.tzinfo is None:
            raise ValueError("generated_at has no time zone")
