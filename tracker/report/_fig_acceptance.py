"""Figures: where acceptance is lost, by vocabulary, position and category."""

from __future__ import annotations

from tracker.analysis.results import AcceptanceProfile, BreakEven, CategoryAcceptance, VocabularyCeiling
from tracker.report import format as fmt
from tracker.report import numbers as num
from tracker.report.figures import DotRow, DotRowsData, ShareData
from tracker.report.reading import Reading, bar_words
from tracker.report.spans import Part, Rich, Span, capital, known, label, number, quote, rich, sentence
from tracker.report.view_parts import Box, FigureView

MAX_CATEGORIES = 16
_LENGTH = "1 + accepted drafts / verify steps"


def vocabulary_figure(reading: Reading) -> FigureView | None:
    """Return the share of rejections that the reduced vocabulary explains; None where coverage is not known."""
    ceiling = reading.analysis.acceptance.vocabulary
    if ceiling is None or ceiling.rejections_explained_fraction is None:
        return None
    runs = _runs(reading.analysis.acceptance)
    share = min(1.0, ceiling.rejections_explained_fraction)
    formula = "(1 - coverage) / (1 - acceptance)"
    outside = number(fmt.percent(share, digits=0, signed=False), share, formula, runs)
    inside = number(fmt.percent(1 - share, digits=0, signed=False), 1 - share, f"1 - {formula}", runs)
    return FigureView(
        key="vocabulary",
        question="Is the reduced vocabulary the bottleneck?",
        answer=_vocabulary_answer(ceiling, outside, runs),
        data=ShareData(
            outside_fraction=share,
            outside_text=rich(outside, " outside the draft vocabulary").spans,
            inside_text=rich(inside, " inside").spans,
        ),
        source=_vocabulary_source(reading, ceiling, runs),
        title="Share of rejected draft tokens that the reduced vocabulary explains",
        description=rich(
            outside, " of rejections fall on tokens outside the draft vocabulary, ", inside, " inside it."
        ),
    )


def _runs(profile: AcceptanceProfile) -> tuple[str, ...]:
    return (profile.run_id,) if profile.run_id else ()


def _gain(ceiling: VocabularyCeiling, runs: tuple[str, ...]) -> Span | None:
    if ceiling.max_gain_tokens is None:
        return None
    formula = "accept length at acceptance / coverage, less today's"
    return number(fmt.fixed(ceiling.max_gain_tokens, 2), ceiling.max_gain_tokens, formula, runs, unit="tokens/step")


def _vocabulary_answer(ceiling: VocabularyCeiling, share: Span, runs: tuple[str, ...]) -> Rich:
    gain = _gain(ceiling, runs)
    if not ceiling.is_lever:
        if gain is None:
            return rich("No. It explains ", share, " of the rejections.")
        return rich("No. Full coverage would add at most ", gain, " tokens a step.")
    tail: Part = "" if gain is None else rich("; full coverage would add at most ", gain, " tokens a step")
    return rich("It may be: it explains up to ", share, " of the rejections", tail, ".")


def _vocabulary_source(reading: Reading, ceiling: VocabularyCeiling, runs: tuple[str, ...]) -> Rich:
    coverage = number(
        fmt.percent(ceiling.coverage_fraction, digits=1, signed=False),
        ceiling.coverage_fraction,
        "tokens inside the draft vocabulary / tokens of the training text",
        runs,
        kind="measured",
    )
    parts: list[Part] = [
        "Coverage ",
        coverage,
        " of tokens, weighted by the training text; the served text may differ.",
    ]
    if ceiling.max_accept_length is not None:
        most = number(
            fmt.fixed(ceiling.max_accept_length, 2),
            ceiling.max_accept_length,
            "sum of coverage ** i, i = 0 ... num_steps",
            runs,
            unit="tokens/step",
        )
        parts += [" Ceiling on the accept length: ", most]
        if ceiling.assumed_num_steps is not None:
            steps = ceiling.assumed_num_steps
            parts += [
                ", if it ran with ",
                number(str(steps), steps, "acceptance.assumed_num_steps", kind="assumed"),
                " steps",
            ]
        parts.append(".")
    return rich(*parts, " ", reading.names.runs(runs))


def position_figure(reading: Reading) -> FigureView | None:
    """Return acceptance by draft position; None where it was not recorded."""
    profile = reading.analysis.acceptance
    rows = [position for position in profile.per_position if position.conditional.value is not None]
    if not rows:
        return None
    runs = _runs(profile)
    dots = []
    for position in rows:
        value = position.conditional.value
        value = known(value)
        formula = f"accepted at position {position.position} / steps that reached it"
        text = number(fmt.percent(value, digits=0, signed=False), value, formula, runs)
        dots.append(
            DotRow(
                label=f"position {position.position}",
                value=value,
                low=position.conditional.low,
                high=position.conditional.high,
                text=text,
            )
        )
    data = DotRowsData(
        rows=tuple(dots),
        bar=None,
        bar_text=(),
        low_axis=0.0,
        high_axis=1.0,
        unit="accepted when reached",
        as_percent=True,
    )
    return FigureView(
        key="positions",
        question="Where along the draft is acceptance lost?",
        answer=_position_answer(dots),
        data=data,
        source=rich("Share of draft tokens accepted, given that all earlier ones were. ", reading.names.runs(runs)),
        title="Acceptance by draft position",
        description=_dots_description(data),
    )


def _position_answer(dots: list[DotRow]) -> Rich:
    first, last = dots[0], dots[-1]
    if len(dots) == 1:
        return rich("One position was drafted: ", first.text, " accepted.")
    if first.value - last.value > 0.1:
        return rich("It falls along the draft: ", first.text, " at the first position, ", last.text, " at the last.")
    if last.value - first.value > 0.1:
        return rich("At the start: ", first.text, " at the first position, ", last.text, " at the last.")
    return rich("Evenly: ", first.text, " at the first position, ", last.text, " at the last.")


def category_figure(reading: Reading) -> FigureView | None:
    """Return accept length by category; None where categories were not recorded."""
    profile = reading.analysis.acceptance
    rows = [category for category in profile.per_category if category.accept_length.value is not None]
    if not rows:
        return None
    runs = _runs(profile)
    bar = _bar(reading)
    shown = rows if len(rows) <= MAX_CATEGORIES else [*rows[: MAX_CATEGORIES // 2], *rows[-MAX_CATEGORIES // 2 :]]
    dots = [_category_dot(category, runs) for category in shown]
    top = max([dot.high or dot.value for dot in dots] + ([bar.value] if bar else []))
    data = DotRowsData(
        rows=tuple(dots),
        bar=bar.value if bar else None,
        bar_text=rich(bar_words(reading), " ", num.bar(bar, runs)).spans if bar else (),
        low_axis=1.0,
        high_axis=float(int(top) + 1),
        unit="tokens per step",
    )
    counts = [category.requests for category in rows]
    return FigureView(
        key="categories",
        question="Is any kind of prompt left behind?",
        answer=_category_answer(dots, bar, runs),
        data=data,
        source=rich(
            "Tokens over verify steps, ",
            num.ends(min(counts), max(counts), 0, "requests a category", runs),
            " requests a category. ",
            reading.names.runs(runs),
        ),
        title="Accept length by category",
        description=_dots_description(data),
    )


def _category_dot(category: CategoryAcceptance, runs: tuple[str, ...]) -> DotRow:
    value = known(category.accept_length.value)
    formula = f"{_LENGTH}, this category"
    return DotRow(
        label=category.category,
        value=value,
        low=category.accept_length.low,
        high=category.accept_length.high,
        text=number(fmt.fixed(value, 2), value, formula, runs, unit="tokens/step", kind="measured"),
    )


def _bar(reading: Reading) -> BreakEven | None:
    cost = reading.best_cost
    if cost is not None:
        return cost.break_even
    return None if reading.best is None else reading.best.break_even


def _category_answer(dots: list[DotRow], bar: BreakEven | None, runs: tuple[str, ...]) -> Rich:
    weakest = min(dots, key=lambda dot: dot.value)
    name = label(weakest.label)
    if bar is None:
        return rich("The weakest, ", name, ", yields ", weakest.text, " tokens a step.")
    if bar.value < weakest.value <= bar.high:
        return rich(
            *("Not for certain: the weakest, ", name, ", yields ", weakest.text, ", and the bar of "),
            *(num.bar(bar, runs), " may lie as high as ", _bar_end(bar, runs), "."),
        )
    if weakest.value > bar.value:
        return rich(
            "No: even the weakest, ", name, ", yields ", weakest.text, " where ", num.bar(bar, runs), " is enough."
        )
    below = [dot for dot in dots if dot.value <= bar.value]
    if len(below) == len(dots):
        return rich("All are: none reaches ", num.bar(bar, runs), " tokens a step.")
    count = number(str(len(below)), len(below), "categories with accept_length below break_even", runs)
    verb = "category yields" if len(below) == 1 else "categories yield"
    return rich(
        "Yes: ", count, f" {verb} less than ", num.bar(bar, runs), "; the weakest is ", name, ", ", weakest.text, "."
    )


def _bar_end(bar: BreakEven, runs: tuple[str, ...]) -> Span:
    formula = "80 % interval of step_time_spec / step_time_base, upper end"
    return number(fmt.fixed(bar.high, 2), bar.high, formula, runs, unit="tokens/step")


def _dots_description(data: DotRowsData) -> Rich:
    parts: list[Part] = []
    for row in data.rows:
        parts += ["; " if parts else "", label(row.label), " ", row.text]
    if data.bar_text:
        parts += [". ", Rich(spans=data.bar_text)]
    return rich(*parts, ".")


def missing_acceptance(reading: Reading) -> Box | None:
    """Return what is not known of acceptance, and what it costs to get; None where nothing is missing."""
    profile = reading.analysis.acceptance
    missing = [
        name for name, rows in (("category", profile.per_category), ("position", profile.per_position)) if not rows
    ]
    if not missing or not profile.reason or reading.state in ("no_candidate", "no_drafter"):
        return None
    title = f"Acceptance by {' and by '.join(missing)}: not recorded"
    reason = sentence(quote(capital(profile.reason), "acceptance.reason", _runs(profile)))
    repeats = profile.reason.lower().startswith("acceptance by") and "not recorded" in profile.reason
    cure = rich("Results with one line a request, with its accepted drafts, fill this gap at no GPU cost.")
    return Box(title=title, text=cure if repeats else rich(reason, " ", cure), refused=False)
