"""Beneath the forecast: samples for higher targets, how far the curve can be trusted, and how each size was trained."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tracker.analysis.results import HoldOut, ScalingFit, ScalingPoint, TargetSamples
from tracker.report import format as fmt
from tracker.report import numbers as num
from tracker.report.reading import Reading
from tracker.report.spans import Rich, Span, listing, number, quote, rich, sentence
from tracker.report.view_parts import Block, Cell, Facts, Folded, RowHead, TableRow, TableView

_LENGTH = "1 + accepted drafts / verify steps"


def target_samples(reading: Reading) -> Folded | None:
    """Return training samples for break-even and for target speed-ups; None where no forecast is made."""
    targets = reading.analysis.scaling.targets
    if not targets:
        return None
    runs = _runs(reading.analysis.scaling)
    return Folded(
        key="target-samples",
        title="How many samples more speed would take",
        answer=sentence(quote(_headline_target(targets).note, "scaling.targets.note", runs)),
        blocks=(_targets_table(targets, runs),),
    )


def _headline_target(targets: Sequence[TargetSamples]) -> TargetSamples:
    beyond = [target for target in targets if target.speedup > 1 and target.reachable is not False]
    return beyond[0] if beyond else targets[-1]


def _targets_table(targets: Sequence[TargetSamples], runs: tuple[str, ...]) -> TableView:
    return TableView(
        key="target-samples",
        caption=rich("Training samples for each speed"),
        conditions=rich("Low and high: 80 % interval. Beyond ten times the largest size this is speculation."),
        head="Speed over the baseline",
        columns=("accept length", "low", "median", "high", "never in"),
        rows=tuple(_target_row(target, runs) for target in targets),
    )


def _target_row(target: TargetSamples, runs: tuple[str, ...]) -> TableRow:
    speed = number(f"{target.speedup:g}{fmt.TIMES}", target.speedup, "target speed-up", kind="assumed")
    length = number(
        fmt.fixed(target.accept_length, 2), target.accept_length, "speed-up * break_even", runs, unit="tokens/step"
    )
    head = RowHead(text=rich(speed))
    needed = target.needed
    if needed is None:
        words = Cell(text=rich("out of reach" if target.reachable is False else "not computed"))
        return TableRow(head=head, cells=(Cell(text=rich(length)), words, *(Cell(text=Rich()) for _ in range(3))))
    limit = number(fmt.samples_short(needed.max_samples), needed.max_samples, "search limit", kind="assumed")

    def at(value: float | None, which: str) -> Cell:
        if value is None:
            return Cell(text=rich("beyond ", limit))
        formula = f"{which} of the draws of the samples at which the forecast reaches this accept length"
        return Cell(text=rich(number(fmt.samples_long(value), value, formula, runs, unit="samples")))

    never = number(
        fmt.percent(needed.p_never, digits=0, signed=False), needed.p_never, "share of draws that never do", runs
    )
    cells = (
        Cell(text=rich(length)),
        at(needed.low, "10th percentile"),
        at(needed.median, "median"),
        at(needed.high, "90th percentile"),
        Cell(text=rich(never)),
    )
    return TableRow(head=head, cells=cells)


def sizes(reading: Reading) -> Folded | None:
    """Return how each size was trained and how well the curve predicts; None with one size and nothing beside it."""
    fit = reading.analysis.scaling
    served = len(fit.points) + len(fit.beside)
    if served == 0 or (served < 2 and not fit.unserved):
        return None
    blocks: list[Block] = []
    items = _facts(reading, fit)
    if items:
        blocks.append(Facts(items=tuple(items)))
    blocks.append(_sizes_table(reading, fit))
    return Folded(key="sizes", title="How the sizes were trained", answer=_answer(fit), blocks=tuple(blocks))


def _answer(fit: ScalingFit) -> Rich:
    if fit.hold_out is not None:
        start = "The refused curve all the same: " if fit.status == "refused" else "The curve checked: "
        return rich(start, _hold_out(fit.hold_out, _runs(fit)))
    count = len(fit.points)
    shown = number(str(count), count, "training sizes that were served", _runs(fit), kind="measured")
    return rich(
        "Steps, epochs and cost of ", shown, " size that was served." if count == 1 else " sizes that were served."
    )


def _hold_out(held: HoldOut, runs: tuple[str, ...]) -> Rich:
    size = number(fmt.samples_long(held.samples), held.samples, "largest size", runs, unit="samples", kind="measured")
    median = number(fmt.fixed(held.median, 2), held.median, "median predicted from the smaller sizes", runs)
    formula = "80 % interval predicted from the smaller sizes, measurement noise included"
    span = num.ends(held.low, held.high, 2, formula, runs, unit="tokens/step")
    measured = number(fmt.fixed(held.measured, 2), held.measured, _LENGTH, runs, unit="tokens/step", kind="measured")
    where = "inside the interval"
    if held.measured < held.low:
        where = "below the interval: the gain from data slowed sooner than the curve"
    elif held.measured > held.high:
        where = "above the interval: the gain from data held on longer than the curve"
    start = rich("predicted from the smaller sizes, ", size, " samples should yield ", median, " (", span, "); ")
    return rich(start, measured, f" was served, {where}.")


def _facts(reading: Reading, fit: ScalingFit) -> list[tuple[str, Rich]]:
    runs = _runs(fit)
    items: list[tuple[str, Rich]] = []
    if fit.hold_out is not None:
        share = number(
            fmt.percent(fit.hold_out.pit, signed=False), fit.hold_out.pit, "share of the prediction at or below", runs
        )
        text = rich(
            share,
            " of the prediction lies at or below what was measured; close to none or all of it, the curve is off.",
        )
        items.append(("Largest size left out", text))
    if fit.unserved:
        found = [
            number(fmt.samples_long(size), size, "training.samples of drafters never served") for size in fit.unserved
        ]
        items.append(("Trained, never served here", rich(listing(found), " samples: in no fit until they are served.")))
    if fit.budget_note:
        beside = tuple(point.run_id for point in fit.beside)
        text = sentence(quote(fit.budget_note, "scaling.budget_note", beside))
        items.append(("Trained otherwise, in no fit", rich(text, " ", reading.names.runs(beside))))
    return items


def _sizes_table(reading: Reading, fit: ScalingFit) -> TableView:
    rows = [_size_row(reading, point, beside=False) for point in fit.points]
    rows += [_size_row(reading, point, beside=True) for point in fit.beside]
    return TableView(
        key="sizes",
        caption=rich("Every size, as it was trained"),
        conditions=rich("Distinct samples; GPU-hours as recorded with the training."),
        head="Samples",
        columns=("accept length", "optimizer steps", "epochs", "repeated", "GPU-hours", "run"),
        rows=tuple(rows),
        run_column=5,
    )


def _size_row(reading: Reading, point: ScalingPoint, *, beside: bool) -> TableRow:
    run = (point.run_id,)
    size = number(f"{point.samples:,}", point.samples, "training.samples", run, unit="samples", kind="measured")
    value = point.accept_length.value
    length = Cell(text=Rich())
    if value is not None:
        small = num.interval(point.accept_length, 2, f"80 % interval of {_LENGTH}", run)
        text = number(fmt.fixed(value, 2), value, _LENGTH, run, unit="tokens/step", kind="measured")
        length = Cell(text=rich(text), small=(small,) if small else ())
    return TableRow(
        head=RowHead(text=rich(size), small=(rich("in no fit"),) if beside else ()),
        cells=(
            length,
            _optional(point.optimizer_steps, "training.optimizer_steps", run, lambda value: f"{value:,.0f}"),
            _optional(point.epochs, "training.epochs", run, lambda value: fmt.fixed(value, 1)),
            _optional(point.repeated_fraction, "training.repeated / samples", run, _share),
            _gpu_hours(point, run),
            Cell(text=rich(reading.names.run(point.run_id))),
        ),
    )


def _share(value: float) -> str:
    return fmt.percent(value, digits=0 if value == 0 or value >= 0.1 else 1, signed=False)


def _optional(value: float | None, formula: str, run: tuple[str, ...], shown: Callable[[float], str]) -> Cell:
    if value is None:
        return Cell(text=Rich())
    return Cell(text=rich(number(shown(value), value, formula, run, kind="measured")))


def _gpu_hours(point: ScalingPoint, run: tuple[str, ...]) -> Cell:
    if point.cost is None:
        return Cell(text=Rich())
    phases = {
        "data": point.cost.generation_gpu_hours,
        "states": point.cost.extraction_gpu_hours,
        "training": point.cost.training_gpu_hours,
    }
    known = {name: value for name, value in phases.items() if value is not None}
    if not known:
        return Cell(text=Rich())
    small = tuple(rich(f"{name} ", _hours(value, f"training.cost, {name}", run)) for name, value in known.items())
    total = _hours(sum(known.values()), "training.cost, its phases added", run)
    return Cell(text=rich(total), small=small if len(small) > 1 else ())


def _hours(value: float, formula: str, run: tuple[str, ...]) -> Span:
    text = fmt.gpu_hours(value) if value >= 0.1 or value == 0 else f"{value:.2g}" if value >= 0.001 else "<0.001"
    return number(text, value, formula, run, unit="GPU-hours", kind="measured")


def _runs(fit: ScalingFit) -> tuple[str, ...]:
    return tuple(point.run_id for point in fit.points)
