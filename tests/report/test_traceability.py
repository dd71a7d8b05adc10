"""No number reaches a reader without an entry in memo.json: value, runs, formula."""

from __future__ import annotations

import dataclasses
import json
import re

from tests.report.outline import visible_text
from tracker.report import MemoView, render_html, render_json, render_text
from tracker.report.spans import Span
from tracker.report.view_parts import Command, Facts, FigureView
from tracker.report.walk import blocks_of, spans_of

NUMERAL = re.compile(r"(?<![\w.])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[KM](?!\w))?(?!\w)")
# Fixed phrases: the level of the intervals, the middle of the scale, and the origin of an axis.
PHRASES = ("80 %", "50 %", "1.0 = baseline", "crossing of 1.0", "side of 1.0", "holds 1.0", "0 = keep", "1 = no draft")


def _allowed(view: MemoView) -> list[str]:
    """Names that others chose, flags, run labels and dates: none of them is a statement of the memo."""
    names = [span.text for span in spans_of(view) if span.style in ("label", "code", "run")]
    for block in blocks_of(view):
        if isinstance(block, Command):
            names += block.lines
        if isinstance(block, Facts):
            names += [term for term, _ in block.items]
        if isinstance(block, FigureView):
            names += _labels(block.data)
    cause = view.cause
    flags = [flag for flag in (cause.flag_before, cause.flag_after) if flag] if cause else []
    return sorted({*names, *flags, *PHRASES}, key=len, reverse=True)


def _labels(data: object) -> list[str]:
    """Names of rows and lines inside a figure."""
    if isinstance(data, tuple):
        return [name for item in data for name in _labels(item)]
    if not dataclasses.is_dataclass(data) or isinstance(data, Span):
        return []
    values = {field.name: getattr(data, field.name) for field in dataclasses.fields(data)}
    own = [values[key] for key in ("label", "title") if isinstance(values.get(key), str)]
    return own + [name for value in values.values() for name in _labels(value)]


def _unexplained(text: str, view: MemoView) -> list[str]:
    plain = " ".join(text.replace("\u00a0", " ").split())
    for name in _allowed(view):
        if any(char.isdigit() for char in name):
            plain = re.sub(rf"(?<![\w.]){re.escape(' '.join(name.split()))}(?!\w)", " ", plain, flags=re.IGNORECASE)
    entries = json.loads(render_json(view))["numbers"]
    known = {numeral for entry in entries for numeral in NUMERAL.findall(entry["text"])}
    return sorted({numeral for numeral in NUMERAL.findall(plain) if numeral not in known})


def test_every_number_of_the_text_version_has_an_entry(memo: tuple[str, MemoView]) -> None:
    _, view = memo

    assert _unexplained(render_text(view), view) == []


def test_every_number_of_the_page_has_an_entry(memo: tuple[str, MemoView]) -> None:
    _, view = memo

    assert _unexplained(visible_text(render_html(view)), view) == []


def test_every_entry_names_its_formula_and_measured_ones_their_runs(memo: tuple[str, MemoView]) -> None:
    _, view = memo
    known = {run.run_id for run in view.runs}

    for entry in json.loads(render_json(view))["numbers"]:
        assert entry["formula"]
        assert set(entry["run_ids"]) <= known, entry
        if entry["kind"] == "measured" and "concurrency" not in entry["formula"] and "crossing" not in entry["formula"]:
            assert entry["run_ids"], entry


def test_a_number_drawn_from_the_whole_analysis_names_the_runs_that_carry_it(memo: tuple[str, MemoView]) -> None:
    _, view = memo
    document = json.loads(render_json(view))
    pairs = {
        run for load in document["verdict"]["by_concurrency"] for run in (load["best_run_id"], load["baseline_run_id"])
    }

    for entry in document["numbers"]:
        if entry["kind"] == "derived" and pairs - {None}:
            assert entry["run_ids"], entry
        if entry["formula"].startswith("horizon GPU-hours"):
            assert pairs - {None} <= set(entry["run_ids"]), entry


def test_a_number_without_an_entry_is_found(memo: tuple[str, MemoView]) -> None:
    _, view = memo

    assert _unexplained(render_text(view) + " and 987.654 tok/s", view) == ["987.654"]
