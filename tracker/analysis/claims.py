"""Numbers that somebody stated before, put right politely."""

from __future__ import annotations

from collections.abc import Sequence

from tracker.analysis.results import CheckedClaim, ConfigurationCost, Point
from tracker.domain.campaign import Claim


def check_claims(
    claims: Sequence[Claim], costs: Sequence[ConfigurationCost], best: Point | None, baseline: Point | None
) -> tuple[CheckedClaim, ...]:
    """Return one sentence per claim, from the break-even values at the load of `best`."""
    load = None if best is None else best.concurrency
    here = [cost for cost in costs if cost.concurrency == load]
    return tuple(_check(claim, here, best, baseline) for claim in claims)


def _check(
    claim: Claim, costs: Sequence[ConfigurationCost], best: Point | None, baseline: Point | None
) -> CheckedClaim:
    stated = f"{claim.value:g} ({claim.by})"
    if best is None or best.break_even is None or not costs:
        return CheckedClaim(message=f"The earlier figure of {stated} cannot be checked: no break-even was measured.")
    if "accept_length" not in claim.quantity:
        return CheckedClaim(message=f"The earlier figure of {stated} for {claim.quantity} was not checked.")
    if claim.quantity == "break_even_accept_length":
        return _break_even(claim, stated, costs, best, baseline)
    return CheckedClaim(
        message=_speed_at(f"The earlier figure of {stated}", claim.value, best, baseline), run_ids=(best.run_id,)
    )


def _break_even(
    claim: Claim, stated: str, costs: Sequence[ConfigurationCost], best: Point, baseline: Point | None
) -> CheckedClaim:
    alike = [cost for cost in costs if cost.configuration.cuda_graph == best.configuration.cuda_graph]
    ordered = sorted(alike or costs, key=lambda cost: cost.break_even.value)
    lowest, highest = ordered[0], ordered[-1]
    ids = tuple(dict.fromkeys(run_id for cost in ordered for run_id in cost.run_ids))
    low, high = lowest.break_even.value, highest.break_even.value
    where = f"{low:.2f} ({lowest.configuration.label}) to {high:.2f} ({highest.configuration.label})"
    if len(ordered) == 1:
        own = f"Break-even is not a matter of opinion here: measured, it is {low:.2f} for {lowest.configuration.label}."
        lead = f"The earlier figure of {stated} is close." if _near(claim.value, low) else own
        return CheckedClaim(message=f"{lead} {_speed_at('It', claim.value, best, baseline)}", run_ids=ids)
    if low <= claim.value <= high:
        lead = (
            f"The earlier figure of {stated} was a fair middle: each configuration has its own break-even, and "
            "they run "
            f"from {where}."
        )
    else:
        side = "above" if claim.value > high else "below"
        lead = f"The earlier figure of {stated} lies {side} what was measured: {where}."
    return CheckedClaim(message=f"{lead} {_speed_at('It', claim.value, best, baseline)}", run_ids=ids)


def _near(stated: float, measured: float) -> bool:
    return abs(stated / measured - 1) < 0.03


def _speed_at(subject: str, length: float, best: Point, baseline: Point | None) -> str:
    if best.break_even is None:
        return ""
    speedup = length / best.break_even.value
    base = None if baseline is None else baseline.throughput_tok_s.value
    speed = "" if base is None else f"{speedup * base:.1f} tok/s, "
    verb = "would already mean" if subject == "It" else "means"
    return (
        f"{subject} {verb} {speed}{speedup:.2f} times the baseline, for the best configuration "
        f"({best.configuration.label})."
    )
