"""The building blocks of a memo page, display-ready."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from tracker.report.figures import FigureData, ShareData
from tracker.report.spans import Rich

StateKey = Literal["faster", "slower", "undecided", "mixed", "no_baseline", "no_candidate", "no_drafter", "nothing_new"]
Column = Literal["text", "number"]
RowRole = Literal["plain", "baseline", "best", "excluded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """A paragraph."""

    kind: ClassVar[str] = "paragraph"
    text: Rich
    """Its text."""
    small: bool = False
    """Set small and soft."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bullets:
    """A list."""

    kind: ClassVar[str] = "bullets"
    items: tuple[Rich, ...]
    """Its items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Terms and what is known of them."""

    kind: ClassVar[str] = "facts"
    items: tuple[tuple[str, Rich], ...]
    """Term and text."""
    title: str | None = None
    """Heading above them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A notice: something refused, or not recorded."""

    kind: ClassVar[str] = "box"
    title: str
    """What it says in a word or two."""
    text: Rich
    """What is missing, what would cure it, and what that costs."""
    refused: bool
    """Hatched mark and panel; else a dashed frame."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """Flags to set, or commands to run."""

    kind: ClassVar[str] = "command"
    lines: tuple[str, ...]
    """One a line."""
    label: str
    """What they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell of a table."""

    text: Rich
    """Value; empty is shown as an en dash."""
    small: tuple[Rich, ...] = ()
    """Lines below it: intervals, conditions."""
    mark: StateKey | None = None
    """Verdict mark in front."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowHead:
    """The head of a table row."""

    text: Rich
    """Name."""
    letter: str | None = None
    """Letter in front."""
    tag: str | None = None
    """`to beat`, `best`."""
    small: tuple[Rich, ...] = ()
    """Conditions, reasons."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """One row."""

    head: RowHead
    """Row head."""
    cells: tuple[Cell, ...]
    """Cells."""
    role: RowRole = "plain"
    """How it is set."""
    anchor: str | None = None
    """Target of in-page links."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableView:
    """A table."""

    kind: ClassVar[str] = "table"
    key: str
    """Stable id."""
    caption: Rich
    """Content."""
    conditions: Rich
    """Units and conditions."""
    head: str
    """Head of the first column."""
    columns: tuple[str, ...]
    """Heads of the others."""
    rows: tuple[TableRow, ...]
    """Rows."""
    text_columns: frozenset[int] = frozenset()
    """Indices of columns that hold words."""
    run_column: int | None = None
    """Index of the column that links the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One entry of a figure's key."""

    mark: Literal["measured", "predicted", "bar", "missing", "interval", "hatch", "reference", "attack", "assumed"]
    """Mark."""
    text: Rich
    """What it means here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureView:
    """A figure: question, answer, chart, source line."""

    kind: ClassVar[str] = "figure"
    key: str
    """Stable id."""
    question: str
    """What it answers."""
    answer: Rich
    """The answer, a full sentence."""
    data: FigureData
    """What is drawn."""
    source: Rich
    """Conditions, limits, runs."""
    title: str
    """For screen readers."""
    description: Rich
    """The values, for screen readers and for the text version."""
    drawn: Rich = field(default_factory=Rich)
    """How to read the drawing, for those who see it."""
    keys: tuple[Key, ...] = ()
    """Marks explained."""
    keys_label: str = "Marks used in this chart"
    """What the key explains."""

    @property
    def explored(self) -> bool:
        """Whether explore.html draws it too: one share leaves nothing to hover over."""
        return not isinstance(self.data, ShareData)


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """Detail that opens on a click: its answer is always visible, and memo.json holds all of it."""

    kind: ClassVar[str] = "folded"
    key: str
    """Stable id."""
    title: str
    """What it is about, in a few words."""
    answer: Rich
    """What it says, in a sentence."""
    blocks: tuple[Block, ...]
    """What opens."""


Block = Paragraph | Bullets | Facts | Box | Command | TableView | FigureView | Folded


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A labelled section whose heading is a finding."""

    key: str
    """Stable id."""
    label: str
    """Kind of finding."""
    heading: Rich
    """The finding."""
    blocks: tuple[Block, ...]
    """Its content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefItem:
    """One of the four lines under the verdict."""

    label: str
    """Asked of you, Why, Do next, Least certain."""
    lead: Rich
    """Set bold: the question asked; empty elsewhere."""
    text: Rich
    """At most 30 words together with the lead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseView:
    """The root cause, directly beneath the verdict."""

    label: str
    """`Root cause, fixed` or `Root cause`."""
    heading: Rich
    """The finding."""
    text: Rich
    """What happened, before and after."""
    flag_before: str | None
    """Flag as it was."""
    flag_after: str | None
    """Flag as it should be."""
    shared_prefix: int
    """Characters that both flags share at their start; what follows differs."""
    note: Rich
    """Finding code, severity, what it does to the runs."""
    mail: Rich
    """One or two sentences for the mail."""
    fixed: bool
    """Whether it is fixed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The verdict in a word."""

    key: StateKey
    """Which mark."""
    word: str
    """Faster, Slower, Not decidable, Depends on load, ..."""
    at: Rich
    """Load it holds at."""
