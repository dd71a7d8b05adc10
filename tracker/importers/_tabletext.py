"""Tables as text: comma, semicolon or tab separated, Markdown, or columns under a dashed ruler. Digits stay text."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path

from tracker.errors import InputError

_DELIMITERS = (",", "\t", ";")
_MARKDOWN_RULE = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)+\|?\s*")
_RULER = re.compile(r"\s*-{2,}(\s+-{2,})+\s*")
# A header cell is a short name; log lines and JSON begin with brackets, times or digits.
_HEADER_CELL = re.compile(r"[A-Za-z#%τ_][^{}\"=:;|]{0,59}")
MAX_HEADER_LENGTH = 10_000
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,(\d{1,2}|\d{4,})")
_EITHER_COMMA = re.compile(r"[+-]?\d{1,3},\d{3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row."""

    line: int
    """1-based line where it starts."""
    cells: tuple[str, ...]
    """Texts, stripped, one a column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A header and its rows."""

    header: tuple[str, ...]
    """Column names as written."""
    header_line: int
    """1-based line of the header."""
    rows: tuple[Row, ...]
    """The rows."""
    cut: str | None = None
    """What a truncated last row lacks."""
    last_cell_open: bool = False
    """Whether the file ends without a line break, so that its very last value may be cut."""


def looks_like_table(text: str) -> bool:
    """Return whether a text's head is a table: a header of short names and rows as wide."""
    try:
        table = parse(text, where="")
    except InputError:
        return _has_table_header(text) or any(_MARKDOWN_RULE.fullmatch(line) for line in text.splitlines())
    return table is not None


def parse(text: str, *, where: str) -> Table | None:
    """Return the table in a text; None when there is none.

    Args:
        text: The whole text.
        where: File name for errors.

    Raises:
        InputError: A row has more or fewer cells than the header, or the text holds several tables.
    """
    lines = text.splitlines()
    rules = [index for index, line in enumerate(lines) if index and _MARKDOWN_RULE.fullmatch(line)]
    if rules:
        if len(rules) > 1:
            raise InputError(f"the file holds {len(rules)} tables", where=where, hint="Give each table its own file.")
        return _markdown(lines, rules[0], text, where)
    rulers = [index for index, line in enumerate(lines[:20]) if index and _RULER.fullmatch(line)]
    if rulers:
        return _ruled(lines, rulers[0], text)
    return _delimited(lines, text, where)


def _has_table_header(text: str) -> bool:
    """Return whether the first line that counts is a table's header."""
    lines = text.splitlines()
    start = _header_index(lines)
    return start is not None and _delimiter(lines[start]) is not None


def _markdown(lines: list[str], rule: int, text: str, where: str) -> Table | None:
    header = _markdown_cells(lines[rule - 1])
    if len(header) < 2:
        return None
    rows: list[Row] = []
    for index in range(rule + 1, len(lines)):
        if "|" not in lines[index]:
            break
        rows.append(Row(line=index + 1, cells=_markdown_cells(lines[index])))
    return _checked(header, rule, rows, text=text, where=where)


def _markdown_cells(line: str) -> tuple[str, ...]:
    inner = line.strip().removeprefix("|")
    inner = inner.removesuffix("|") if not inner.endswith(r"\|") else inner
    cells = re.split(r"(?<!\\)\|", inner)
    return tuple(re.sub(r"[*`]", "", cell).replace(r"\|", "|").strip() for cell in cells)


def _ruled(lines: list[str], ruler: int, text: str) -> Table:
    """Return a table whose columns are as wide as the dashes under their names."""
    spans = [match.span() for match in re.finditer(r"-+", lines[ruler])]
    bounds = [(start, spans[i + 1][0] if i + 1 < len(spans) else None) for i, (start, _) in enumerate(spans)]
    header = tuple(lines[ruler - 1][start:end].strip() for start, end in bounds)
    rows: list[Row] = []
    cut = None
    open_end = not text.endswith(("\n", "\r"))
    for index in range(ruler + 1, len(lines)):
        if not lines[index].strip():
            break
        if open_end and index == len(lines) - 1 and len(lines[index]) <= spans[-1][0]:
            cut = f"line {index + 1} is cut; it was left out"
            break
        rows.append(Row(line=index + 1, cells=tuple(lines[index][start:end].strip() for start, end in bounds)))
    return Table(header=header, header_line=ruler, rows=tuple(rows), cut=cut, last_cell_open=open_end)


def _header_index(lines: list[str]) -> int | None:
    """Return the first line that is neither blank nor a comment."""
    for index, line in enumerate(lines):
        if line.strip() and not line.startswith("# "):
            return index
    return None


def _delimiter(line: str) -> str | None:
    """Return the separator that splits a line into at least two column names."""
    if len(line) > MAX_HEADER_LENGTH:
        return None
    for delimiter in _DELIMITERS:
        cells = [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter), [])]
        if len(cells) > 1 and all(_HEADER_CELL.fullmatch(cell) for cell in cells):
            return delimiter
    return None


def _delimited(lines: list[str], text: str, where: str) -> Table | None:
    start = _header_index(lines)
    if start is None:
        return None
    delimiter = _delimiter(lines[start])
    if delimiter is None:
        return None
    body = io.StringIO("\n".join(lines[start:]) + "\n")
    reader = csv.reader(body, delimiter=delimiter, strict=True)
    rows: list[Row] = []
    header: tuple[str, ...] = ()
    cut = None
    first = start + 1
    try:
        header = tuple(cell.strip() for cell in next(reader))
        first = start + 1 + reader.line_num
        for cells in reader:
            if any(cell.strip() for cell in cells):
                rows.append(Row(line=first, cells=tuple(cell.strip() for cell in cells)))
            first = start + 1 + reader.line_num
    except csv.Error as error:
        if not _open_quote(lines, first):
            raise InputError(
                f"line {first} is no row ({error})", where=f"{where}:{first}", hint="Correct its quotes."
            ) from error
        if not header:
            return None
        cut = f"line {first} opens a quoted text that never ends"
    if delimiter != ",":
        rows = _with_decimal_points(rows, where)
    return _checked(header, start + 1, rows, text=text, where=where, cut=cut)


def _open_quote(lines: list[str], first: int) -> bool:
    """Return whether a quoted text that begins in line `first` never ends."""
    return "\n".join(lines[first - 1 :]).count('"') % 2 == 1


def _with_decimal_points(rows: list[Row], where: str) -> list[Row]:
    """Return rows with decimal points where the table is written with decimal commas.

    Raises:
        InputError: `1,234` could be either.
    """
    cells = [(row, cell) for row in rows for cell in row.cells]
    if any(_DECIMAL_COMMA.fullmatch(cell) for _, cell in cells):
        return [
            Row(line=row.line, cells=tuple(re.sub(r"^([+-]?\d+),(\d+)$", r"\1.\2", cell) for cell in row.cells))
            for row in rows
        ]
    for row, cell in cells:
        if _EITHER_COMMA.fullmatch(cell):
            raise InputError(
                f"`{cell}` can mean thousands or a decimal comma",
                where=f"{where}:{row.line}",
                hint="Write it with a decimal point and without thousands separators.",
            )
    return rows


def _checked(
    header: tuple[str, ...], header_line: int, rows: list[Row], *, text: str, where: str, cut: str | None = None
) -> Table:
    """Return the table after checking that every row is as wide as the header.

    Raises:
        InputError: A row that is not a cut last one has another width.
    """
    open_end = not text.endswith(("\n", "\r"))
    if twice := [name for name in dict.fromkeys(header) if header.count(name) > 1]:
        raise InputError(
            f"the header names `{twice[0]}` {header.count(twice[0])} times",
            where=f"{where}:{header_line}",
            hint="Rename or remove one of them.",
        )
    for index, row in enumerate(rows):
        if len(row.cells) == len(header):
            continue
        if open_end and cut is None and index == len(rows) - 1 and len(row.cells) < len(header):
            cut = f"line {row.line} is cut in column `{header[len(row.cells) - 1]}`"
            rows = rows[:-1]
            break
        raise InputError(
            f"line {row.line} has {len(row.cells)} cells, the header has {len(header)}",
            where=f"{where}:{row.line}",
            hint="Quote texts that hold the separator, or fill the missing cells.",
        )
    return Table(
        header=header,
        header_line=header_line,
        rows=tuple(rows),
        cut=None if cut is None else f"{cut}; what follows was left out",
        last_cell_open=open_end and cut is None,
    )


def read(path: Path, text: str) -> Table:
    """Return the table in a file's text.

    Raises:
        InputError: There is none, or it is malformed.
    """
    table = parse(text, where=str(path))
    if table is None:
        raise InputError("there is no table in it", where=str(path), hint="The first line names the columns.")
    return table
