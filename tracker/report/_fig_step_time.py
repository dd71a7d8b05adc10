"""Figure: where the time of one speculative step goes."""

from __future__ import annotations

from tracker.analysis.results import StepTimeFit
from tracker.domain.estimate import Estimate
from tracker.report import format as fmt
from tracker.report import numbers as num
from tracker.report.figures import StepPart, StepTimeData
from tracker.report.reading import Reading
from tracker.report.spans import Part, Rich, Span, known, number, quote, rich, sentence
from tracker.report.view_parts import Box, FigureView

_MODEL = "T = T_base + f + v (n - 1) + d s, least squares with coefficients >= 0"


def step_time_figure(reading: Reading) -> FigureView | None:
    """Return the waterfall; None where the fit was refused or names no example."""
    fit = reading.analysis.step_time
    if fit.status == "refused" or fit.example is None or fit.example_step_ms is None or fit.baseline_ms is None:
        return None
    parts = _parts(fit)
    if parts is None:
        return None
    data = _data(reading, fit, parts)
    left = _unexplained(fit, parts)
    return FigureView(
        key="step-time",
        question="Where does the time of a step go?",
        answer=_answer(parts),
        data=data,
        source=_source(reading, fit, left),
        title="Where the time of one speculative step goes",
        description=_description(data, whole=left is None),
    )


def refused_step_time(reading: Reading) -> Box | None:
    """Return why the step time is not split, and what would allow it; None where it is, or was never asked for."""
    fit = reading.analysis.step_time
    if fit.status != "refused" or not fit.reason:
        return None
    parts: list[Part] = [sentence(quote(_capital(fit.reason), "step_time.reason", fit.run_ids))]
    if fit.cure:
        parts += [" Cure: ", sentence(quote(fit.cure, "step_time.cure", fit.run_ids))]
    return Box(title="Step time not split", text=rich(*parts), refused=True)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _ms(value: float, formula: str, runs: tuple[str, ...], *, decimals: int = 1) -> Span:
    return number(f"{fmt.fixed(value, decimals)} ms", value, formula, runs, unit="ms")


def _scaled(estimate: Estimate, factor: float) -> Estimate:
    ends = [None if part is None else part * factor for part in (estimate.value, estimate.low, estimate.high)]
    return Estimate(value=ends[0], low=ends[1], high=ends[2], reason=estimate.reason)


def _parts(fit: StepTimeFit) -> tuple[StepPart, ...] | None:
    tokens = (known(fit.example).num_draft_tokens or 1) - 1
    steps = known(fit.example).num_steps if known(fit.example).num_steps is not None else fit.assumed_num_steps
    decimals = num.step_decimals(fit.example_step_ms or 0.0)
    pieces: list[tuple[str, Estimate, str]] = [("Fixed overhead of speculation", fit.fixed_ms, "f")]
    if fit.status == "fitted" and steps is not None:
        pieces.append(
            (f"Verify {fmt.plural(tokens, 'more token')}", _scaled(fit.per_verified_token_ms, tokens), "v (n - 1)")
        )
        pieces.append((fmt.plural(steps, "draft step"), _scaled(fit.per_draft_step_ms, steps), "d s"))
    elif steps is not None:
        pieces.append(
            (f"{fmt.plural(steps, 'draft step')}, and verifying", _scaled(fit.combined_ms, steps), "(v + d) s")
        )
    valued = [(name, piece, symbol) for name, piece, symbol in pieces if piece.value is not None]
    if len(valued) != len(pieces):
        return None
    largest = max(valued, key=lambda item: item[1].value or 0.0)[0]
    plain = StepPart(
        label="One plain decoding step",
        length_ms=known(fit.baseline_ms),
        low_ms=None,
        high_ms=None,
        text=_ms(known(fit.baseline_ms), "baseline step time: 1000 / tok/s per stream", fit.run_ids, decimals=decimals),
        range_text=None,
        role="plain",
    )
    return (plain, *(_part(fit, *item, attack=item[0] == largest, decimals=decimals) for item in valued))


def _part(fit: StepTimeFit, name: str, piece: Estimate, symbol: str, *, attack: bool, decimals: int) -> StepPart:
    formula = f"{symbol} in {_MODEL}"
    ends = num.interval(piece, decimals, f"80 % interval of {formula}", fit.run_ids, unit="ms")
    shown = number(ends.text, None, f"80 % interval of {formula}", fit.run_ids, unit="ms") if ends else None
    return StepPart(
        label=name,
        length_ms=known(piece.value),
        low_ms=piece.low,
        high_ms=piece.high,
        text=_ms(known(piece.value), formula, fit.run_ids, decimals=decimals),
        range_text=shown,
        role="attack" if attack else "other",
    )


def _data(reading: Reading, fit: StepTimeFit, parts: tuple[StepPart, ...]) -> StepTimeData:
    decimals = num.step_decimals(known(fit.example_step_ms))
    point = next(
        (p for p in reading.contenders if p.configuration == fit.example and p.accept_length.value is not None), None
    )
    allowed: float | None = None
    allowed_text: tuple[Span, ...] = ()
    excess_text: tuple[Span, ...] = ()
    runs = fit.run_ids if point is None else (point.run_id,)
    if point is not None and point.accept_length.value is not None:
        allowed = point.accept_length.value * known(fit.baseline_ms)
        allowed_text = _allowed_words(
            point.accept_length.value, allowed, runs, decimals, num.accept_length_short(point)
        )
        excess_text = _excess_words(known(fit.example_step_ms) - allowed, runs, decimals)
    return StepTimeData(
        parts=parts,
        total_ms=known(fit.example_step_ms),
        total_text=_ms(known(fit.example_step_ms), "busy time / verify steps", runs, decimals=decimals),
        allowed_ms=allowed,
        allowed_text=allowed_text,
        excess_text=excess_text,
    )


def _allowed_words(
    length: float, allowed: float, runs: tuple[str, ...], decimals: int, shown: Span
) -> tuple[Span, ...]:
    text = _ms(allowed, "accept_length * baseline step time", runs, decimals=decimals)
    return rich("Allowed at ", shown, " tokens a step: ", text).spans


def _excess_words(excess: float, runs: tuple[str, ...], decimals: int) -> tuple[Span, ...]:
    text = _ms(abs(excess), "step_time - accept_length * baseline step time", runs, decimals=decimals)
    return rich(text, " too many" if excess > 0 else " to spare").spans


def _answer(parts: tuple[StepPart, ...]) -> Rich:
    attack = next(part for part in parts if part.role == "attack")
    if attack.label.startswith("Fixed"):
        return rich(attack.text, " of each step is fixed overhead, neither drafting nor checking.")
    return rich(
        attack.text, " of each step goes to: ", quote(attack.label[:1].lower() + attack.label[1:], "step_time"), "."
    )


def _source(reading: Reading, fit: StepTimeFit, left: Rich | None) -> Rich:
    point = next((p for p in reading.contenders if p.configuration == known(fit.example)), None)
    parts: list[Part] = []
    if point is not None:
        parts += ["Step of ", reading.names.run(point.run_id), "; "]
    parts += ["fitted on " if point is not None else "Fitted on ", reading.names.runs(fit.run_ids), "."]
    if fit.reason:
        parts += [" ", sentence(quote(_capital(fit.reason), "step_time.reason", fit.run_ids))]
    if fit.assumed_num_steps is not None and known(fit.example).num_steps is None:
        parts += [" ", _assumption(fit)]
    if fit.cure:
        parts += [" ", sentence(quote(_capital(fit.cure), "step_time.cure", fit.run_ids))]
    if left is not None:
        parts += [" ", left]
    return rich(*parts)


def _unexplained(fit: StepTimeFit, parts: tuple[StepPart, ...]) -> Rich | None:
    """Return by how much the parts miss the measured step; None where the difference is not visible."""
    decimals = num.step_decimals(known(fit.example_step_ms))
    total = sum(part.length_ms for part in parts)
    missed = known(fit.example_step_ms) - total
    if abs(missed) < 2 * 10.0**-decimals:
        return None
    formula = "step time of the example - sum of its parts in the fit"
    size = _ms(abs(missed), formula, fit.run_ids, decimals=decimals)
    together = _ms(total, "sum of the parts in the fit", fit.run_ids, decimals=decimals)
    side = "less" if missed < 0 else "more"
    return rich("The parts add up to ", together, ": this server took ", size, f" {side} than they say.")


def _assumption(fit: StepTimeFit) -> Rich:
    steps = number(
        str(known(fit.assumed_num_steps)), known(fit.assumed_num_steps), "step_time.assumed_num_steps", kind="assumed"
    )
    parts: list[Part] = ["Assumes ", steps, " draft steps"]
    if fit.alternatives:
        other, fixed, low, high = fit.alternatives[0]
        formula = f"f in {_MODEL}, with other draft steps assumed"
        parts += [
            "; with ",
            number(str(other), other, "step_time.alternatives", kind="assumed"),
            " the overhead would be ",
            _ms(fixed, formula, fit.run_ids),
            " (",
            num.ends(low, high, 1, f"80 % interval of {formula}", fit.run_ids, unit="ms"),
            ")",
        ]
    return rich(*parts, ".")


def _description(data: StepTimeData, *, whole: bool) -> Rich:
    pieces: list[Part] = []
    for part in data.parts:
        pieces += [quote(part.label, "step_time"), " ", part.text]
        if part.range_text is not None:
            pieces += [", 80 % interval ", part.range_text]
        pieces.append("; ")
    pieces += ["together " if whole else "the whole step, as measured, ", data.total_text, ". "]
    if data.allowed_text:
        pieces += [Rich(spans=data.allowed_text), ": ", Rich(spans=data.excess_text), "."]
    return rich(*pieces)
