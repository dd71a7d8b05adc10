"""The memo as plain text: the same words in the same order, 80 columns wide."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from tracker.report import format as fmt
from tracker.report.view import MemoView
from tracker.report.view_parts import (
    Block,
    Box,
    Bullets,
    Cell,
    Command,
    Facts,
    FigureView,
    Folded,
    Paragraph,
    Section,
    TableRow,
    TableView,
)

WIDTH = 80
_LABEL = 14


def render_text(view: MemoView) -> str:
    """Return memo.txt; the same view gives the same bytes."""
    lines = [f"DECISION MEMO  {view.campaign.text}", view.period.text, "=" * WIDTH, ""]
    at = f" {view.state.at.text}" if view.state.at else ""
    lines += [f"{view.state.word.upper()}{at}", ""]
    lines += _wrap(view.headline.text)
    lines += ["-" * min(WIDTH, len(lines[-1])), *_wrap(view.lede.text), ""]
    lines += _cause(view)
    for item in view.brief:
        body = f"{item.lead.text} {item.text.text}".strip()
        lines += _hanging(item.label, body)
    if view.brief:
        lines.append("")
    for section in view.sections:
        lines += _section(section)
    lines += ["=" * WIDTH, *_wrap(view.footer.text)]
    if any(isinstance(block, Folded) for section in view.sections for block in section.blocks):
        lines += _wrap("A line with + has its table in memo.html, and its numbers in memo.json.")
    return "\n".join(line.rstrip() for line in lines).rstrip() + "\n"


def _cause(view: MemoView) -> list[str]:
    cause = view.cause
    if cause is None:
        return []
    lines = [cause.label.upper(), *_wrap(cause.heading.text), ""]
    if cause.flag_before and cause.flag_after:
        lines += [f"  {fmt.MINUS} {cause.flag_before}", f"  + {cause.flag_after}", ""]
    return [*lines, *_wrap(cause.text.text), *_wrap(cause.note.text), ""]


def _section(section: Section) -> list[str]:
    lines = ["", f"{section.label.upper()}", *_wrap(section.heading.text)]
    lines += ["-" * min(WIDTH, max(len(line) for line in lines[2:])), ""]
    for block in section.blocks:
        lines += [*_block(block), ""]
    return lines


def _block(block: Block) -> list[str]:
    match block:
        case Paragraph():
            return _wrap(block.text.text)
        case Bullets():
            return [line for item in block.items for line in _wrap(item.text, first="- ", rest="  ")]
        case Facts():
            head = [block.title, ""] if block.title else []
            lines = (_wrap(f"{term}: {text.text}", first="- ", rest="  ") for term, text in block.items)
            return head + [line for item in lines for line in item]
        case Box():
            return _wrap(f"{block.title}. {block.text.text}", first="| ", rest="| ")
        case Command():
            return [f"    {line}" for line in block.lines]
        case FigureView():
            return _figure(block)
        case TableView():
            return _table(block)
        case Folded():
            return _wrap(f"{block.title}. {block.answer.text}", first="+ ", rest="  ")


def _figure(figure: FigureView) -> list[str]:
    lines = _wrap(f"{figure.question} {figure.answer.text}")
    lines += _wrap(figure.description.text, first="    ", rest="    ")
    if figure.source:
        lines += _wrap(f"({figure.source.text.rstrip()})", first="    ", rest="    ")
    return lines


def _table(table: TableView) -> list[str]:
    lines = _wrap(table.caption.text)
    if table.conditions:
        lines += _wrap(table.conditions.text)
    keep = [index for index in range(len(table.columns)) if any(row.cells[index].text for row in table.rows)]
    grid = [[_whole_head(row), *(_cell(row.cells[index]) for index in keep)] for row in table.rows]
    heads = [table.head, *(table.columns[index] for index in keep)]
    widths = [max([len(heads[0]), *(len(line[0]) for line in grid)])]
    widths += [max([len(heads[i]), *(len(line[i]) for line in grid)]) for i in range(1, len(heads))]
    if sum(widths) + 2 * (len(widths) - 1) <= WIDTH:
        return [
            *lines,
            "",
            *_aligned(heads, grid, widths, [i + 1 for i, c in enumerate(keep) if c in table.text_columns]),
        ]
    return [*lines, "", *_stacked(table, keep)]


def _head(row: TableRow) -> str:
    letter = f"{row.head.letter}  " if row.head.letter else ""
    tag = f" [{row.head.tag}]" if row.head.tag else ""
    return f"{letter}{row.head.text.text}{tag}"


def _whole_head(row: TableRow) -> str:
    small = "; ".join(line.text for line in row.head.small)
    return f"{_head(row)} ({small})" if small else _head(row)


def _cell(cell: Cell) -> str:
    return _with_small(cell) if cell.text.text else fmt.DASH


def _aligned(heads: list[str], grid: list[list[str]], widths: list[int], words: list[int]) -> list[str]:
    def line(cells: Iterable[str]) -> str:
        shown = [
            cell.ljust(width) if index == 0 or index in words else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(shown)

    return [line(heads), "  ".join("-" * width for width in widths), *(line(cells) for cells in grid)]


def _stacked(table: TableView, keep: list[int]) -> list[str]:
    """Return one paragraph a row: its name, then its labelled values; empty ones are dropped."""
    lines: list[str] = []
    for row in table.rows:
        name = f"{table.head}: {_head(row)}" if _head(row)[:1].isdecimal() and len(_head(row)) < 6 else _head(row)
        lines += _wrap(name, first="* ", rest="  ")
        for small in row.head.small:
            lines += _wrap(small.text, first="    ", rest="    ")
        values = [f"{table.columns[index]}: {_with_small(row.cells[index])}" for index in keep if row.cells[index].text]
        lines += _wrap("; ".join(values) + ".", first="    ", rest="    ")
    return lines


def _with_small(cell: Cell) -> str:
    small = [line.text for line in cell.small]
    tail = f" {' '.join(line if line.startswith('(') else f'[{line}]' for line in small)}" if small else ""
    return f"{cell.text.text}{tail}"


def _hanging(label: str, body: str) -> list[str]:
    return _wrap(body, first=f"{label + ':':<{_LABEL + 2}}", rest=" " * (_LABEL + 2))


def _wrap(text: str, *, first: str = "", rest: str = "") -> list[str]:
    # A unit stays with its number: the blank before % does not break.
    lines = textwrap.wrap(
        text.strip().replace(" %", "\u00a0%"),
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\u00a0", " ") for line in lines] or [first.rstrip()]
