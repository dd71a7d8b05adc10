"""The brief's last line: what the memo knows least about."""

from __future__ import annotations

import re
from itertools import pairwise

from tracker.report import format as fmt
from tracker.report.reading import Reading
from tracker.report.spans import Part, Rich, capital, known, listing, number, quote, rich, sentence

_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z0-9])")


def least_certain(reading: Reading) -> list[Rich]:
    """Return sentences, most important first; what does not fit the brief is dropped."""
    for candidate in (_no_pair, _crossing, _resolution, _data):
        text = candidate(reading)
        if text:
            return text
    others = rich("Whether other prompts behave like the measured ones.")
    return [others, *(_population(reading) or [scope(reading)])]


def _population(reading: Reading) -> list[Rich]:
    """Return what the measured prompts say of others, a sentence each; empty where nothing is known of it."""
    note = reading.analysis.verdict.population_note or ""
    return [sentence(quote(part, "verdict.population_note")) for part in _SENTENCE.split(note) if part]


def scope(reading: Reading) -> Rich:
    """Return what the verdict holds for."""
    return sentence(rich("The verdict holds for ", quote(reading.analysis.verdict.scope, "verdict.scope")))


def _no_pair(reading: Reading) -> list[Rich]:
    if reading.state == "no_baseline":
        return [
            rich("Everything that is a comparison: speed-up, break-even, and what more training data would be worth.")
        ]
    if reading.state == "no_drafter":
        return [
            rich("How many tokens a drafter would yield: here acceptance was set, not measured."),
            rich("Other prompts change that, not the cost of a step."),
        ]
    if reading.state == "no_candidate":
        return [
            rich("Everything about the drafter: no run of it counts, so neither its acceptance nor its cost is known.")
        ]
    return []


def _crossing(reading: Reading) -> list[Rich]:
    if reading.state != "mixed":
        return []
    ends = crossing(reading)
    if ends is None:
        return _open_loads(reading)
    low, high = ends
    return [
        rich(
            "Where the lead is lost: somewhere between ",
            number(f"{low:,}", low, "highest load before the crossing of 1.0", kind="measured"),
            " and ",
            number(f"{high:,}", high, "lowest load after the crossing of 1.0", kind="measured"),
            " streams, nothing was measured there.",
        )
    ]


def _open_loads(reading: Reading) -> list[Rich]:
    rows = reading.analysis.verdict.by_concurrency
    unknown = [item for item in rows if item.status == "undecided" and item.speedup.value is not None]
    loads = [
        number(f"{item.concurrency:,}", item.concurrency, "concurrency, as measured", kind="measured")
        for item in unknown
        if item.concurrency is not None
    ]
    if not loads:
        return []
    words = " stream" if [load.text for load in loads] == ["1"] else " streams"
    return [
        rich("Which way it goes at ", listing(loads), words, ": the noise of these runs is larger than the difference.")
    ]


def crossing(reading: Reading) -> tuple[int, int] | None:
    """Return the two measured loads between which the speed-up crosses 1.0 for certain; None where it does not."""
    loads = [item for item in reading.analysis.verdict.by_concurrency if item.speedup.value is not None]
    for first, second in pairwise(loads):
        if first.concurrency is None or second.concurrency is None:
            continue
        falls = known(first.speedup.value) > 1 > known(second.speedup.value) and second.status == "slower"
        rises = known(first.speedup.value) < 1 < known(second.speedup.value) and second.status == "faster"
        if falls or rises:
            return first.concurrency, second.concurrency
    return None


def _resolution(reading: Reading) -> list[Rich]:
    if reading.state != "undecided":
        return []
    if reading.verdict is None or reading.verdict.speedup.value is None:
        return [rich("The load that decides: no drafter was compared with a plain server there.")]
    if reading.level:
        text = rich("Whether other prompts or loads behave like the measured ones.")
        return [text, *(_population(reading) or [scope(reading)])]
    text = rich("Which side of 1.0 the speed-up is on: the noise of these runs is larger than the difference.")
    return [text, *_population(reading)]


def _data(reading: Reading) -> list[Rich]:
    scaling = reading.analysis.scaling
    if scaling.status == "refused":
        if not scaling.points or not scaling.reason:
            return []
        # Two sentences: a reason too long for the brief is left out whole, and what stays still ends in a full stop.
        reason = sentence(quote(capital(scaling.reason), "scaling.reason"))
        return [rich("How far more data helps: the forecast is withheld."), reason]
    needed = scaling.samples_to_break_even
    if needed is None:
        return []
    parts: list[Part] = ["How far more data helps."]
    one = len(scaling.points) == 1
    parts.append(" One training size gives no slope: break-even" if one else " Break-even")
    parts += [" needs between ", _samples(needed.low, "low", needed.max_samples), " samples and "]
    if needed.high is None:
        limit = number(
            fmt.samples_long(needed.max_samples),
            needed.max_samples,
            "scaling.samples_to_break_even.max_samples",
            kind="assumed",
        )
        parts += ["more than ", limit]
    else:
        parts.append(_samples(needed.high, "high", needed.max_samples))
    return [rich(*parts, ".")]


def _samples(value: float | None, end: str, limit: int) -> Part:
    if value is None:
        return rich(
            "more than ",
            number(fmt.samples_long(limit), limit, "scaling.samples_to_break_even.max_samples", kind="assumed"),
        )
    return number(fmt.samples_long(value), value, f"scaling.samples_to_break_even.{end}", unit="samples")
