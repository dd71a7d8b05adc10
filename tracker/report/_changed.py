"""What changed since the memo before."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tracker.report import format as fmt
from tracker.report import numbers as num
from tracker.report._bars import easiest
from tracker.report._changed_options import moved_options
from tracker.report._jumps import jumps
from tracker.report._verdict_text import WORDS
from tracker.report.reading import Reading, standing_state
from tracker.report.spans import Part, Rich, Span, code, label, number, quote, rich
from tracker.report.view_parts import Cell, Paragraph, RowHead, Section, TableRow, TableView

_PREVIOUS = "the memo before: "
MAX_NEW_RUNS = 6


def changed(reading: Reading) -> Section:
    """Return the section; for a first memo it says that there is nothing to compare with."""
    section = _changed(reading)
    alarms = jumps(reading)
    if alarms is None:
        return section
    heading = section.heading
    if reading.context.previous is None:
        heading = rich("First memo, and a jump in it that nobody explained")
    return dataclasses.replace(section, heading=heading, blocks=(alarms, *section.blocks))


def _changed(reading: Reading) -> Section:
    previous = reading.context.previous
    if previous is None:
        return _first(reading)
    rows = [row for row in _rows(reading, previous) if row is not None]
    moved = [row for row in rows if row.cells[2].text.text != "none"]
    table = TableView(
        key="changes",
        caption=rich("Since the memo of ", label(_date(previous, reading))),
        conditions=Rich(),
        head="What",
        columns=("was", "is", "change"),
        rows=tuple(rows),
        text_columns=frozenset({2}),
    )
    return Section(
        key="changed",
        label="Changed since",
        heading=_heading(reading, previous, bool(moved)),
        blocks=(table,),
    )


def _first(reading: Reading) -> Section:
    runs = tuple(dict.fromkeys(point.run_id for point in reading.analysis.points))
    count = len(runs)
    text = (
        " From the next memo on, this place lists what moved: verdict, baseline, best contender, options that changed "
        "rank, and forecasts that came true or did not."
    )
    shown = number(str(count), count, "runs in the comparison group", runs, kind="measured")
    few = {1: "The only run is new.", 2: "Both runs are new."}
    start: list[Part] = [few[count]] if count in few else ["All ", shown, " runs are new."]
    if not runs or not all(point.is_news for point in reading.analysis.points):
        start = ["No memo was made before."]
    return Section(
        key="changed",
        label="Changed since",
        heading=rich("First memo on this campaign: nothing to compare with yet"),
        blocks=(Paragraph(text=rich(*start, text)),),
    )


def _date(previous: Mapping[str, Any], reading: Reading) -> str:
    stamp = previous.get("generated_at")
    if not isinstance(stamp, str):
        return "an unknown date"
    return fmt.date_long(datetime.fromisoformat(stamp), reading.context.timezone)


def _heading(reading: Reading, previous: Mapping[str, Any], moved: bool) -> Rich:
    before, now = _status(previous), standing_state(reading.analysis)
    if before != now:
        return rich(f"The verdict changed: {_word(before).lower()} before, {WORDS[now].lower()} now")
    gap_before, gap_now = _gap(previous), _gap_now(reading)
    if moved and gap_before is not None and gap_now is not None and now == "slower":
        nearer = gap_now.fact is not None and gap_now.fact.value is not None and gap_now.fact.value < gap_before
        word = "Nearer, still short" if nearer else "No nearer"
        was = number(fmt.throughput(gap_before), gap_before, f"{_PREVIOUS}baseline - best contender", unit="tok/s")
        return rich(f"{word}: ", gap_now, " tok/s missing, ", was, " before")
    return rich("The verdict stands; some numbers moved" if moved else "The verdict stands, and nothing moved")


def _rows(reading: Reading, previous: Mapping[str, Any]) -> list[TableRow | None]:
    before, now = _status(previous), standing_state(reading.analysis)
    evidence_was = _evidence_of(previous)
    verdict = TableRow(
        head=RowHead(text=rich("Verdict")),
        cells=(
            Cell(text=rich(_word(before).lower())),
            Cell(text=rich(WORDS[now].lower())),
            Cell(text=rich("none" if before == now else "changed")),
        ),
    )
    return [
        verdict,
        _number_row(
            "Baseline, tok/s",
            evidence_was["baseline"],
            None if reading.baseline is None else num.tok_s(reading.baseline),
        ),
        _who_row(reading, evidence_was_name(previous)),
        _number_row(
            "Best contender, tok/s", evidence_was["best"], None if reading.best is None else num.tok_s(reading.best)
        ),
        _number_row("Break-even of the best contender", evidence_was["break_even"], _bar_now(reading), 2),
        _lowest_bar_row(reading, previous),
        _runs_row(reading, previous),
        _findings_row(reading, previous),
        _option_row(reading, previous),
        *moved_options(reading, _list(previous, "options")),
    ]


def _lowest_bar_row(reading: Reading, previous: Mapping[str, Any]) -> TableRow | None:
    """Return how the break-even moved that asks least of a drafter; None where a drafter was served."""
    lead = easiest(reading) if reading.state == "no_drafter" else None
    if lead is None:
        return None
    same = (lead.cost.configuration.label, lead.cost.concurrency)
    bars = _list(previous, "break_even_by_configuration")
    was = next((bar for bar in bars if (bar.get("configuration"), bar.get("concurrency")) == same), {}).get(
        "break_even"
    )
    name = f"Break-even of {reading.names.configuration(lead.cost.configuration)}"
    return _number_row(name, _number(was), num.bar(lead.cost.break_even, lead.cost.run_ids), 2)


def _number_row(name: str, was: float | None, now: Span | None, decimals: int | None = None) -> TableRow | None:
    """Return what a number was and is; without `decimals` it is a throughput, rounded as everywhere."""
    value = None if now is None or now.fact is None else now.fact.value
    if was is None and value is None:
        return None
    old = Rich()
    if was is not None:
        text = fmt.throughput(was) if decimals is None else fmt.fixed(was, decimals)
        old = rich(number(text, was, f"{_PREVIOUS}{name}"))
    if was is None or value is None or now is None:
        reading: Rich = rich("new" if was is None else "no longer measured")
    elif now.text == old.text:
        reading = rich("none")
    else:
        reading = rich(number(fmt.percent(value / was - 1), value / was - 1, f"{name}: now / before - 1"))
    return TableRow(
        head=RowHead(text=rich(label(name))),
        cells=(Cell(text=old), Cell(text=rich(now) if now is not None else Rich()), Cell(text=reading)),
    )


def _who_row(reading: Reading, was: str | None) -> TableRow | None:
    best = reading.best
    now = None if best is None else _configured(best.configuration.label, best.drafter)
    if was is None and now is None:
        return None
    word = "none" if was == now else "new" if was is None else "no longer measured" if now is None else "another"
    return TableRow(
        head=RowHead(text=rich("Best configuration")),
        cells=(
            Cell(text=rich(label(was)) if was else Rich()),
            Cell(text=rich(label(now)) if now else Rich()),
            Cell(text=rich(word)),
        ),
    )


def _runs_row(reading: Reading, previous: Mapping[str, Any]) -> TableRow | None:
    was = tuple(dict.fromkeys(str(row.get("run_id")) for row in _list(previous, "evidence")))
    now = tuple(dict.fromkeys(point.run_id for point in reading.analysis.points))
    if not was:
        return None
    fresh = [run for run in now if run not in was]
    gone = len([run for run in was if run not in now])
    parts: list[Part] = []
    if fresh:
        parts += ["new: ", reading.names.runs(fresh[:MAX_NEW_RUNS])]
        left = len(fresh) - MAX_NEW_RUNS
        parts += [" and ", number(str(left), left, "new runs beyond those named", fresh), " more"] if left > 0 else []
    if gone:
        parts += ["; " if parts else "", number(str(gone), gone, f"runs of {_PREVIOUS}no longer compared"), " gone"]
    return TableRow(
        head=RowHead(text=rich("Runs")),
        cells=(
            Cell(text=rich(number(str(len(was)), len(was), f"{_PREVIOUS}evidence, distinct runs"))),
            Cell(text=rich(number(str(len(now)), len(now), "evidence, distinct runs", now, kind="measured"))),
            Cell(text=rich(*parts) if parts else rich("none")),
        ),
    )


def _findings_row(reading: Reading, previous: Mapping[str, Any]) -> TableRow | None:
    was = {str(item.get("code")) for item in _list(previous, "findings")}
    now = {shared.finding.code for shared in reading.analysis.findings}
    if not was and not now:
        return None
    fresh, gone = sorted(now - was), sorted(was - now)
    parts: list[Part] = []
    for title, codes in (("new: ", fresh), ("gone: ", gone)):
        if codes:
            parts += ["; " if parts else "", title, code(", ".join(codes))]
    count_was = rich(number(str(len(was)), len(was), f"{_PREVIOUS}findings"))
    count_now = rich(number(str(len(now)), len(now), "findings"))
    return TableRow(
        head=RowHead(text=rich("Findings")),
        cells=(Cell(text=count_was), Cell(text=count_now), Cell(text=rich(*parts) if parts else rich("none"))),
    )


def _option_row(reading: Reading, previous: Mapping[str, Any]) -> TableRow | None:
    first = next((item for item in _list(previous, "options") if item.get("rank") == 1), None)
    top = reading.top_option
    if first is None and top is None:
        return None
    old = "" if first is None else str(first.get("title"))
    new = "" if top is None else top.title
    same = (None if first is None else first.get("key")) == (None if top is None else top.key)
    return TableRow(
        head=RowHead(text=rich("Best option")),
        cells=(
            Cell(text=quote(old, f"{_PREVIOUS}options")),
            Cell(text=quote(new, "options")),
            Cell(text=rich("none" if same else "changed rank")),
        ),
    )


def _status(previous: Mapping[str, Any]) -> str:
    verdict = previous.get("verdict")
    return str(verdict.get("status")) if isinstance(verdict, Mapping) else "unknown"


def _word(status: str) -> str:
    words: Mapping[str, str] = {str(key): word for key, word in WORDS.items()}
    return words.get(status, "Unknown")


def _list(previous: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    value = previous.get(key)
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _headline_load(previous: Mapping[str, Any]) -> Mapping[str, Any]:
    verdict = previous.get("verdict")
    loads = _list(verdict, "by_concurrency") if isinstance(verdict, Mapping) else []
    wanted = verdict.get("decision_concurrency") if isinstance(verdict, Mapping) else None
    return next((item for item in loads if item.get("concurrency") == wanted), loads[0] if loads else {})


def _evidence_of(previous: Mapping[str, Any]) -> dict[str, float | None]:
    load = _headline_load(previous)
    found: dict[str, float | None] = {"baseline": None, "best": None, "break_even": None}
    for row in _list(previous, "evidence"):
        if row.get("concurrency") != load.get("concurrency"):
            continue
        if row.get("run_id") == load.get("baseline_run_id"):
            found["baseline"] = _number(row.get("output_throughput_tok_s"))
        if row.get("run_id") == load.get("best_run_id"):
            found["best"] = _number(row.get("output_throughput_tok_s"))
            bar = row.get("break_even")
            found["break_even"] = _number(bar.get("value")) if isinstance(bar, Mapping) else None
    return found


def evidence_was_name(previous: Mapping[str, Any]) -> str | None:
    """Return the configuration of the best contender of the memo before."""
    load = _headline_load(previous)
    for row in _list(previous, "evidence"):
        same = row.get("concurrency") == load.get("concurrency")
        if same and row.get("run_id") == load.get("best_run_id") and load.get("best_run_id") is not None:
            return _configured(str(row.get("configuration")), row.get("drafter"))
    return None


def _configured(configuration: str, drafter: object) -> str:
    return f"{configuration}, drafter {drafter}" if drafter else configuration


def _number(value: object) -> float | None:
    if isinstance(value, Mapping):
        value = value.get("value")
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _gap(previous: Mapping[str, Any]) -> float | None:
    found = _evidence_of(previous)
    base, best = found["baseline"], found["best"]
    return None if base is None or best is None else base - best


def _gap_now(reading: Reading) -> Span | None:
    base = None if reading.baseline is None else reading.baseline.throughput_tok_s.value
    best = None if reading.best is None else reading.best.throughput_tok_s.value
    if base is None or best is None or reading.best is None or reading.baseline is None:
        return None
    runs = [reading.best.run_id, reading.baseline.run_id]
    return number(fmt.throughput(base - best), base - best, "baseline - best contender", runs, unit="tok/s")


def _bar_now(reading: Reading) -> Span | None:
    if reading.best is None or reading.best.break_even is None:
        return None
    return num.bar(reading.best.break_even, (reading.best.run_id,))
