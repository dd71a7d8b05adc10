"""Accept length of every category with its share of the tokens, and of all of them together."""

from __future__ import annotations

from tracker.analysis.results import CategoryAcceptance
from tracker.report import format as fmt
from tracker.report import numbers as num
from tracker.report.reading import Reading
from tracker.report.spans import Rich, label, number, rich
from tracker.report.view_parts import Cell, Folded, RowHead, TableRow, TableView

_LENGTH = "1 + accepted drafts / verify steps, this category"


def categories(reading: Reading) -> Folded | None:
    """Return the folded table; None without categories, or without their shares of the tokens."""
    profile = reading.analysis.acceptance
    rows = [item for item in profile.per_category if item.accept_length.value is not None]
    mix = profile.mix_accept_length
    if len(rows) < 2 or mix is None:
        return None
    runs = () if profile.run_id is None else (profile.run_id,)
    formula = "1 / sum over categories of token_share / accept_length"
    together = number(fmt.fixed(mix, 2), mix, formula, runs, unit="tokens/step")
    return Folded(
        key="categories",
        title="All categories together",
        answer=rich(together, " tokens a step on this mix, each category weighted by the steps it takes."),
        blocks=(_table(rows, runs),),
    )


def _table(rows: list[CategoryAcceptance], runs: tuple[str, ...]) -> TableView:
    return TableView(
        key="categories",
        caption=rich("Accept length by category"),
        conditions=rich("Another mix of traffic has another accept length: weigh the rows by your own shares."),
        head="Category",
        columns=("accept length", "requests", "share of tokens"),
        rows=tuple(_row(item, runs) for item in rows),
    )


def _row(item: CategoryAcceptance, runs: tuple[str, ...]) -> TableRow:
    value = item.accept_length.value or 1.0
    length = number(fmt.fixed(value, 2), value, _LENGTH, runs, unit="tokens/step", kind="measured")
    small = num.interval(item.accept_length, 2, f"80 % interval of {_LENGTH}", runs)
    requests = number(f"{item.requests:,}", item.requests, "requests of this category", runs, kind="measured")
    share = Rich()
    if item.token_share is not None:
        text = fmt.percent(item.token_share, signed=False)
        share = rich(number(text, item.token_share, "tokens of this category / all tokens", runs, kind="measured"))
    return TableRow(
        head=RowHead(text=rich(label(item.category))),
        cells=(
            Cell(text=rich(length), small=(small,) if small else ()),
            Cell(text=rich(requests)),
            Cell(text=share),
        ),
    )
