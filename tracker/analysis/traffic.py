"""What the deployment serves, against what was measured: shares of the time by load, of the tokens by category."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from tracker.analysis.acceptance import harmonic_length
from tracker.analysis.results import AcceptanceProfile, Note
from tracker.analysis.words import listed, percent, streams
from tracker.domain.campaign import Traffic

# Shares below this are left to rounding.
_NOTHING = 0.005


def load_share(traffic: Traffic, load: int | None) -> float:
    """Return the share of the serving time at a load; all of it where campaign.toml does not say."""
    if not traffic.by_concurrency:
        return 1.0
    return 0.0 if load is None else traffic.by_concurrency.get(load, 0.0)


def mix_factor(traffic: Traffic, profile: AcceptanceProfile) -> float | None:
    """Return accept length on the traffic's categories over the benchmark's, time adding up on both (harmonic).

    None where the shares are not stated or name a category that was not measured.
    """
    lengths = {item.category: item.accept_length.value for item in profile.per_category}
    served = {name: share for name, share in traffic.by_category.items() if share > 0}
    known = {name: length for name, length in lengths.items() if length is not None}
    if not served or profile.mix_accept_length is None or served.keys() - known.keys():
        return None
    total = math.fsum(served.values())
    mixed = harmonic_length([known[name] for name in served], [share / total for share in served.values()])
    return mixed / profile.mix_accept_length


def traffic_notes(
    traffic: Traffic, *, loads: Sequence[int | None], profile: AcceptanceProfile, decision_load: int | None
) -> Iterable[Note]:
    """Yield what options are valued for, and what of the traffic is not valued and why.

    Args:
        traffic: Shares as campaign.toml states them.
        loads: Loads that have a verdict.
        profile: Acceptance by category of the best drafter.
        decision_load: The load that matters.
    """
    yield Note(topic="traffic by load", message=_by_load(traffic, loads, decision_load))
    words = _by_category(traffic, profile)
    if words is not None:
        yield Note(topic="traffic by category", message=words)


def _by_load(traffic: Traffic, loads: Sequence[int | None], decision_load: int | None) -> str:
    if not traffic.by_concurrency:
        return (
            f"campaign.toml states no shares ([traffic] by_concurrency): options are valued as if all of it ran at "
            f"{streams(decision_load)}, and a split by load is not valued."
        )
    shares = {load: share for load, share in sorted(traffic.by_concurrency.items()) if share > _NOTHING}
    stated = listed([f"{percent(share)} of the time at {streams(load)}" for load, share in shares.items()])
    blind = {load: share for load, share in shares.items() if load not in loads}
    others = ""
    if len(shares) > 1:
        others = (
            f" Deploying and splitting by load are valued over all measured loads, everything else at "
            f"{streams(decision_load)} alone, with the plain server for the rest."
        )
    if not blind:
        return f"{stated}.{others}"
    return (
        f"{stated}. {percent(math.fsum(blind.values()))} of the time, at {listed([streams(load) for load in blind])}, "
        f"was not measured: nothing is gained or lost there.{others}"
    )


def _by_category(traffic: Traffic, profile: AcceptanceProfile) -> str | None:
    measured = [item.category for item in profile.per_category]
    if not traffic.by_category:
        if len(measured) < 2:
            return None
        return (
            "campaign.toml states no shares ([traffic] by_category): options are valued on the benchmark's mix, and a "
            "split by category is not valued."
        )
    factor = mix_factor(traffic, profile)
    stated = listed([f"{percent(share)} {name}" for name, share in sorted(traffic.by_category.items())])
    if factor is None:
        missing = sorted(traffic.by_category.keys() - set(measured))
        what = f"{listed(missing)} was not measured" if missing else "no acceptance by category was measured"
        return f"{stated} of the tokens: {what}, so options are valued on the benchmark's mix."
    return (
        f"{stated} of the tokens: accept length there is {factor:.2f} times the benchmark's, in every option's value."
    )
