"""A campaign: the question, what is deployed, and what things cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

# Shares written with two decimals need not add up exactly.
_SHARES_WITHIN = 0.015


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A number somebody stated before, to be checked against the data."""

    quantity: str
    """`break_even_accept_length`, ..."""
    value: float
    """The number as stated."""
    by: str
    """Who stated it, e.g. `the author's estimate`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A published figure shown beside the data, never used in a fit."""

    text: str
    """What was published."""
    source: str
    """Where."""
    samples: int | None = None
    """Training samples, for the scaling figure."""
    accept_length: float | None = None
    """Accept length, for the scaling figure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What serving and training cost. GPU-hours unless the name says otherwise."""

    gpus: int | None = None
    """GPUs that serve the workload."""
    horizon_days: float | None = None
    """How long the decision holds."""
    price_per_gpu_hour: float | None = None
    """Money per GPU-hour."""
    currency: str = "USD"
    """Currency of the price."""
    gpu_hours_per_sample: float | None = None
    """All phases together, per training sample."""
    generation_tok_s: float | None = None
    """Speed at which the target generates training data, whole deployment."""
    tokens_per_sample: float | None = None
    """Mean generated tokens per training sample."""
    overhead_fix_gpu_hours: float | None = None
    """Work to reduce the fixed overhead of a step."""

    @property
    def horizon_gpu_hours(self) -> float | None:
        """GPU-hours the workload costs on the baseline over the horizon, fully used; None if unknown."""
        if self.gpus is None or self.horizon_days is None:
            return None
        return self.gpus * self.horizon_days * 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What the deployment serves, as shares that add up to 1; empty where not stated."""

    by_concurrency: Mapping[int, float] = field(default_factory=dict)
    """Share of the serving time by streams in flight."""
    by_category: Mapping[str, float] = field(default_factory=dict)
    """Share of the generated tokens by category of prompts."""

    def __post_init__(self) -> None:
        """Refuse shares that are no shares.

        Raises:
            ValueError: A share lies outside 0 to 1, shares do not add up to 1, or a load has less than one stream.
        """
        loads = {str(load): share for load, share in self.by_concurrency.items()}
        for name, shares in (("by_concurrency", loads), ("by_category", self.by_category)):
            wrong = next((key for key, share in shares.items() if not 0 <= share <= 1), None)
            if wrong is not None:
                raise ValueError(f"{name}: the share of {wrong} is {shares[wrong]:g}, it must lie between 0 and 1")
            total = math.fsum(shares.values())
            if shares and abs(total - 1) > _SHARES_WITHIN:
                raise ValueError(f"{name}: the shares add up to {total:g}, they must add up to 1")
        if min(self.by_concurrency, default=1) < 1:
            raise ValueError(f"by_concurrency: {min(self.by_concurrency)} streams serve nothing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """What campaign.toml says about a campaign as a whole."""

    name: str
    """Experiment name, a slug without `/`."""
    title: str | None = None
    """One line for the memo's head, e.g. `Kimi-K2.5 with EAGLE-3 drafter`."""
    question: str | None = None
    """The decision in the asker's words."""
    deployed: str | None = None
    """What is deployed now, in words."""
    deployed_run: str | None = None
    """Name of the run that measures what is deployed."""
    decision_concurrency: int | None = None
    """The load that matters."""
    max_tpot_ms: float | None = None
    """Latency limit per output token for one user."""
    max_ttft_ms: float | None = None
    """Latency limit to the first token."""
    costs: Costs = Costs()
    """Prices and horizon."""
    traffic: Traffic = Traffic()
    """What the deployment serves."""
    claims: tuple[Claim, ...] = ()
    """Numbers stated before."""
    references: tuple[Reference, ...] = ()
    """Published figures for comparison."""
    untested: tuple[str, ...] = ()
    """What the people who measured know they did not test."""

    def __post_init__(self) -> None:
        """Refuse a decision load that serves no traffic.

        Raises:
            ValueError: `traffic` gives `decision_concurrency` no share.
        """
        shares, load = self.traffic.by_concurrency, self.decision_concurrency
        if shares and load is not None and not shares.get(load):
            raise ValueError(
                f"decision_concurrency is {load}, and [traffic] by_concurrency gives that load no share of the time"
            )
