"""Jumps of a series that nobody annotated: named where a reader looks for what changed."""

from __future__ import annotations

from tracker.analysis.results import StepChange
from tracker.report import format as fmt
from tracker.report.reading import Reading
from tracker.report.spans import Part, Rich, Span, capital, number, quote, rich
from tracker.report.view_parts import Facts

MAX_SHOWN = 4
_UNITS = {
    "throughput": ("throughput", "tok/s", 1),
    "accept_length": ("accept length", "tokens a step", 2),
    "step_time": ("step time", "ms a step", 1),
}


def jumps(reading: Reading) -> Facts | None:
    """Return one line for each unexplained jump in the window; None without any. The history section has the rest."""
    alarms = [change for change in reading.analysis.changes if change.alarm]
    if not alarms:
        return None
    items = [("Jump", _sentence(reading, change)) for change in alarms[:MAX_SHOWN]]
    left = len(alarms) - MAX_SHOWN
    if left > 0:
        more = number(str(left), left, "jumps beyond those named")
        items.append(("Jump", rich(more, " more stand under History.")))
    return Facts(items=tuple(items))


def _sentence(reading: Reading, change: StepChange) -> Rich:
    name, unit, decimals = _UNITS[change.quantity]
    word = "fell" if change.after < change.before else "rose"
    formula = f"{name}: after / before - 1"
    size = number(
        fmt.percent(abs(change.change_fraction), signed=False), change.change_fraction, formula, change.run_ids_after
    )
    parts: list[Part] = [
        capital(quote_words(change.series)),
        f": {name} {word} by ",
        size,
        ", from ",
        _level(change.before, decimals, name, change.run_ids_before),
        " to ",
        _level(change.after, decimals, name, change.run_ids_after),
        f" {unit}; nobody wrote down why. ",
        reading.names.runs(change.run_ids_after[:1]),
    ]
    return rich(quote(str(parts[0]), "changes.series", change.run_ids_after), *parts[1:])


def quote_words(text: str) -> str:
    """Return the words of a series without a full stop at their end."""
    return text.rstrip(".")


def _level(value: float, decimals: int, name: str, runs: tuple[str, ...]) -> Span:
    text = fmt.throughput(value) if name == "throughput" else fmt.fixed(value, decimals)
    return number(text, value, f"geometric mean of {name} over the runs of a level", runs, kind="measured")
