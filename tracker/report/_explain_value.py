"""Explanation of forecasts and of what options are worth."""

from __future__ import annotations

from tracker.analysis._forms import forms_for
from tracker.analysis.priors import DEFAULT_PRIORS
from tracker.analysis.results import CampaignAnalysis, DecisionSet, OptionAssessment, ScalingFit
from tracker.analysis.traffic import load_share
from tracker.analysis.value import minimal_speedup
from tracker.analysis.words import size, streams
from tracker.report._explain_lines import equation, fact, heading, plain


def forecast(analysis: CampaignAnalysis) -> list[str]:
    """Return the forms of the curve with their priors, and the accept lengths that targets take."""
    fit, priors = analysis.scaling, DEFAULT_PRIORS
    lines = heading("6. Accept length against training data")
    if fit.status == "refused":
        return [*lines, f"  Refused. {fit.reason or ''}".rstrip()]
    lines += [
        f"  x = log10(samples / {size(priors.reference_samples)}); a accepts the first position, a * rho the next, ...",
        "  L = 1 + a + a * (a * rho) + ..., one term a draft step. The forms, weighted by how they meet the sizes:",
        f"    a = 1 / (1 + exp(-(u + b * x))), u ~ N({priors.level_mean:g}, {priors.level_sd:g}), "
        f"b ~ N({priors.slope_mean:g}, {priors.slope_sd:g}) above 0",
        f"    a = top - (top - a0) * 10^(-beta * x), beta ~ log-normal around {priors.power_median:g}",
        f"    L = L0 + c * x, c ~ N({priors.linear_mean:g}, {priors.linear_sd:g}) above 0",
        *_levelling(fit),
        f"  rho ~ N({priors.rho_mean:g}, {priors.rho_sd:g}); one training scatters by {priors.tau:g} tokens; beyond "
        f"the largest size the curve may be off by {priors.kappa:g} tokens a decade.",
        "  The percentiles come from weighted draws of these forms: that needs the program, what follows does not.",
    ]
    for point in fit.points:
        if point.accept_length.value is not None:
            lines.append(
                fact(f"{size(point.samples)} samples", f"L = {plain(point.accept_length.value)} (run {point.run_id})")
            )
    if fit.break_even is not None:
        for target in fit.targets:
            expression = f"{target.speedup:g} * {plain(fit.break_even.value)}"
            if fit.prefill_fraction > 0:
                waits = f"{fit.prefill_fraction:.9g}"
                expression = f"{plain(fit.break_even.value)} * (1 - {waits}) / (1 / {target.speedup:g} - {waits})"
            lines.append(equation(f"L for {target.speedup:g} times the baseline", expression, target.accept_length))
            lines.append(f"    {target.note}")
    held = fit.hold_out
    if held is not None:
        lines.append(
            fact(
                "largest size predicted from the others",
                f"{plain(held.median)} ({plain(held.low)} to {plain(held.high)}) at {size(held.samples)} samples, "
                f"measured {plain(held.measured)}: {plain(held.pit)} of the prediction lies at or below it",
            )
        )
    return lines


def _levelling(fit: ScalingFit) -> list[str]:
    if len(forms_for(len({point.samples for point in fit.points}))) == len(forms_for(0)):
        return []
    return ["    a = top / (1 + exp(-(u' + b' * x))), top anywhere between a0 and the highest acceptance"]


def values(analysis: CampaignAnalysis, decision: DecisionSet) -> list[str]:
    """Return what every priced option is worth at its expected speed, beside the mean over all draws."""
    costs = analysis.campaign.costs
    lines = heading("7. What options are worth: GPU-hours saved = H * (1 - 1 / S) - C")
    hours = costs.horizon_gpu_hours
    if hours is None or costs.gpus is None or costs.horizon_days is None:
        return [*lines, "  Not computed: campaign.toml states no number of GPUs or no horizon."]
    lines.append(equation("H", f"{costs.gpus} * {plain(costs.horizon_days)} * 24", hours, "GPU-hours"))
    lines += [
        "  S is uncertain, so the value ranked is the mean over draws of S; an outcome slower than the baseline is not",
        "  served and saves 0 (deploying today's drafter is the exception). At the expected S alone it would be:",
    ]
    traffic, load = analysis.campaign.traffic, analysis.verdict.decision_concurrency
    if traffic.by_concurrency:
        share = load_share(traffic, load)
        lines.append(equation(f"H at {streams(load)}", f"{plain(hours)} * {plain(share)}", hours * share, "GPU-hours"))
        hours *= share
    for option in decision.options:
        if option.rank is not None:
            lines += ["", f"  {option.rank}. {option.title}", *_option(option, analysis, hours)]
    lines += ["", *[f"  {flip.message}" for flip in decision.flips]]
    lines += _experiments(decision)
    if decision.evpi_gpu_hours is not None:
        lines.append(fact("knowing everything first would be worth", f"{plain(decision.evpi_gpu_hours)} GPU-hours"))
    return lines


def _experiments(decision: DecisionSet) -> list[str]:
    """Return what every cheap experiment adds to the best choice, its price taken off."""
    lines = []
    for item in decision.experiments:
        if item.net_value_gpu_hours is not None and item.cost_gpu_hours is not None:
            gross = item.net_value_gpu_hours + item.cost_gpu_hours
            expression = f"{plain(gross)} - {plain(item.cost_gpu_hours)}"
            lines.append(f"  {item.title}: knowing its outcome is worth")
            lines.append(equation("  net", expression, item.net_value_gpu_hours, "GPU-hours"))
    return lines


def _option(option: OptionAssessment, analysis: CampaignAnalysis, hours: float) -> list[str]:
    base = _baseline_tok_s(analysis)
    speed, cost = option.expected_tok_s.value, option.cost_gpu_hours
    lines = []
    parts = [part for part in option.cost_split if part.gpu_hours is not None]
    if parts and cost is not None:
        known = [f"{part.phase} {plain(part.gpu_hours)}" for part in parts if part.gpu_hours is not None]
        lines.append(fact("cost by phase, GPU-hours", ", ".join(known)))
    costs = analysis.campaign.costs
    price = costs.price_per_gpu_hour
    if option.cost_money is not None and cost is not None and price is not None:
        lines.append(equation("money", f"{plain(cost)} * {plain(price)}", option.cost_money, costs.currency))
    if option.p_net_positive is not None:
        lines.append(fact("share of draws in which it pays", plain(option.p_net_positive)))
    if option.regret_gpu_hours is not None:
        lines.append(
            fact("mean over draws of what the best option gains over it", f"{plain(option.regret_gpu_hours)} GPU-hours")
        )
    if speed is None or base is None or cost is None:
        return lines
    if _over_traffic(option, analysis):
        lines.append("    Valued over the loads and categories that campaign.toml gives shares of, not at one S.")
        if option.net_gpu_hours.value is not None:
            lines.append(fact("mean over draws", f"{plain(option.net_gpu_hours.value)} GPU-hours"))
        return lines
    ratio, forced = speed / base, option.key == "deploy_best"
    lines.append(equation("S", f"{plain(speed)} / {plain(base)}", ratio))
    # Near 1 the difference 1 - 1 / S loses digits, so S carries more of them here.
    fine = f"{ratio:.9g}"
    served = fine if forced else f"max({fine}, 1)"
    net = hours * (1 - 1 / (ratio if forced else max(ratio, 1.0))) - cost
    expression = f"{plain(hours)} * (1 - 1 / {served}) - {plain(cost)}"
    lines.append(equation("at the expected S", expression, net, "GPU-hours"))
    if option.net_gpu_hours.value is not None:
        lines.append(fact("mean over draws", f"{plain(option.net_gpu_hours.value)} GPU-hours"))
    if cost > 0 and ratio > 1 and costs.gpus is not None:
        days = cost / (1 - 1 / ratio) / 24 / costs.gpus
        expression = f"{plain(cost)} / (1 - 1 / {fine}) / 24 / {costs.gpus}"
        lines.append(equation("earned back after", expression, days, "days"))
    least = minimal_speedup(cost, hours)
    if cost > 0 and least is not None:
        lines.append(equation("least S that earns it back", f"1 / (1 - {plain(cost)} / {plain(hours)})", least))
    return lines


def _over_traffic(option: OptionAssessment, analysis: CampaignAnalysis) -> bool:
    return option.key.startswith("speculate_") or (
        option.key == "deploy_best" and len(analysis.campaign.traffic.by_concurrency) > 1
    )


def _baseline_tok_s(analysis: CampaignAnalysis) -> float | None:
    load = analysis.verdict.decision_concurrency
    run_id = next((item.baseline_run_id for item in analysis.verdict.by_concurrency if item.concurrency == load), None)
    return next(
        (
            point.throughput_tok_s.value
            for point in analysis.points
            if (point.run_id, point.concurrency) == (run_id, load)
        ),
        None,
    )
