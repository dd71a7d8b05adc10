"""The three-valued verdict per load, from intervals alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tracker.analysis.baselines import Reference
from tracker.analysis.break_even import measure
from tracker.analysis.choice import rivals_of, without_luck
from tracker.analysis.observations import Observation, failures
from tracker.analysis.pairing import Comparison, compare, prompt_rates
from tracker.analysis.power import equivalence, minimal_detectable_effect
from tracker.analysis.priors import Priors
from tracker.analysis.results import LoadVerdict, Verdict
from tracker.analysis.results.evidence import Level, LoadStatus, VerdictStatus
from tracker.analysis.uncertainty import around, parts_of
from tracker.analysis.words import listed, percent, streams
from tracker.analysis.words import loads as in_words
from tracker.domain.estimate import Estimate
from tracker.domain.workload import Hardware


def comparisons(
    observations: Sequence[Observation], references: Mapping[int | None, Reference], priors: Priors
) -> dict[tuple[str, int | None], Comparison]:
    """Return the comparison of every speculative observation with a throughput to its load's baseline."""
    found = {}
    rates = {load: prompt_rates(reference.baseline.rows) for load, reference in references.items()}
    for item in observations:
        reference = references.get(item.concurrency)
        if reference is None or item is reference.baseline or item.step_time_only or failures(item.cell) is not None:
            continue
        result = compare(
            item,
            reference.baseline,
            noise=reference.noise,
            drift=reference.drift,
            priors=priors,
            baseline_rates=rates[item.concurrency],
        )
        if result is not None:
            found[(item.run_id, item.concurrency)] = result
    return found


def best_candidate(
    observations: Sequence[Observation], compared: Mapping[tuple[str, int | None], Comparison], load: int | None
) -> Observation | None:
    """Return the fastest usable candidate at `load`: by speed-up where there is a baseline, else by throughput."""
    usable = _usable(observations, load)

    def speed(item: Observation) -> tuple[float, float, str]:
        found = compared.get((item.run_id, load))
        raw = 0.0 if item.throughput is None else item.throughput.value
        return (0.0 if found is None else found.speedup, raw, item.record.record_id)

    return max(usable, key=speed, default=None)


def _usable(observations: Sequence[Observation], load: int | None) -> list[Observation]:
    return [item for item in observations if item.speculative and item.contends and item.concurrency == load]


def judge(
    observations: Sequence[Observation],
    references: Mapping[int | None, Reference],
    compared: Mapping[tuple[str, int | None], Comparison],
    *,
    load: int | None,
    priors: Priors,
) -> LoadVerdict:
    """Return the verdict at one load."""
    best = best_candidate(observations, compared, load)
    reference = references.get(load)
    found = None if best is None else compared.get((best.run_id, load))
    if best is None or reference is None or found is None:
        return LoadVerdict(
            concurrency=load,
            status="undecided",
            best_run_id=None if best is None else best.run_id,
            baseline_run_id=None if reference is None else reference.baseline.run_id,
            speedup=Estimate(reason="nothing to compare"),
            smallest_detectable=None,
            reason=_missing(observations, best, reference, load),
        )
    against = [compared.get((item.run_id, load)) for item in _usable(observations, load)]
    rivals = rivals_of(found, [item for item in against if item is not None])
    speedup = around(found.speedup, found.spread)
    sober = without_luck(found, rivals)
    lucky = _above(speedup) and not _above(sober)
    if lucky:
        speedup = replace(speedup, low=sober.low)
    level = equivalence(found.speedup, found.spread, margin=priors.equivalence_margin_fraction)
    status, reason = _status(found, speedup, reference, priors, lucky_of=len(rivals) if lucky else None)
    smallest = found.spread.detectable()
    return LoadVerdict(
        concurrency=load,
        status=status,
        best_run_id=best.run_id,
        baseline_run_id=reference.baseline.run_id,
        speedup=speedup,
        smallest_detectable=smallest,
        reason=reason + _slow_baseline(best, reference),
        prompts_in_common=found.prompts_in_common,
        smallest_detectable_note=_detectable_note(smallest),
        equivalence=level,
        equivalence_margin=priors.equivalence_margin_fraction,
        equivalence_note=_equivalence_note(level, priors.equivalence_margin_fraction),
        parts=parts_of(found.components),
    )


def overall(
    by_load: Sequence[LoadVerdict],
    *,
    decision_load: int | None,
    population: Comparison | None,
    hardware: Hardware | None,
    priors: Priors,
    prompt_set: str | None = None,
) -> Verdict:
    """Return the campaign's verdict: mixed when loads differ. `prompt_set` names the prompts where there are others."""
    statuses = {item.status for item in by_load}
    status: VerdictStatus = "undecided" if not statuses else "mixed"
    if len(statuses) == 1:
        status = by_load[0].status
    return Verdict(
        status=status,
        scope=_scope(by_load, population, hardware, prompt_set),
        decision_concurrency=decision_load,
        by_concurrency=tuple(by_load),
        population_speedup=Estimate(reason="no comparison at the decision load")
        if population is None
        else _at_least_as_wide(around(population.speedup, population.population), by_load, decision_load),
        population_note=None if population is None else _population_note(population, priors),
    )


def _at_least_as_wide(wider: Estimate, by_load: Sequence[LoadVerdict], load: int | None) -> Estimate:
    """Return the statement on other prompts, reaching as low as the one on the measured prompts."""
    lows = [item.speedup.low for item in by_load if item.concurrency == load] + [wider.low]
    return replace(wider, low=min((low for low in lows if low is not None), default=None))


def _slow_baseline(best: Observation, reference: Reference) -> str:
    """Return words where a step with drafts takes less time than one without, which only a slow baseline explains."""
    bar = measure([best], reference.baseline, noise=reference.noise, drift=reference.drift)
    if bar is None or bar.high >= 1:
        return ""
    return (
        f" A speculative step takes less time than a plain one ({bar.value:.2f}): the baseline is slower than it "
        "should be, so measure it again before trusting the speed-up."
    )


def _above(speedup: Estimate) -> bool:
    return speedup.low is not None and speedup.low > 1


def _status(
    found: Comparison, speedup: Estimate, reference: Reference, priors: Priors, *, lucky_of: int | None
) -> tuple[LoadStatus, str]:
    rests = f"Interval from {_sources(found)}."
    # The spread holds the drift: where both one-sided tests still pass, no drift can hide a difference that matters.
    level = equivalence(found.speedup, found.spread, margin=priors.equivalence_margin_fraction)
    clear = _above(speedup) or (speedup.high is not None and speedup.high < 1)
    if level == "equivalent" and not clear:
        return "undecided", f"Equivalent within {percent(priors.equivalence_margin_fraction)}. {rests}"
    apart, effect = reference.drift.range_fraction, abs(math.log(found.speedup))
    if apart is not None and math.log1p(apart) >= effect:
        return "undecided", (
            f"{len(reference.drift.run_ids)} baselines differ by {percent(apart)}, "
            f"at least as much as the effect of {percent(math.expm1(effect))}; measure the baseline before and after."
        )
    if lucky_of is not None:
        return "undecided", (
            f"The fastest of {lucky_of} candidates that may be as fast is in part the luckiest: without that the "
            f"interval contains 1. {rests} {_cure(found)}"
        )
    if _above(speedup):
        return "faster", rests
    if speedup.high is not None and speedup.high < 1:
        return "slower", rests
    return "undecided", f"The interval contains 1. {rests} {_cure(found)}"


def _detectable_note(smallest: float) -> str:
    return (
        f"A true difference of {percent(smallest)} would leave the 80 % interval clear of 1 in four of five such "
        "measurements; a smaller one would more often stay hidden in their noise."
    )


def _equivalence_note(level: Level, margin: float) -> str:
    within = percent(margin)
    if level == "equivalent":
        return f"Equivalent: both one-sided 95 % tests place the difference within {within}."
    if level == "different":
        return f"A difference is shown; it need not exceed the {within} below which speeds count as equivalent."
    return f"Neither a difference nor equivalence within {within} is shown."


def _sources(found: Comparison) -> str:
    told = [part for part in parts_of(found.components) if part.sd >= 5e-4]
    return ", ".join(f"{part.name} ({percent(part.sd)})" for part in told) or "exact counts"


def _cure(found: Comparison) -> str:
    largest = max(found.components, key=lambda part: part.sd)
    if largest.name == "prompts":
        return "More prompts would decide it."
    return "Repeats on freshly started servers, with the baseline in between, would decide it."


def _missing(
    observations: Sequence[Observation], best: Observation | None, reference: Reference | None, load: int | None
) -> str:
    where = streams(load)
    if best is None:
        what = "run" if reference is None else "candidate"
        return f"No usable {what} at {where}.{_why_none(observations, load)}"
    if reference is not None and best.throughput is not None:
        plain = reference.baseline.record.name
        return f"{best.record.name} and {plain} answered other prompts at {where}: run both on the same ones."
    return f"No baseline at {where}: run the same workload on a server without speculation."


def _why_none(observations: Sequence[Observation], load: int | None) -> str:
    """Return why candidates at a load cannot be used, and what to measure."""
    here = [item for item in observations if item.speculative and item.concurrency == load]
    simulated = [item.record.name for item in here if item.step_time_only and item.excluded_reason is None]
    void = [f"{item.record.name} ({item.excluded_reason})" for item in here if item.excluded_reason is not None]
    parts = []
    if simulated:
        parts.append(
            f" {listed(simulated)} ran with simulated acceptance, which says what a step takes and nothing about "
            "speed: measure again with real drafts."
        )
    if void:
        parts.append(f" Left out: {listed(void)}; correct it and measure again.")
    return "".join(parts)


def _scope(
    by_load: Sequence[LoadVerdict], population: Comparison | None, hardware: Hardware | None, prompt_set: str | None
) -> str:
    parts, of = [], "" if prompt_set is None else f" of {prompt_set}"
    if population is not None:
        counts = {item.prompts_in_common for item in by_load} - {None}
        several = population.prompts_assumed or len(counts) > 1
        one = population.prompts == 1
        which = "these prompts" if several else "one prompt" if one else f"these {population.prompts} prompts"
        parts.append(f"{which}{of}")
    loads = [item.concurrency for item in by_load if item.concurrency is not None]
    if loads:
        parts.append(in_words(loads))
    if hardware is not None and hardware.gpu is not None:
        count = "" if hardware.gpu_count is None else f"{hardware.gpu_count} x "
        parts.append(f"{count}{hardware.gpu}")
    return ", ".join(parts) or "no runs"


def _population_note(found: Comparison, priors: Priors) -> str:
    sd = priors.paired_prompt_fraction
    effect = minimal_detectable_effect(sd=sd, prompts=found.prompts)
    count = "One prompt" if found.prompts == 1 else f"{found.prompts} prompts"
    assumed = " (their number is assumed)" if found.prompts_assumed else ""
    if effect is None:
        return f"{count}{assumed} cannot speak for others."
    return (
        f"{count}{assumed} support a statement about these prompts. For others like them the interval is wider; "
        "a fresh "
        "paired test of this size at the usual 5 % level would miss most differences below "
        f"{percent(math.expm1(effect))}."
    )
