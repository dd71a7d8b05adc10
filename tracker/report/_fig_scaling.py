"""Figure and table: accept length against training data, with its forecast or the refusal of one."""

from __future__ import annotations

import math

from tracker.analysis.results import ForecastPoint, ScalingFit, ScalingPoint
from tracker.report import format as fmt
from tracker.report import numbers as num
from tracker.report.figures_scaling import FanPoint, OtherPoint, SamplesRange, ScalingData, SizePoint
from tracker.report.naming import configuration_words
from tracker.report.reading import Reading, bar_words
from tracker.report.spans import Part, Rich, Span, capital, known, number, quote, rich, sentence
from tracker.report.view_parts import Box, Cell, FigureView, Key, RowHead, TableRow, TableView

_FORECAST = "importance-sampled average of three bounded growth curves"
_LENGTH = "1 + accepted drafts / verify steps"


def scaling_figure(reading: Reading) -> FigureView | None:
    """Return measured sizes, with the fan where a forecast is made; None without a measured size."""
    fit = reading.analysis.scaling
    if not fit.points:
        return None
    data = _data(reading, fit)
    refused = fit.status == "refused"
    return FigureView(
        key="scaling",
        question="How much training data would break even?",
        answer=_answer(fit),
        data=data,
        source=Rich() if refused else _source(reading, fit),
        drawn=_drawn(reading, refused=refused),
        title="Accept length against training samples" + (", no curve drawn" if refused else ", with forecast"),
        description=_description(data),
        keys=() if refused else _keys(data),
    )


def refused_box(reading: Reading) -> Box | None:
    """Return why no forecast is made and what would cure it; None where one is made."""
    fit = reading.analysis.scaling
    if fit.status != "refused" or not fit.reason or (reading.state == "no_drafter" and not fit.points):
        return None
    runs = tuple(point.run_id for point in fit.points)
    parts: list[Part] = [sentence(quote(capital(fit.reason), "scaling.reason", runs))]
    if fit.cure:
        parts += [" Cure: ", sentence(quote(fit.cure, "scaling.cure", runs))]
    return Box(title="Fit refused", text=rich(*parts), refused=True)


def forecast_table(reading: Reading) -> TableView | None:
    """Return the forecast in numbers for sizes beyond the data; None where there is none."""
    fit = reading.analysis.scaling
    largest = max((point.samples for point in fit.points), default=0)
    rows = [point for point in fit.forecast if point.samples > largest][:5]
    if not rows:
        return None
    words = "" if fit.configuration is None else configuration_words(fit.configuration, graph=True)
    conditions: list[Part] = [
        Span(text=words[:1].upper() + words[1:], style="label"),
        ", same prompts." if words else "",
    ]
    spec = next((point for point in rows if point.speculative), None)
    if spec is not None:
        conditions.append(" Sizes more than a decade beyond the data are marked speculative.")
    return TableView(
        key="forecast",
        caption=rich("The forecast in numbers"),
        conditions=rich(*conditions),
        head="Samples",
        columns=("median", "80 % interval", "chance of break-even"),
        rows=tuple(_forecast_row(fit, point) for point in rows),
    )


def _forecast_row(fit: ScalingFit, point: ForecastPoint) -> TableRow:
    runs = tuple(item.run_id for item in fit.points)
    size = number(f"{point.samples:,}", point.samples, "forecast size", unit="samples", kind="assumed")
    median = number(fmt.fixed(point.median, 2), point.median, f"median of {_FORECAST}", runs, unit="tokens/step")
    ends = num.ends(point.low, point.high, 2, f"80 % interval of {_FORECAST}", runs, unit="tokens/step")
    chance = Rich()
    if point.p_break_even is not None:
        chance = rich(
            number(fmt.chance(point.p_break_even), point.p_break_even, "share of draws at or above break-even", runs)
        )
    small = (rich("speculative"),) if point.speculative else ()
    return TableRow(
        head=RowHead(text=rich(size), small=small), cells=(Cell(text=rich(median)), Cell(text=ends), Cell(text=chance))
    )


def _data(reading: Reading, fit: ScalingFit) -> ScalingData:
    runs = tuple(point.run_id for point in fit.points)
    bar = fit.break_even.value if fit.break_even is not None else None
    refused = fit.status == "refused"
    largest = max(point.samples for point in fit.points)
    fan = () if refused else tuple(_fan(point) for point in fit.forecast if point.samples >= largest)
    return ScalingData(
        points=tuple(_size(point, with_steps=refused) for point in fit.points),
        fan=fan,
        bar=bar,
        bar_text=rich(bar_words(reading), " ", num.bar(fit.break_even, runs)).spans
        if fit.break_even is not None
        else (),
        ceiling=None if refused else fit.ceiling,
        ceiling_text=_ceiling_text(fit) if fit.ceiling is not None and not refused else (),
        needed=None if refused else _needed(fit),
        references=_references(reading),
        excluded=_excluded(reading),
        fade_from=10 * largest,
    )


def _ceiling_text(fit: ScalingFit) -> tuple[Span, ...]:
    shown = number(
        fmt.fixed(known(fit.ceiling), 2), known(fit.ceiling), "vocabulary or chain ceiling on the accept length"
    )
    return rich("ceiling ", shown).spans


def _size(point: ScalingPoint, *, with_steps: bool) -> SizePoint:
    value = point.accept_length.value
    value = known(value)
    text = number(fmt.fixed(value, 2), value, _LENGTH, [point.run_id], unit="tokens/step", kind="measured")
    note = None
    if with_steps and point.optimizer_steps is not None:
        words = f"{point.optimizer_steps:,} steps"
        note = number(words, point.optimizer_steps, "training.optimizer_steps", [point.run_id], kind="measured")
    return SizePoint(
        samples=point.samples,
        value=value,
        low=point.accept_length.low,
        high=point.accept_length.high,
        text=text,
        note=note,
    )


def _fan(point: ForecastPoint) -> FanPoint:
    return FanPoint(
        samples=point.samples,
        low=point.low,
        quartile_low=point.quartile_low,
        median=point.median,
        quartile_high=point.quartile_high,
        high=point.high,
    )


def _needed(fit: ScalingFit) -> SamplesRange | None:
    needed = fit.samples_to_break_even
    if needed is None:
        return None
    runs = tuple(point.run_id for point in fit.points)

    def shown(value: float | None, end: str, suffix: str = "") -> Span | None:
        if value is None:
            return None
        formula = f"{end} of the draws of the samples at which the forecast reaches break-even"
        return number(fmt.samples_short(value) + suffix, value, formula, runs, unit="samples")

    never = number(
        fmt.percent(needed.p_never, digits=0, signed=False), needed.p_never, "share of draws that never do", runs
    )
    limit = number(fmt.samples_short(needed.max_samples), needed.max_samples, "search limit", kind="assumed")
    high = shown(needed.high, "90th percentile")
    high_text = rich("not by ", limit, " (", never, " of draws)").spans if high is None else (high,)
    return SamplesRange(
        low=needed.low,
        median=needed.median,
        high=needed.high,
        low_text=shown(needed.low, "10th percentile"),
        median_text=shown(needed.median, "median", " median"),
        high_text=high_text,
    )


def _size_text(samples: int, source: str, runs: tuple[str, ...]) -> Span:
    return number(fmt.samples_short(samples), samples, source, runs, unit="samples", kind="quoted")


def _references(reading: Reading) -> tuple[OtherPoint, ...]:
    return tuple(
        OtherPoint(
            samples=ref.samples,
            value=ref.accept_length,
            label=ref.text,
            size_text=_size_text(ref.samples, "campaign.toml: references", ()),
        )
        for ref in reading.analysis.campaign.references
        if ref.samples is not None and ref.accept_length is not None
    )


def _excluded(reading: Reading) -> tuple[OtherPoint, ...]:
    found = reading.analysis.root_cause
    if found is None:
        return ()
    rows = [reading.point(run_id, reading.load) for run_id in found.run_ids]
    return tuple(
        OtherPoint(
            samples=point.samples,
            value=point.accept_length.value,
            label="wrong flag, excluded",
            size_text=_size_text(point.samples, "training.samples", (point.run_id,)),
        )
        for point in rows
        if point is not None and point.samples is not None and point.accept_length.value is not None
    )


def _answer(fit: ScalingFit) -> Rich:
    if fit.status == "refused":
        return rich("Not answered: the data do not carry a forecast.")
    needed = fit.samples_to_break_even
    if needed is None:
        return rich("No break-even to reach: only the trend is shown.")
    wide = needed.high is None or (needed.low is not None and math.log10(needed.high / max(needed.low, 1)) > 1)
    low = _words(needed.low, needed.max_samples, "10th percentile")
    high = _words(needed.high, needed.max_samples, "90th percentile")
    largest = max(point.samples for point in fit.points)
    if needed.low is not None and needed.high is not None and needed.high <= largest:
        return rich("Reached within the measured sizes: it takes ", low, " to ", high, " samples.")
    if needed.low is not None and needed.low <= largest:
        end = rich("; the 80 % interval reaches ", high, ".")
        if needed.median is not None and needed.median <= largest:
            middle = _words(needed.median, needed.max_samples, "median")
            return rich("About ", middle, " samples, within the measured sizes", end)
        return rich("The largest size may be enough already", end)
    if wide:
        why = "one size" if len(fit.points) == 1 else "these sizes"
        return rich(f"Cannot be planned from {why}: ", low, " samples, or ", high, ".")
    return rich("Between ", low, " and ", high, " samples.")


def _words(value: float | None, limit: int, end: str) -> Rich:
    if value is None:
        return rich("more than ", number(fmt.samples_long(limit), limit, "search limit", kind="assumed"))
    formula = f"{end} of the draws of the samples at which the forecast reaches break-even"
    return rich(number(fmt.samples_long(value), value, formula, unit="samples"))


def _drawn(reading: Reading, *, refused: bool) -> Rich:
    if refused:
        return rich("No curve is drawn on purpose.")
    squares = " Squares: published figures on other prompts, not used in the fit." if _references(reading) else ""
    return rich(f"Dashed: median; dark band 50 %, light band 80 %, fading beyond one decade.{squares}")


def _source(reading: Reading, fit: ScalingFit) -> Rich:
    parts: list[Part] = []
    if fit.data_share is not None:
        share = number(
            fmt.percent(fit.data_share, digits=0, signed=False),
            fit.data_share,
            "1 - variance of the slope given the data / variance of its prior",
            tuple(point.run_id for point in fit.points),
        )
        rest = "" if fit.data_share >= 0.995 else ", the rest from published drafters"
        parts += [share, f" of the slope comes from these runs{rest}."]
    elif fit.reason:
        parts += [sentence(quote(capital(fit.reason), "scaling.reason"))]
    return rich(*parts, " ", reading.names.runs(tuple(point.run_id for point in fit.points)))


def _keys(data: ScalingData) -> tuple[Key, ...]:
    keys = [Key(mark="measured", text=rich("measured")), Key(mark="bar", text=rich("break-even"))]
    return tuple(keys + ([Key(mark="reference", text=rich("published, other prompts"))] if data.references else []))


def _description(data: ScalingData) -> Rich:
    parts: list[Part] = ["Measured: "]
    for index, point in enumerate(data.points):
        runs = point.text.fact.run_ids if point.text.fact is not None else ()
        size = number(f"{point.samples:,}", point.samples, "training samples", runs, unit="samples", kind="measured")
        parts += ["; " if index else "", point.text, " at ", size, " samples"]
        if point.note is not None:
            parts += [" (", point.note, ")"]
    parts.append(". ")
    if data.bar_text:
        parts += ["Line: ", Rich(spans=data.bar_text), ". "]
    if data.needed is not None:
        low, median = data.needed.low_text, data.needed.median_text
        shown = [span for span in (low, median) if span is not None]
        parts += [
            "Samples needed: ",
            *(piece for span in shown for piece in (span, ", ")),
            Rich(spans=data.needed.high_text),
            ".",
        ]
    return rich(*parts)
