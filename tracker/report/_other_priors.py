"""What another slope prior does to the ranking and to the forecast, in one line each."""

from __future__ import annotations

from tracker.analysis.results import PriorSensitivity
from tracker.domain.estimate import Estimate
from tracker.report import format as fmt
from tracker.report import numbers as num
from tracker.report.reading import Reading
from tracker.report.spans import Part, Rich, capital, known, number, quote, rich, strong

_SOURCE = "sensitivity"
# Forecasts closer than this read the same.
_APART = 0.01
_TELLING = 10
_MOST_SAID = 1000


def other_prior(reading: Reading, item: PriorSensitivity) -> Rich:
    """Return what leads under another prior, what it forecasts, and whether the data bear it."""
    letter = reading.letters.get(item.option_key)
    who = quote(f"{letter} ({item.title})" if letter else item.title, f"{_SOURCE}.title")
    verb = "stays first" if not item.changes else "would overtake" if item.contradicted else "overtakes"
    ranking = rich(strong(capital(item.label), ":"), " ", who, f" {verb}.")
    return rich(ranking, _forecast(reading, item), _borne(reading, item))


def ranking_depends(reading: Reading) -> bool:
    """Whether another first option follows from a prior that the data do not rule out."""
    return any(item.changes and not item.contradicted for item in reading.decision.sensitivity)


def _forecast(reading: Reading, item: PriorSensitivity) -> Rich:
    if item.samples is None or item.reweighted.value is None or item.stated.value is None:
        return Rich()
    runs = _runs(reading)
    size = number(f"{item.samples:,}", item.samples, "largest training size within a decade of the data")
    parts: list[Part] = [
        " Accept length at ",
        size,
        " samples: ",
        _value(item.reweighted, "accept_length_reweighted", runs),
    ]
    ends = num.interval(item.reweighted, 2, f"80 % interval of {_SOURCE}.accept_length_reweighted", runs)
    parts += [" (", ends, ") instead of ", _value(item.stated, "accept_length", runs)]
    if item.held.value is None and not item.contradicted:
        reason = quote(item.held.reason or "", f"{_SOURCE}.accept_length_held.reason", runs)
        parts += ["; with the forms of the curve weighed as before, ", reason]
    elif item.held.value is not None and abs(item.held.value - item.reweighted.value) >= _APART:
        held = _value(item.held, "accept_length_held", runs)
        parts += ["; ", held, " with the forms of the curve weighed as before"]
    return rich(*parts, ".")


def _borne(reading: Reading, item: PriorSensitivity) -> Rich:
    """Return how much more or less likely the data are under this prior, where that tells."""
    ratio = item.likelihood_ratio
    if not ratio or 1 / _TELLING < ratio < _TELLING:
        return Rich()
    times = max(ratio, 1 / ratio)
    shown = number(
        f"{min(times, _MOST_SAID):,.0f}",
        times,
        f"{_SOURCE}.likelihood_ratio, or 1 over it",
        _runs(reading),
    )
    over = "over " if times > _MOST_SAID else ""
    less = "less" if ratio < 1 else "more"
    end = ": they rule it out." if item.contradicted else "."
    return rich(f" These data are {over}", shown, f" times {less} likely under it{end}")


def _value(estimate: Estimate, name: str, runs: tuple[str, ...]) -> Part:
    value = known(estimate.value)
    return number(fmt.fixed(value, 2), value, f"median of accept length, {_SOURCE}.{name}", runs)


def _runs(reading: Reading) -> tuple[str, ...]:
    return tuple(point.run_id for point in reading.analysis.scaling.points)
