"""Text that knows where its numbers come from."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeVar

Style = Literal["plain", "code", "run", "label"]
FactKind = Literal["measured", "derived", "assumed", "quoted"]

_NAME_LIKE = re.compile(r"[a-z]\S*[-_/]\S*\d|[a-z][\w-]*\.[a-z]{2,5}\b")  # eagle3-d100-3-1-4, runs/2, campaign.toml
_NUMERAL = re.compile(r"(?<![\w.])[-−+±]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[KM](?!\w))?(?!\w|\.\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Where a number in the memo comes from."""

    value: float | None
    """The number before rounding; None when only words are known."""
    unit: str | None
    """Unit, e.g. `tok/s`; None for ratios and counts."""
    formula: str
    """How it follows from the runs, in names of memo.json and of the analysis."""
    run_ids: tuple[str, ...] = ()
    """Runs behind it."""
    kind: FactKind = "derived"
    """measured on a run, derived from runs, assumed, or quoted from a sentence of the analysis."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of text in one style."""

    text: str
    """The text as shown."""
    style: Style = "plain"
    """run: a link to a run; label: a name somebody else chose; code: a flag or command."""
    bold: bool = False
    """Whether it is set bold."""
    fact: Fact | None = None
    """Present when the text is a number."""
    run_id: str | None = None
    """Target of a link to a run's row."""
    url: str | None = None
    """Target of a link out of the memo; http or https only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rich:
    """Text made of spans."""

    spans: tuple[Span, ...] = ()
    """In reading order."""

    @property
    def text(self) -> str:
        """Return the plain text."""
        return "".join(span.text for span in self.spans)

    def __bool__(self) -> bool:
        """Whether there is any text."""
        return bool(self.text)


Part = str | Span | Rich
T = TypeVar("T")


def known(value: T | None) -> T:
    """Return a value that the caller has made sure of.

    Raises:
        ValueError: It is None; a number that is not known must not be shown.
    """
    if value is None:
        raise ValueError("a number that is not known was about to be shown")
    return value


def rich(*parts: Part) -> Rich:
    """Return one text made of `parts`, in order."""
    spans: list[Span] = []
    for part in parts:
        if isinstance(part, Rich):
            spans.extend(part.spans)
        elif isinstance(part, Span):
            spans.append(part)
        elif part:
            spans.append(Span(text=part))
    return Rich(spans=tuple(spans))


def join(parts: Iterable[Part], separator: str) -> Rich:
    """Return `parts` with `separator` between them."""
    out: list[Part] = []
    for part in parts:
        if out:
            out.append(separator)
        out.append(part)
    return rich(*out)


def listing(parts: Iterable[Part]) -> Rich:
    """Return `a`, `a and b`, or `a, b and c`."""
    items = list(parts)
    if len(items) < 2:
        return rich(*items)
    return rich(join(items[:-1], ", "), " and ", items[-1])


def strong(*parts: Part) -> Rich:
    """Return `parts` set bold."""
    return Rich(spans=tuple(dataclasses.replace(span, bold=True) for span in rich(*parts).spans))


def code(text: str) -> Span:
    """Return a flag or command."""
    return Span(text=text, style="code")


def label(text: str) -> Span:
    """Return a name that somebody else chose; its digits are no statements of the memo."""
    return Span(text=text, style="label")


def number(
    text: str,
    value: float | None,
    formula: str,
    runs: Iterable[str] = (),
    *,
    unit: str | None = None,
    kind: FactKind = "derived",
) -> Span:
    """Return a number as shown, together with its origin."""
    run_ids = tuple(dict.fromkeys(run for run in runs if run))
    return Span(text=text, fact=Fact(value=value, unit=unit, formula=formula, run_ids=run_ids, kind=kind))


def quote(text: str, source: str, runs: Iterable[str] = ()) -> Rich:
    """Return a sentence of the analysis in which every numeral is traced to `source`.

    Args:
        text: The sentence.
        source: Key of memo.json or of the analysis that holds it, e.g. `data_quality[3].message`.
        runs: Runs it concerns.
    """
    runs = tuple(runs)
    spans: list[Span] = []
    end = 0
    for match in _NUMERAL.finditer(text):
        if match.start() > end:
            spans.append(Span(text=text[end : match.start()]))
        spans.append(number(match.group(), _value(match.group()), source, runs, kind="quoted"))
        end = match.end()
    if end < len(text):
        spans.append(Span(text=text[end:]))
    return Rich(spans=tuple(spans))


def _value(numeral: str) -> float:
    factor = {"K": 1e3, "M": 1e6}.get(numeral[-1], 1.0)
    return factor * float(numeral.rstrip("KM").replace(",", "").replace("−", "-").lstrip("±+"))


def sentence(text: Rich) -> Rich:
    """Return `text` with a full stop, unless it ends in a mark already."""
    return text if text.text.rstrip().endswith((".", "?", "!", ":")) else rich(text, ".")


def capital(text: str) -> str:
    """Return `text` with its first letter in upper case, unless its first word is a run's name, a flag or a file."""
    if _NAME_LIKE.match(text):
        return text
    return text[:1].upper() + text[1:]


def uncapital(text: str) -> str:
    """Return `text` with its first letter in lower case, unless its first word is a name or an abbreviation."""
    first = text.split(" ", 1)[0]
    return text if first[1:] != first[1:].lower() else text[:1].lower() + text[1:]


def fit_words(limit: int, *sentences: Rich | None) -> Rich:
    """Return the first sentence and as many of the others, in order, as stay within `limit` words.

    A later sentence may still fit where an earlier one did not.
    """
    kept: list[Rich] = []
    used = 0
    for text in sentences:
        if text is None or not text:
            continue
        words = len(text.text.split())
        if not kept or used + words <= limit:
            kept.append(text)
            used += words
    return join(kept, " ")
