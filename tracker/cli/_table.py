"""Plain text tables."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tracker.cli._terminal import printable


def number(value: float | None, digits: int) -> str:
    """Return a number with fixed digits, or a dash when it was not measured."""
    return "–" if value is None else f"{value:,.{digits}f}"


def render(heads: Sequence[str], rows: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> str:
    """Return rows under heads in columns; columns in `right` are right-aligned. Control characters are shown."""
    shown = [[printable(cell, kept=frozenset()) for cell in row] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(heads, *shown, strict=True)]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(padded).rstrip()

    return "\n".join([line(heads), line(["-" * width for width in widths]), *(line(row) for row in shown)])
