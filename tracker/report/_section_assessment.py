"""Assessment: the bar, what a step costs, where acceptance is lost, what data would buy."""

from __future__ import annotations

from tracker.report import numbers as num
from tracker.report._bars import easiest
from tracker.report._categories import categories
from tracker.report._fig_acceptance import category_figure, missing_acceptance, position_figure, vocabulary_figure
from tracker.report._fig_gap import gap_figure
from tracker.report._fig_scaling import forecast_table, refused_box, scaling_figure
from tracker.report._fig_spread import spread_figure
from tracker.report._fig_step_time import refused_step_time, step_time_figure
from tracker.report._required import required
from tracker.report._scaling_detail import sizes, target_samples
from tracker.report.reading import Reading
from tracker.report.spans import Rich, label, quote, rich, sentence
from tracker.report.view_parts import Block, Facts, Section

MAX_DIAGNOSES = 4


def assessment(reading: Reading) -> Section | None:
    """Return the section; None when there is nothing to assess."""
    candidates = (
        gap_figure(reading),
        required(reading),
        spread_figure(reading),
        _diagnoses(reading),
        _claims(reading),
        step_time_figure(reading) or refused_step_time(reading),
        vocabulary_figure(reading),
        position_figure(reading),
        category_figure(reading),
        categories(reading),
        missing_acceptance(reading),
        scaling_figure(reading),
        refused_box(reading),
        forecast_table(reading),
        target_samples(reading),
        sizes(reading),
    )
    blocks: tuple[Block, ...] = tuple(block for block in candidates if block is not None)
    if not blocks:
        return None
    return Section(key="assessment", label="Assessment", heading=_heading(reading), blocks=blocks)


def _heading(reading: Reading) -> Rich:
    best = reading.best
    lead = easiest(reading)
    if reading.state == "no_drafter" and lead is not None:
        return rich("What more speed would take, and how sure the break-even is")
    if best is None or best.break_even is None:
        return rich("What can be said without a break-even")
    bar = num.bar(best.break_even, (best.run_id,))
    step = reading.analysis.step_time
    value = best.accept_length.value
    if value is not None and value > best.break_even.value:
        undecided = reading.verdict is not None and reading.verdict.status == "undecided"
        how = "is level with it" if reading.level else "is too close to it to tell" if undecided else "clears it"
        return rich("The bar is ", bar, " tokens a step, and ", label(reading.names.row(best)), f" {how}")
    parts = {
        "overhead": step.fixed_ms.value or 0.0,
        "verification": (step.per_verified_token_ms.value or 0.0) * ((best.configuration.num_draft_tokens or 1) - 1),
    }
    if step.status == "fitted" and parts["overhead"] > parts["verification"]:
        return rich("The bar is ", bar, " tokens a step, and overhead put it there")
    return rich("The bar is ", bar, " tokens a step")


def _diagnoses(reading: Reading) -> Facts | None:
    """Return what slow runs suffer from, told apart: the time of a step or acceptance."""
    items = tuple(
        (
            "Slow, and why",
            rich(
                sentence(quote(item.message, "diagnoses.message", (item.run_id,))),
                " ",
                reading.names.run(item.run_id),
            ),
        )
        for item in reading.analysis.diagnoses[:MAX_DIAGNOSES]
    )
    return Facts(items=items) if items else None


def _claims(reading: Reading) -> Facts | None:
    items = tuple(
        (
            "Stated before",
            rich(
                sentence(quote(claim.message, "claims.message", claim.run_ids)), " ", reading.names.runs(claim.run_ids)
            ),
        )
        for claim in reading.analysis.claims
    )
    return Facts(items=items) if items else None
