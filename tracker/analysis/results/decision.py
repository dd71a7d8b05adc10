"""Options, priced and ranked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tracker.domain.estimate import Estimate

# Data that are a hundred times less likely under an assumption speak decisively against it (Jeffreys 1961).
_DECISIVE = 0.01

Phase = Literal["data generation", "extraction", "training", "engineering", "not split"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CostPart:
    """One phase of an option's cost."""

    phase: Phase
    """What is paid for; `not split` is the rest of a price given for all phases together."""
    gpu_hours: float | None
    """GPU-hours; None where only the whole is known."""
    days: float | None = None
    """Calendar days on the campaign's GPUs."""
    money: float | None = None
    """Money, where a price is known."""
    source: str | None = None
    """Where the figure comes from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionAssessment:
    """One way to go on, priced."""

    key: str
    """Stable key, e.g. `more_data_100k`."""
    title: str
    """What a person would call it, e.g. `Train on 100,000 samples`."""
    configuration: str | None = None
    """Label of the configuration it assumes."""
    concurrency: int | None = None
    """Load it is valued at."""
    p_beats_baseline: float | None = None
    """Chance of being faster than the baseline; None when not estimable."""
    expected_tok_s: Estimate = Estimate()
    """Throughput after the option."""
    cost_gpu_hours: float | None = None
    """Price; 0 is a known zero."""
    cost_days: float | None = None
    """Calendar time."""
    cost_money: float | None = None
    """Money, when a price is known."""
    net_gpu_hours: Estimate = Estimate()
    """GPU-hours saved over the horizon less the cost, against the baseline."""
    pay_back_days: float | None = None
    """Days of service until the cost is earned back, at the expected speed; None = never or unknown."""
    rank: int | None = None
    """1 is best by mean net value; None when it cannot be valued."""
    evidence: str | None = None
    """What the estimate rests on."""
    would_change: str | None = None
    """What would change its place."""
    unvalued_reason: str | None = None
    """Why it has no value."""
    cost_split: tuple[CostPart, ...] = ()
    """The cost by phase, where a training is part of it."""
    p_net_positive: float | None = None
    """Chance that it saves more over the horizon than it costs; None when it cannot be valued."""
    regret_gpu_hours: float | None = None
    """Mean GPU-hours lost by choosing it instead of what would turn out best; None when it cannot be valued."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NextExperiment:
    """The experiment worth doing next: the one that tells most per GPU-hour."""

    title: str
    """Imperative sentence."""
    why: str
    """What it decides."""
    flags: tuple[str, ...] = ()
    """Flags to set, or commands."""
    cost_gpu_hours: float | None = None
    """Price."""
    net_value_gpu_hours: float | None = None
    """Expected value of the information less the price; None when not estimable."""
    p_success: float | None = None
    """Chance of the outcome hoped for."""
    p_beats_best: float | None = None
    """Chance to be faster than today's best candidate; None where that is not computed."""
    p_is_judgement: bool = False
    """Whether that chance is a judgement rather than a computation."""
    do_not_test: tuple[str, ...] = ()
    """Sentences: what cannot win and need not be tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HorizonChoice:
    """Best option for one length of use."""

    days: float
    """Length of use."""
    option_key: str
    """Best option."""
    title: str
    """Its title."""
    net_gpu_hours: float
    """Its mean net value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HorizonFlip:
    """A length of use at which the best option changes."""

    days: float
    """Length of use."""
    from_key: str
    """Best option for a shorter use."""
    to_key: str
    """Best option for a longer one."""
    message: str
    """The same in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorSensitivity:
    """Best option under another slope prior."""

    label: str
    """E.g. `slope prior halved`."""
    option_key: str
    """Best option."""
    title: str
    """Its title."""
    changes: bool
    """Whether it differs from the ranking shown."""
    samples: int | None = None
    """Largest training size within a decade of the data, at which forecasts are compared; None without a curve."""
    stated: Estimate = Estimate(reason="no curve over training sizes")
    """Accept length there under the priors as stated."""
    reweighted: Estimate = Estimate(reason="no curve over training sizes")
    """Under this prior, each form weighed anew by how well it meets the data."""
    held: Estimate = Estimate(reason="no curve over training sizes")
    """Under this prior, each form with its share under the stated ones; a reason where too few draws meet the data."""
    likelihood_ratio: float | None = None
    """How likely the data are under this prior, over how likely under the stated one."""

    @property
    def contradicted(self) -> bool:
        """Whether the data speak decisively against this prior."""
        return self.likelihood_ratio is not None and self.likelihood_ratio < _DECISIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionSet:
    """Options, ranked, with what would change the ranking."""

    options: tuple[OptionAssessment, ...]
    """By rank, unvalued last."""
    next_experiment: NextExperiment | None
    """None when nothing cheap is worth it."""
    horizons: tuple[HorizonChoice, ...] = ()
    """Best option by length of use."""
    sensitivity: tuple[PriorSensitivity, ...] = ()
    """Under other priors."""
    evpi_gpu_hours: float | None = None
    """Expected value of perfect information."""
    flips: tuple[HorizonFlip, ...] = ()
    """Lengths of use at which the first rank changes, ascending."""
    experiments: tuple[NextExperiment, ...] = ()
    """All cheap experiments considered, cheapest first, those not worth their price included."""
