"""The brief's second line: why the verdict is what it is."""

from __future__ import annotations

from tracker.analysis.results import Point
from tracker.report import format as fmt
from tracker.report import numbers as num
from tracker.report._bars import easiest
from tracker.report._verdict_text import load_words
from tracker.report.reading import Reading
from tracker.report.spans import Part, Rich, capital, known, label, number, quote, rich, sentence


def why(reading: Reading) -> list[Rich]:
    """Return sentences, most important first; what does not fit the brief is dropped."""
    if reading.state == "no_baseline":
        return [
            rich("Break-even is a ratio of two step times, and one of them was not measured."),
            rich("Throughput with the drafter alone says nothing about what it saves."),
        ]
    if reading.state == "no_candidate":
        return [rich("Break-even needs one usable run with the drafter; none is in this comparison group.")]
    if reading.state == "no_drafter":
        return _why_bars(reading)
    if reading.state == "mixed":
        return _why_mixed(reading)
    best = reading.best
    if best is None or best.break_even is None or best.accept_length.value is None:
        reason = None if reading.verdict is None else reading.verdict.reason
        return (
            [sentence(quote(capital(reason), "verdict.reason"))]
            if reason
            else [rich("Accept length was not measured.")]
        )
    if reading.state == "undecided":
        return [*_reason(reading), _costs_and_yields(best)]
    return [rich(_costs_and_yields(best), " ", missing(reading, best))]


def _why_bars(reading: Reading) -> list[Rich]:
    """Return what a step costs at the lowest and the highest load in the configuration that asks least."""
    lead = easiest(reading)
    if lead is None:
        return [rich("Step times were measured, and no plain run gives a break-even.")]
    rows = [cost for cost in reading.analysis.costs if cost.configuration == lead.cost.configuration]
    first, last = rows[0], rows[-1]
    words = label(reading.names.configuration(lead.cost.configuration))
    parts: list[Part] = ["A step of ", words, " costs ", num.bar(first.break_even, first.run_ids), " plain steps"]
    if first.concurrency is not None:
        parts += [" at ", load_words(first.concurrency)]
    if last is not first:
        parts += [", ", num.bar(last.break_even, last.run_ids), " at ", load_words(last.concurrency)]
    return [rich(*parts, ". That many tokens it must yield; what a drafter yields was not measured.")]


def _reason(reading: Reading) -> list[Rich]:
    verdict = reading.verdict
    if verdict is None or verdict.reason is None:
        return []
    runs = tuple(run for run in (verdict.best_run_id, verdict.baseline_run_id) if run)
    return [sentence(quote(capital(verdict.reason), "verdict.by_concurrency.reason", runs))]


def _costs_and_yields(best: Point) -> Rich:
    return rich(
        "A speculative step costs ",
        num.bar(known(best.break_even), (best.run_id,)),
        " plain steps and yields ",
        num.accept_length_short(best),
        " tokens.",
    )


def missing(reading: Reading, best: Point) -> Rich:
    """Return what a contender lacks, in tokens or in milliseconds a step; or by how much it clears the bar."""
    gap = known(best.break_even).value - known(best.accept_length.value)
    tokens = number(fmt.fixed(abs(gap), 2), gap, "break_even - accept_length", [best.run_id], unit="tokens/step")
    if gap <= 0:
        return rich("That is ", tokens, " more than it must.")
    parts: list[Part] = ["Missing: ", tokens, " tokens a step"]
    share = num.needs(best)
    if share is not None:
        parts += [" (", share, ")"]
    parts.append(_milliseconds(reading, best))
    return rich(*parts, ".")


def _milliseconds(reading: Reading, best: Point) -> Rich:
    base = None if reading.baseline is None else reading.baseline.step_time_ms.value
    step, length = best.step_time_ms.value, best.accept_length.value
    if base is None or step is None or length is None:
        return Rich()
    excess = step - length * base
    runs = [best.run_id, reading.baseline.run_id if reading.baseline else ""]
    formula = "step_time - accept_length * baseline step_time"
    return rich(
        " or ",
        number(fmt.fixed(excess, num.step_decimals(step)), excess, formula, runs, unit="ms"),
        " ms a step (",
        number(fmt.percent(-excess / step, digits=1), -excess / step, f"-({formula}) / step_time", runs),
        ")",
    )


def _why_mixed(reading: Reading) -> list[Rich]:
    rows = [
        point
        for item in reading.analysis.verdict.by_concurrency
        if (point := reading.point(item.best_run_id, item.concurrency)) is not None
        and point.break_even is not None
        and point.accept_length.value is not None
    ]
    if len(rows) < 2:
        return _reason(reading) or [rich("The loads differ; see the table below.")]
    first, last = rows[0], rows[-1]
    lengths = [point.accept_length.value for point in rows if point.accept_length.value is not None]
    runs = tuple(point.run_id for point in rows)
    shown = num.ends(min(lengths), max(lengths), 1, "1 + accepted drafts / verify steps, over loads", runs)
    worded = rich(*(" to " if span.text == fmt.DASH else span for span in shown.spans))
    rises = "rises" if known(last.break_even).value > known(first.break_even).value else "falls"
    parts: list[Part] = [
        "The drafter yields ",
        worded,
        f" tokens a step. What a step costs {rises}: ",
        num.bar(known(first.break_even), (first.run_id,)),
        " plain steps at ",
        load_words(first.concurrency),
        ", ",
        num.bar(known(last.break_even), (last.run_id,)),
        " at ",
        load_words(last.concurrency),
    ]
    steps = last.configuration.num_steps
    if steps is not None and known(last.break_even).value > steps + 1:
        parts += [
            ", where ",
            number(str(steps + 1), steps + 1, "num_steps + 1", [last.run_id]),
            " is the most that can be won",
        ]
    return [rich(*parts, ".")]
