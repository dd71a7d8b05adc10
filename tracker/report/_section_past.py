"""Decisions taken on earlier memos with what came of them, and how far earlier forecasts held."""

from __future__ import annotations

from tracker.report import format as fmt
from tracker.report import numbers as num
from tracker.report.past import Calibration, Decided, Expectation, Outcome, calibration, decisions, fair_range
from tracker.report.reading import Reading
from tracker.report.spans import Part, Rich, Span, known, label, number, quote, rich, sentence
from tracker.report.view_parts import Block, Cell, Paragraph, RowHead, Section, TableRow, TableView

MAX_ROWS = 12
_NOT_YET = "not yet measured"


def decided(reading: Reading) -> Section | None:
    """Return the decisions, latest first; None while none was taken."""
    found = decisions(reading.analysis, reading.context)
    if not found:
        return None
    table = TableView(
        key="decided",
        caption=rich("Decisions taken on earlier memos"),
        conditions=rich(
            "Expected with its 80 % interval, as that memo gave it, against the run that put it to the test."
        ),
        head="Decision",
        columns=("on", "by", "expected tok/s", "measured tok/s", "came out", "run"),
        rows=tuple(_decision_row(reading, item) for item in found[:MAX_ROWS]),
        text_columns=frozenset({0, 1, 4}),
        run_column=5,
    )
    return Section(key="decided", label="Decided", heading=_heading(reading, found[0]), blocks=(table,))


def _heading(reading: Reading, last: Decided) -> Rich:
    title = quote(last.outcome.expected.title, "decisions.title")
    measured = last.outcome.measured
    if measured is None or last.outcome.run_id is None:
        return rich(title, ": decided, not yet measured")
    value = _measured(last.outcome)
    expected = last.outcome.expected.value
    if expected is None:
        return rich(title, ": ", value, " tok/s measured")
    was = number(fmt.throughput(expected), expected, "decisions.expected", unit="tok/s")
    return rich(title, ": ", value, " tok/s measured, ", was, " expected")


def _decision_row(reading: Reading, item: Decided) -> TableRow:
    outcome = item.outcome
    day = "" if item.at is None else fmt.date_long(item.at, reading.context.timezone)
    note = (label(item.note),) if item.note else ()
    return TableRow(
        head=RowHead(
            text=quote(outcome.expected.title, "decisions.title"), small=tuple(sentence(rich(part)) for part in note)
        ),
        cells=(
            Cell(text=rich(label(day)) if day else Rich()),
            Cell(text=rich(label(item.by))),
            _expected_cell(outcome.expected),
            Cell(text=rich(_measured(outcome)) if outcome.measured is not None else rich(_NOT_YET)),
            Cell(text=_came_out(outcome)),
            Cell(text=rich(reading.names.run(outcome.run_id)) if outcome.run_id else Rich()),
        ),
    )


def _expected_cell(expected: Expectation) -> Cell:
    if expected.value is None:
        return Cell(text=rich("no value given"))
    decimals = 2 if expected.unit == "tokens a step" else 1 if expected.value < 200 else 0
    formula = f"{expected.key} in the memo it was given in"
    shown = number(fmt.fixed(expected.value, decimals), expected.value, formula, unit=expected.unit)
    if expected.low is None or expected.high is None:
        return Cell(text=rich(shown))
    ends = num.ends(expected.low, expected.high, decimals, f"80 % interval of {formula}", (), unit=expected.unit)
    return Cell(text=rich(shown), small=(ends,))


def _measured(outcome: Outcome) -> Span:
    value = known(outcome.measured)
    if outcome.expected.unit == "tokens a step":
        text, formula = fmt.fixed(value, 2), "1 + accepted drafts / verify steps"
    else:
        text, formula = fmt.throughput(value), "output tokens / wall seconds"
    return number(text, value, formula, [known(outcome.run_id)], unit=outcome.expected.unit, kind="measured")


def _came_out(outcome: Outcome) -> Rich:
    if outcome.measured is None:
        return rich(_NOT_YET)
    expected = outcome.expected
    if expected.low is None or expected.high is None:
        return rich("no interval was given")
    if outcome.inside:
        return rich("inside the interval")
    return rich("above the interval" if outcome.measured > expected.high else "below the interval")


def checked(reading: Reading) -> Section | None:
    """Return how far forecasts of earlier memos held; None while no run has put one to the test."""
    found = calibration(reading.analysis, reading.context)
    if not found.checked:
        return None
    latest = found.checked[::-1][:MAX_ROWS]
    left = len(found.checked) - len(latest)
    more: Part = (
        "" if left == 0 else rich(" ", number(str(left), left, "older forecasts checked"), " older ones: memo.json.")
    )
    table = TableView(
        key="checked",
        caption=rich("Forecasts that were put to the test"),
        conditions=rich("The last forecast made before the run, with its 80 % interval, latest first.", more),
        head="Forecast",
        columns=("made on", "chance to beat the baseline", "expected", "measured", "came out", "run"),
        rows=tuple(_checked_row(reading, item) for item in latest),
        text_columns=frozenset({0, 4}),
        run_column=5,
    )
    blocks: tuple[Block, ...] = (Paragraph(text=_scores(found)), table)
    return Section(key="checked", label="Forecasts checked", heading=_hits_heading(found), blocks=blocks)


def _runs(found: Calibration) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item.run_id for item in found.checked if item.run_id is not None))


def _hits_heading(found: Calibration) -> Rich:
    hits, count = found.hits
    shown = number(str(hits), hits, "measured values inside their 80 % interval", _runs(found))
    total = number(str(count), count, "forecasts with an interval and a measurement", _runs(found))
    if count == 1:
        return rich("The one forecast tested so far ", "held" if hits else "did not hold")
    return rich(shown, " of ", total, " forecasts held their 80 % interval")


def _scores(found: Calibration) -> Rich:
    hits, count = found.hits
    low, high = fair_range(count)
    formula = "5th to 95th percentile of a binomial with 0.8"
    first, last = number(str(low), low, formula), number(str(high), high, formula)
    total = number(str(count), count, "forecasts with an interval and a measurement", _runs(found))
    span: Part = first if low == high else rich(first, " to ", last)
    parts: list[Part] = ["Intervals that mean what they say would hold ", span, " of ", total, " in nine cases of ten"]
    parts.append(
        ", as these did."
        if low <= hits <= high
        else "; these did not, so read the intervals of this memo as too " + ("narrow." if hits < low else "wide.")
    )
    brier = found.brier
    if brier is not None:
        score, chances = brier
        parts += [
            " Brier score of the chances given: ",
            number(fmt.fixed(score, 2), score, "mean of (chance - outcome) squared", _runs(found)),
            " (",
            number(str(chances), chances, "chances with an outcome", _runs(found)),
            " chance" if chances == 1 else " chances",
            "); 0 is perfect, and always saying one half scores ",
            number("0.25", 0.25, "(1/2) squared", kind="assumed"),
            ".",
        ]
    return rich(*parts)


def _checked_row(reading: Reading, item: Outcome) -> TableRow:
    expected = item.expected
    day = "" if expected.made_at is None else fmt.date_long(expected.made_at, reading.context.timezone)
    return TableRow(
        head=RowHead(text=_forecast_title(expected)),
        cells=(
            Cell(text=rich(label(day)) if day else Rich()),
            Cell(text=_chance(expected)),
            _expected_cell(expected),
            Cell(text=rich(_measured(item))),
            Cell(text=_came_out(item)),
            Cell(text=rich(reading.names.run(known(item.run_id)))),
        ),
    )


def _forecast_title(expected: Expectation) -> Rich:
    if expected.unit == "tok/s":
        return rich(quote(expected.title, "calibration.title"), ", tok/s")
    samples = int(expected.key.removeprefix("forecast_"))
    shown = number(f"{samples:,}", samples, "scaling.forecast.samples", unit="samples")
    return rich("Accept length at ", shown, " samples")


def _chance(expected: Expectation) -> Rich:
    chance = expected.p_beats_baseline
    if chance is None:
        return Rich()
    return rich(number(fmt.chance(chance), chance, f"{expected.key}.p_beats_baseline in the memo it was given in"))
