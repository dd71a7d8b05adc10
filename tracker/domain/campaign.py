"""A campaign: the question, what is deployed, and what things cost."""

from __future__ import annotations

from dataclasses import dataclass


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
    claims: tuple[Claim, ...] = ()
    """Numbers stated before."""
    references: tuple[Reference, ...] = ()
    """Published figures for comparison."""
    untested: tuple[str, ...] = ()
    """What the people who measured know they did not test."""
