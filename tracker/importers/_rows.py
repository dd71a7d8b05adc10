"""One row of a table as values with units: what a cell says, and what it must not be taken for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tracker.domain.measurement import Latency, Reported
from tracker.domain.server import Speculation
from tracker.errors import InputError
from tracker.importers import _normalise
from tracker.importers._columns import TEXTS, Column, Meaning, canonical
from tracker.importers._tabletext import Row

_ABSENT = frozenset({"", "-", "--", "–", "—", "n/a", "na", "nan", "none", "null", "?"})
_TRUE = frozenset({"true", "yes", "on", "1", "enabled", "y", "✓", "✅"})
_FALSE = frozenset({"false", "no", "off", "0", "disabled", "n", "✗", "❌"})
_NO_SPECULATION = frozenset({"none", "no", "off", "false", "-", "baseline", "no speculation"})
_BASELINE_NAME = re.compile(
    r"^(base|vanilla|nospec|no_spec)$|\bbaseline\b|\b(no|without|w/o) (speculat\w*|spec|eagle\d?|mtp|draft\w*)\b", re.I
)
_UNIT = re.compile(r"(?<=\d)\s*(tok(en)?s?/s(ec)?|t/s|ms|s|x|×|%)$", re.I)
# No server verifies more tokens per step; a larger number under such a header is a count of drafted tokens.
MAX_DRAFT_WIDTH = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """A row's cells by meaning."""

    row: Row
    """The row."""
    columns: tuple[Column, ...]
    """Columns of the table."""
    where: str
    """File and line."""
    percent: frozenset[int] = frozenset()
    """Columns that hold percentages."""

    def find(self, meaning: Meaning) -> Column | None:
        """Return the plain column with this meaning."""
        return next((item for item in self.columns if item.meaning == meaning and item.label is None), None)

    def raw(self, column: Column) -> str | None:
        """Return a cell's text; None where the cell says that nothing was reported."""
        text = self.row.cells[column.index].strip()
        return None if text.lower() in _ABSENT else text

    def text(self, meaning: Meaning) -> str | None:
        """Return the text under a meaning; None when not reported."""
        column = self.find(meaning)
        return None if column is None else self.raw(column)

    def stands(self, meaning: Meaning) -> str | None:
        """Return the cell as written, `none` and dashes included; None when there is no such column."""
        column = self.find(meaning)
        return None if column is None else self.row.cells[column.index].strip()

    def reported_in(self, column: Column) -> Reported | None:
        """Return a cell's number with its rounding, in the unit of the field; None when not reported.

        Raises:
            InputError: The cell holds something else than a number.
        """
        text = self.raw(column)
        if text is None:
            return None
        digits = bare_number(text)
        scale = 0.01 if column.index in self.percent or text.endswith("%") else 1.0
        value = _normalise.reported(digits, scale=scale)
        if value is not None and value.value == -scale:
            # Benchmarks write -1 for not available.
            return None
        if value is None or value.value < 0:
            raise InputError(
                f"column `{column.header}` holds `{text[:40]}` where a number is expected",
                where=self.where,
                hint="Leave the cell empty if it was not measured.",
            )
        if column.meaning in ("accept_rate", "position") and scale == 1.0 and digits in ("0", "1"):
            # A fraction written 0 or 1 is not rounded to whole numbers.
            return Reported(value=value.value)
        return value

    def reported(self, meaning: Meaning) -> Reported | None:
        """Return the number under a meaning with its rounding.

        Raises:
            InputError: The cell holds something else than a number.
        """
        column = self.find(meaning)
        return None if column is None else self.reported_in(column)

    def number(self, meaning: Meaning) -> float | None:
        """Return the number under a meaning."""
        value = self.reported(meaning)
        return None if value is None else value.value

    def count(self, meaning: Meaning) -> int | None:
        """Return the whole number under a meaning.

        Raises:
            InputError: The cell holds something else.
        """
        value = self.number(meaning)
        if value is None:
            return None
        if not value.is_integer() or value > 2**53:
            column = self.find(meaning)
            raise InputError(
                f"column `{column.header if column else meaning}` holds {value:g} where a count is expected",
                where=self.where,
                hint="Correct the cell.",
            )
        return int(value)

    def flag(self) -> bool | None:
        """Return the CUDA graph setting; None when not reported."""
        for meaning, negated in (("cuda_graph", False), ("no_cuda_graph", True)):
            column = next((item for item in self.columns if item.meaning == meaning), None)
            text = None if column is None else self.row.cells[column.index].strip().lower()
            if text in _TRUE:
                return not negated
            if text in _FALSE:
                return negated
        return None

    def moment(self) -> datetime | None:
        """Return when it was measured; a date alone is its midnight, a time without zone is UTC."""
        text = self.text("measured_at")
        if text is None:
            return None
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return None
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)

    def latencies(self) -> dict[str, Latency]:
        """Return latencies in milliseconds by quantity (`ttft`, `tpot`, `itl`, `e2e`)."""
        found: dict[str, dict[str, float]] = {}
        for column in self.columns:
            if column.latency is None:
                continue
            statistic, quantity, unit = column.latency
            value = self.reported_in(column)
            if value is not None:
                key = {"mean": "mean_ms", "avg": "mean_ms", "median": "median_ms", "p50": "median_ms"}.get(
                    statistic, f"{statistic}_ms"
                )
                quantity = "e2e" if quantity.startswith("e2e") else quantity
                found.setdefault(quantity, {})[key] = value.value * (1000 if unit == "s" else 1)
        return {quantity: Latency(**values) for quantity, values in found.items()}

    def others(self) -> tuple[dict[str, float], dict[str, str]]:
        """Return the columns without a place of their own: numbers and texts under their names."""
        numbers: dict[str, float] = {}
        texts: dict[str, str] = {}
        for column in self.columns:
            text = self.raw(column) if column.meaning in (None, "position") else None
            if text is None:
                continue
            value = _normalise.number(bare_number(text))
            if value is not None:
                numbers[column.header] = value
            elif canonical(column.header) not in TEXTS:
                texts[column.header] = text
        return numbers, texts


def bare_number(text: str) -> str:
    """Return a cell without its unit and its `about` sign: `~82.3 tok/s` -> `82.3`."""
    return _UNIT.sub("", text.strip().lstrip("~≈").strip())


def percent_columns(columns: Sequence[Column], rows: Sequence[Row]) -> frozenset[int]:
    """Return the rate columns that hold percentages: named so, or with a value no fraction can have."""
    found = set()
    for column in columns:
        if column.meaning not in ("accept_rate", "position"):
            continue
        values = [_normalise.number(bare_number(row.cells[column.index])) for row in rows]
        known = [value for value in values if value is not None]
        unit = "percent" if column.percent else None
        if any(_normalise.rate_scale(value, unit=unit) != 1.0 for value in known):
            found.add(column.index)
    return frozenset(found)


def plain_names(rows: Sequence[Cells]) -> frozenset[str]:
    """Return the names of rows to which other rows add speculation: `TP8` beside `TP8+MTP` with an accept length."""
    names = {cells.text("name") or "" for cells in rows if cells.text("accept_length") is None}
    richer = {cells.text("name") or "" for cells in rows if cells.text("accept_length") is not None}
    return frozenset(name for name in names if name and any(other.startswith(f"{name}+") for other in richer))


def speculation(cells: Cells, *, measured_acceptance: bool, plain: frozenset[str] = frozenset()) -> Speculation | None:
    """Return the speculative settings a row names; disabled for a baseline row; None when it says nothing.

    A row is a baseline when its algorithm says none, when steps or window are 0, when its name says so or is one to
    which other rows add speculation (`plain`), or when the table has a column for the algorithm and this row leaves it
    and everything about drafting empty.
    """
    algorithm = cells.text("algorithm")
    stands = cells.stands("algorithm")
    steps = _settings(cells)
    drafter = cells.text("drafter")
    widths = [value for value in (steps.num_steps, steps.num_draft_tokens, steps.eagle_topk) if value is not None]
    zero = steps.num_steps == 0 or steps.num_draft_tokens == 0
    says_none = (stands or "").lower() in _NO_SPECULATION - {""} or zero
    speculates = bool(algorithm) or drafter is not None or any(widths) or measured_acceptance
    name = cells.text("name") or ""
    if says_none or (not speculates and (stands == "" or name in plain or _BASELINE_NAME.search(name))):
        return Speculation(enabled=False)
    if not speculates:
        return None
    return Speculation(
        enabled=True,
        algorithm=None if algorithm is None else algorithm.upper(),
        num_steps=steps.num_steps,
        eagle_topk=steps.eagle_topk,
        num_draft_tokens=steps.num_draft_tokens,
        draft_model_path=drafter,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settings:
    num_steps: int | None
    num_draft_tokens: int | None
    eagle_topk: int | None


def _settings(cells: Cells) -> _Settings:
    """Return steps, verified tokens and branches; vLLM's K drafts make K + 1 verified tokens on a chain."""
    num_steps, width, topk = cells.count("num_steps"), cells.count("num_draft_tokens"), cells.count("topk")
    if width is not None and width > MAX_DRAFT_WIDTH:
        width = None
    drafts = cells.count("num_speculative_tokens")
    if drafts is not None and num_steps is None:
        num_steps = drafts
        width = drafts + 1 if width is None and drafts > 0 else width
    # llama.cpp may stop drafting early, so its window bounds the steps but not the tokens verified.
    window = cells.count("draft_window")
    if window is not None and num_steps is None:
        num_steps = window
    return _Settings(num_steps=num_steps, num_draft_tokens=width, eagle_topk=topk)
