"""Explanation of measured quantities: step time, break-even, speed, acceptance, the split of a step."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tracker.analysis.acceptance import length_from_conditional, vocabulary_ceiling
from tracker.analysis.results import (
    CampaignAnalysis,
    ConfigurationCost,
    LoadVerdict,
    Point,
    StepTimeFit,
    VocabularyCeiling,
)
from tracker.analysis.uncertainty import Component, combine, quantile
from tracker.analysis.words import streams
from tracker.report._bars import bar_of
from tracker.report._explain_lines import equation, fact, heading, interval, plain


def step_times(analysis: CampaignAnalysis) -> list[str]:
    """Return how accept length and step time of every row follow from what was measured."""
    lines = heading("1. Accept length L and step time T of every row")
    lines += [
        "  L = 1 + accepted drafts / verify steps, where they were counted; else as printed.",
        "  T = 1000 * streams * L / (tok/s), or 1000 * busy seconds / verify steps where the server gives latencies.",
        "  A plain server has L = 1, and a step is a token.",
    ]
    for point in analysis.points:
        if point.step_time_ms.value is not None:
            lines += ["", f"  {point.name}, {streams(point.concurrency)} (run {point.run_id})", *_row(point)]
    return lines


def _row(point: Point) -> list[str]:
    lines = []
    length = point.accept_length.value
    if point.verify_steps and point.accepted_drafts is not None and length is not None:
        lines.append(equation("L", f"1 + {point.accepted_drafts} / {point.verify_steps}", length, "tokens a step"))
    elif point.accept_length_rounding is not None and length is not None:
        low, high = point.accept_length_rounding
        lines.append(
            fact("L", f"between {plain(low)} and {plain(high)} by the printed length and rate; the middle is used")
        )
        lines.append(equation("L", f"({plain(low)} + {plain(high)}) / 2", length, "tokens a step"))
    lines += _step(point)
    return lines


def _step(point: Point) -> list[str]:
    step, speed = point.step_time_ms.value, point.throughput_tok_s.value
    steps = point.verify_steps if point.configuration.speculative else point.output_tokens
    if step is None:
        return []
    if point.busy_s and steps:
        return [equation("T", f"1000 * {plain(point.busy_s)} / {steps}", step, "ms")]
    length = 1.0 if not point.configuration.speculative else point.accept_length.value
    if speed is None or length is None:
        return [fact("T", f"{plain(step)} ms, with simulated acceptance")]
    load = 1 if point.concurrency is None else point.concurrency
    return [equation("T", f"1000 * {load} * {plain(length)} / {plain(speed)}", step, "ms")]


def break_evens(analysis: CampaignAnalysis) -> list[str]:
    """Return how every break-even follows from step times, with its interval and what targets take."""
    lines = heading("2. Break-even accept length r = T with speculation / T without")
    if not analysis.costs:
        return [*lines, "  Not computed: no baseline with a step time at any load."]
    for cost in analysis.costs:
        lines += ["", f"  {cost.configuration.label}, {streams(cost.concurrency)}", *_break_even(analysis, cost)]
    return lines


def _break_even(analysis: CampaignAnalysis, cost: ConfigurationCost) -> list[str]:
    bar, base = cost.break_even, cost.baseline_step_time_ms.value
    rows = [_find(analysis.points, run_id, cost.concurrency) for run_id in cost.run_ids[:-1]]
    steps = [row.step_time_ms.value for row in rows if row is not None and row.step_time_ms.value is not None]
    if base is None or not steps:
        return [fact("r", plain(bar.value))]
    logs = " + ".join(f"ln({plain(step)})" for step in steps)
    mean = plain(steps[0]) if len(steps) == 1 else f"exp(({logs}) / {len(steps)})"
    lines = [equation("r", f"{mean} / {plain(base)}", bar.value)]
    if bar.rounding_low is not None and bar.rounding_high is not None:
        lines.append(fact("rounding alone", f"{plain(bar.rounding_low)} to {plain(bar.rounding_high)}"))
    lines += interval(bar.value, bar.parts, name="r")
    length = cost.best_accept_length.value
    if length is not None:
        lines.append(equation("missing", f"{plain(bar.value)} / {plain(length)} - 1", bar.value / length - 1))
    for target, needed in cost.required.items():
        lines.append(equation(f"L for {target} times the baseline", f"{target} * {plain(bar.value)}", needed))
        if cost.required_reachable.get(target) is False:
            lines.append("    out of reach: more than a step can yield")
    if cost.configuration.num_steps is not None:
        most = cost.configuration.num_steps + 1
        lines.append(equation("most a step can yield", f"{cost.configuration.num_steps} + 1", most))
    bar_alone = bar_of(cost)
    if bar_alone.acceptance is not None and cost.configuration.num_steps is not None:
        share = plain(bar_alone.acceptance)
        powers = " + ".join(["1", *(f"{share}^{power}" for power in range(1, cost.configuration.num_steps + 1))])
        lines.append(equation(f"r when a share of {share} of every position is accepted", powers, bar.value))
    return [*lines, *_own_flags(analysis, cost), *_prefill(cost)]


def _own_flags(analysis: CampaignAnalysis, cost: ConfigurationCost) -> list[str]:
    """Return the ratio to the plain run with the same other flags, where that is not the baseline to beat."""
    own = _find(analysis.points, cost.attribution_run_id, cost.concurrency)
    if own is None or cost.attribution_ratio is None or own.step_time_ms.value is None:
        return []
    if own.run_id == cost.run_ids[-1] or cost.step_time_ms.value is None:
        return []
    expression = f"{plain(cost.step_time_ms.value)} / {plain(own.step_time_ms.value)}"
    return [equation(f"speculation alone, against {own.name}", expression, cost.attribution_ratio)]


def _prefill(cost: ConfigurationCost) -> list[str]:
    """Return the break-even without the prompts, and what whole requests need."""
    found = cost.prefill
    if found is None:
        return []
    lines = [
        fact("r, decoding only (T without the time to the first token, on both sides)", plain(found.break_even)),
        fact("share of a baseline request until its first token", plain(found.baseline_prefill_fraction)),
    ]
    for target, needed in found.required.items():
        words = "never: the prompt alone takes longer" if needed is None else f"{plain(needed)} tokens a step"
        lines.append(fact(f"L for whole requests {target} times as fast", words))
    return lines


def speeds(analysis: CampaignAnalysis) -> list[str]:
    """Return how each load's speed-up and smallest visible difference come about."""
    lines = heading("3. Speed over the baseline S, by load")
    for verdict in analysis.verdict.by_concurrency:
        lines += ["", f"  {streams(verdict.concurrency)}: {verdict.status}", *_speed(analysis, verdict)]
    return lines


def _speed(analysis: CampaignAnalysis, verdict: LoadVerdict) -> list[str]:
    value = verdict.speedup.value
    best = _find(analysis.points, verdict.best_run_id, verdict.concurrency)
    base = _find(analysis.points, verdict.baseline_run_id, verdict.concurrency)
    if value is None or best is None or base is None:
        return [f"  Not computed. {verdict.reason or ''}".rstrip()]
    first, second = best.throughput_tok_s.value, base.throughput_tok_s.value
    whole = first is not None and second is not None and math.isclose(first / second, value, rel_tol=1e-9)
    if whole and first is not None and second is not None:
        lines = [equation("S", f"{plain(first)} / {plain(second)}", value)]
    else:
        lines = [
            fact(
                "S",
                f"{plain(value)}, on the {verdict.prompts_in_common} prompts in common: tokens over latencies there",
            )
        ]
    lines += interval(value, verdict.parts, name="S")
    lines += _less_luck(verdict, value)
    if verdict.parts and verdict.smallest_detectable is not None:
        spread = combine(Component(name=part.name, sd=part.sd, df=part.df) for part in verdict.parts)
        factors = f"{plain(quantile(0.9, spread.df))} + {plain(quantile(0.8, math.inf))}"
        expression = f"exp(({factors}) * {plain(spread.sd)}) - 1"
        lines.append(equation("smallest visible difference", expression, verdict.smallest_detectable))
    if verdict.smallest_detectable_note is not None:
        lines.append(f"  {verdict.smallest_detectable_note}")
    if verdict.equivalence_note is not None:
        lines.append(f"  {verdict.equivalence_note}")
    return lines


def _less_luck(verdict: LoadVerdict, value: float) -> list[str]:
    """Return the low end where the verdict's lies lower than its parts say: the fastest of several was picked."""
    spread = combine(Component(name=part.name, sd=part.sd, df=part.df) for part in verdict.parts)
    low = verdict.speedup.low
    if not verdict.parts or low is None or math.isclose(low, value * math.exp(-spread.half_width), rel_tol=1e-9):
        return []
    return [fact("S low, less what the fastest of several owes to having been picked", plain(low))]


def acceptance(analysis: CampaignAnalysis) -> list[str]:
    """Return accept length from positions and categories, and the vocabulary's ceiling."""
    found = analysis.acceptance
    lines = heading("4. Acceptance of the best drafter")
    rates = [item.conditional.value for item in found.per_position if item.conditional.value is not None]
    reached = [item.unconditional.value for item in found.per_position if item.unconditional.value is not None]
    if reached and len(rates) == len(reached):
        total = " + ".join(plain(rate) for rate in reached)
        lines.append(equation("L by position", f"1 + {total}", length_from_conditional(rates), "tokens a step"))
    shares = [(item.token_share, item.accept_length.value) for item in found.per_category]
    pairs = [(share, length) for share, length in shares if share is not None and length is not None]
    if found.mix_accept_length is not None and len(pairs) == len(shares):
        total = " + ".join(f"{plain(share)} / {plain(length)}" for share, length in pairs)
        lines.append(equation("L over categories, so that time adds up", f"1 / ({total})", found.mix_accept_length))
    if found.vocabulary is not None:
        lines += _vocabulary(found.vocabulary, rates, analysis)
    if found.training_note is not None:
        lines.append(f"  {found.training_note}")
    return lines if len(lines) > 3 else [*lines, f"  {found.reason or 'Nothing to compute.'}"]


def _vocabulary(found: VocabularyCeiling, rates: Sequence[float], analysis: CampaignAnalysis) -> list[str]:
    configuration = analysis.acceptance.configuration
    steps = found.assumed_num_steps
    if steps is None and configuration is not None:
        steps = configuration.num_steps
    if steps is None:
        return []
    cover = plain(found.coverage_fraction)
    powers = " + ".join(["1", *(f"{cover}^{power}" for power in range(1, steps + 1))])
    ceiling = vocabulary_ceiling(found.coverage_fraction, steps)
    lines = [equation("vocabulary ceiling", powers, ceiling, "tokens a step")]
    explained = found.rejections_explained_fraction
    if explained:
        first = rates[0] if len(rates) == steps else 1 - (1 - found.coverage_fraction) / explained
        expression = f"(1 - {cover}) / (1 - {plain(first)})"
        lines.append(equation("first rejections it explains at most", expression, explained))
    return lines


def split(fit: StepTimeFit) -> list[str]:
    """Return the split of a step time into its parts, added up again."""
    lines = heading("5. What a step is made of: T = T_base + f + v * (n - 1) + d * s")
    base, fixed = fit.baseline_ms, fit.fixed_ms.value
    token, step = fit.per_verified_token_ms.value, fit.per_draft_step_ms.value
    example = fit.example
    if fit.status == "refused" or base is None or example is None:
        return [*lines, f"  Refused. {fit.reason or ''}".rstrip()]
    steps = fit.assumed_num_steps if example.num_steps is None else example.num_steps
    if fixed is not None and token is not None and step is not None and steps is not None:
        drafted = example.num_draft_tokens
        if drafted is not None:
            total = base + fixed + token * (drafted - 1) + step * steps
            expression = f"{plain(base)} + {plain(fixed)} + {plain(token)} * ({drafted} - 1) + {plain(step)} * {steps}"
            lines.append(equation(f"T of {example.label}", expression, total, "ms"))
    elif fixed is not None and fit.combined_ms.value is not None and steps is not None:
        total = base + fixed + fit.combined_ms.value * steps
        expression = f"{plain(base)} + {plain(fixed)} + {plain(fit.combined_ms.value)} * {steps}"
        lines.append(equation(f"T of {example.label}", expression, total, "ms"))
    if fit.example_step_ms is not None:
        lines.append(fact("measured", f"{plain(fit.example_step_ms)} ms"))
    return [*lines, *([f"  {fit.reason}"] if fit.reason else [])]


def _find(points: Sequence[Point], run_id: str | None, load: int | None) -> Point | None:
    return next((point for point in points if (point.run_id, point.concurrency) == (run_id, load)), None)
