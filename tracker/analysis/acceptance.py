"""Accept length from acceptance rates, and back: formulas. Lengths always include the bonus token.

Sources: Leviathan et al. 2023 (arXiv 2211.17192) for the chain; vLLM V1 for per-position rates; SGLang's scheduler
metrics before and after 0.5.14 for the two meanings of a printed accept rate.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import optimize

from tracker.analysis.uncertainty import FloatArray
from tracker.domain.measurement import RateConvention

_KNOWN_CONVENTIONS: tuple[RateConvention, ...] = (
    "length_over_draft_tokens",
    "accepted_over_proposed",
    "drafts_over_steps_times_num_steps",
)


def chain_length(acceptance: float, num_steps: int) -> float:
    """Return the accept length of a chain with one constant acceptance: sum of its powers 0 to `num_steps`."""
    return float(sum(acceptance**power for power in range(num_steps + 1)))


def length_from_conditional(rates: Sequence[float]) -> float:
    """Return the accept length of a chain from acceptance per position given that all earlier ones were accepted."""
    return 1.0 + float(np.sum(np.cumprod(rates)))


def length_from_positions(rates: Sequence[float]) -> float:
    """Return the accept length from unconditional acceptance per position (vLLM's per-position rates)."""
    return 1.0 + float(np.sum(rates))


def length_from_paths(path_products: Sequence[float]) -> float:
    """Return the accept length of a tree: one plus, per verified node, the product of acceptance along its path."""
    return 1.0 + float(np.sum(path_products))


def constant_acceptance(length: float, num_steps: int) -> float:
    """Return the constant acceptance at which a chain of `num_steps` yields `length`.

    Raises:
        ValueError: `length` lies outside 1 to num_steps + 1.
    """
    if not 1 <= length <= num_steps + 1:
        side = "L > k+1" if length > num_steps + 1 else "L < 1"
        raise ValueError(f"{side}: accept length {length:g} is impossible with {num_steps} draft steps")
    return float(optimize.brentq(lambda rate: chain_length(rate, num_steps) - length, 0.0, 1.0, xtol=1e-12))


def decaying_length(first: FloatArray, rho: FloatArray | float, num_steps: int) -> FloatArray:
    """Return the accept length of a chain whose conditional acceptance is first, first * rho, first * rho^2, ...

    Args:
        first: Acceptance of the first position, any shape.
        rho: Ratio from one position to the next, same shape or a number.
        num_steps: Draft steps.
    """
    length = np.ones_like(first, dtype=np.float64)
    survival = np.ones_like(first, dtype=np.float64)
    rate = np.asarray(first, dtype=np.float64)
    for _ in range(num_steps):
        survival = survival * np.clip(rate, 0.0, 1.0)
        length = length + survival
        rate = rate * rho
    return length


def decaying_fit(first_length: float, first_steps: int, second_length: float, second_steps: int) -> tuple[float, float]:
    """Return (first-position acceptance, rho) of the decaying chain through two measured chain lengths.

    Raises:
        ValueError: No decaying chain passes through both.
    """

    def length_at(rate: float, rho: float, num_steps: int) -> float:
        return float(decaying_length(np.asarray(rate), rho, num_steps))

    def first_given(rho: float) -> float:
        if length_at(1.0, rho, first_steps) <= first_length:
            return 1.0
        return float(
            optimize.brentq(lambda rate: length_at(rate, rho, first_steps) - first_length, 0.0, 1.0, xtol=1e-12)
        )

    def gap(rho: float) -> float:
        return length_at(first_given(rho), rho, second_steps) - second_length

    try:
        rho = float(optimize.brentq(gap, 0.3, 1.3, xtol=1e-10))
    except ValueError as error:
        raise ValueError(
            f"no decaying chain has lengths {first_length:g} at {first_steps} and {second_length:g} at "
            f"{second_steps} steps"
        ) from error
    return first_given(rho), rho


def conditional_rates(positions: Sequence[float]) -> tuple[float | None, ...]:
    """Return acceptance per position given that all earlier ones were accepted; None where none got so far."""
    before = (1.0, *positions[:-1])
    return tuple(rate / reached if reached > 0 else None for rate, reached in zip(positions, before, strict=True))


def harmonic_length(lengths: Sequence[float], token_shares: Sequence[float]) -> float:
    """Return the accept length of a mix of categories, weighted so that time adds up: 1 / sum(share / length).

    Args:
        lengths: Accept length per category.
        token_shares: Share of generated tokens per category; they sum to 1.
    """
    return 1.0 / sum(share / length for length, share in zip(lengths, token_shares, strict=True))


def length_from_rate(
    rate: float, convention: RateConvention, *, num_draft_tokens: int | None, num_steps: int | None
) -> float | None:
    """Return the accept length a printed accept rate implies, or None when a needed count is unknown."""
    if convention == "length_over_draft_tokens":
        return None if num_draft_tokens is None else rate * num_draft_tokens
    if convention == "accepted_over_proposed":
        return None if num_draft_tokens is None else 1 + rate * (num_draft_tokens - 1)
    if convention == "drafts_over_steps_times_num_steps":
        return None if num_steps is None else 1 + rate * num_steps
    return None


def detect_conventions(
    length: tuple[float, float], rate: tuple[float, float], *, num_draft_tokens: int | None, num_steps: int | None
) -> tuple[RateConvention, ...]:
    """Return every convention under which the rate's range implies a length inside `length`'s range."""
    found: list[RateConvention] = []
    for convention in _KNOWN_CONVENTIONS:
        low, high = (
            length_from_rate(part, convention, num_draft_tokens=num_draft_tokens, num_steps=num_steps) for part in rate
        )
        if low is not None and high is not None and low <= length[1] and high >= length[0]:
            found.append(convention)
    return tuple(found)


def vocabulary_ceiling(coverage: float, num_steps: int) -> float:
    """Return the accept length of a perfect drafter whose vocabulary covers `coverage` of the tokens."""
    return chain_length(coverage, num_steps)


def rejections_explained(coverage: float, acceptance: float) -> float | None:
    """Return the share of first-position rejections that missing vocabulary can explain at most; None without any."""
    return None if acceptance >= 1 else min(1.0, (1 - coverage) / (1 - acceptance))


def distinct_experts(tokens: float, *, experts: int, active: int) -> float:
    """Return the expected number of experts that `tokens` touch under uniform routing (MoESD, arXiv 2505.19645)."""
    untouched: float = (1 - active / experts) ** tokens
    return experts * (1 - untouched)
