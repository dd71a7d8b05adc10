"""Evidence for decisions: the analysis with Monte-Carlo draws that every option shares."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tracker.analysis.break_even import spread_of
from tracker.analysis.posterior import Posterior
from tracker.analysis.prefill import end_to_end_speedup
from tracker.analysis.priors import DEFAULT_PRIORS, Priors
from tracker.analysis.refits import lengths_at, refit_curve
from tracker.analysis.results import (
    BreakEven,
    CampaignAnalysis,
    LoadNoise,
    LoadVerdict,
    OptionAssessment,
    Point,
    ScalingFit,
)
from tracker.analysis.scaling_targets import break_even_draws
from tracker.analysis.traffic import load_share, mix_factor
from tracker.analysis.training_cost import SamplePrice, sample_price
from tracker.analysis.uncertainty import HIGH_QUANTILE, Z80, FloatArray, quantile
from tracker.analysis.untested import predict_untested
from tracker.analysis.untested_chains import Untested
from tracker.domain.campaign import Campaign
from tracker.domain.estimate import Estimate


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Valued(OptionAssessment):
    """An assessment that still carries its draws, for ranking and the value of information."""

    saved_fraction: FloatArray | None = None
    """Share of the baseline's GPU-hours saved, shape (n_draws,); None when it cannot be valued."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """Everything an option may rest on. Draws with the same index belong together, shape (n_draws,)."""

    analysis: CampaignAnalysis
    """What the data say."""
    priors: Priors
    """Assumptions."""
    seed: int
    """Seed of the draws."""
    load: int | None
    """Decision load."""
    verdict: LoadVerdict | None
    """Verdict at the decision load."""
    best: Point | None
    """Best usable candidate at the decision load."""
    baseline: Point | None
    """Baseline at the decision load."""
    speedup: FloatArray | None
    """Today's best candidate over the baseline."""
    accept_length: FloatArray | None
    """Today's accept length of the best candidate."""
    break_even: FloatArray | None
    """Break-even of the best candidate's configuration."""
    curve: Posterior | None = None
    """Accept length against training data, with the draws behind it; None when the scaling fit is refused."""
    sizes: Mapping[int, FloatArray] = field(default_factory=dict)
    """Accept length after training on so many samples; empty when the scaling fit is refused."""
    sizes_break_even: FloatArray | None = None
    """Break-even of the configuration that the sizes were served in, on a freshly started server."""
    new_server: FloatArray | None = None
    """Step time of a freshly started server over its configuration's mean: the noise between runs. Shared by all
    predictions, so that none of them looks better by its luck."""
    overhead_saved: FloatArray | None = None
    """What engineering may take off break-even; None when the fixed overhead is not known."""
    untested: tuple[Untested, ...] = ()
    """Configurations nobody measured."""
    sizes_prefill_fraction: float = 0.0
    """Share of a baseline request's time that prefill takes there, which no accept length shortens."""
    mix_factor: float = 1.0
    """Accept length on the traffic's categories over the benchmark's; every draw above carries it."""

    def sizes_speedup(self, length: FloatArray, *, saved: FloatArray | float = 0.0) -> FloatArray | None:
        """Return the speed over the baseline of the configuration that served the sizes, draws; None without a bar.

        Args:
            length: Accept length.
            saved: What engineering takes off break-even.
        """
        if self.sizes_break_even is None:
            return None
        return end_to_end_speedup(length, self.sizes_break_even - saved, self.sizes_prefill_fraction)

    def carried_speedup(self, length: FloatArray) -> FloatArray | None:
        """Return the speed over the baseline of the best candidate with its accept length grown as on the curve, draws.

        None unless the best candidate serves a drafter of the curve in another configuration than the curve's. A
        longer chain gains more from one drafter's growth than a shorter one, so this is the lower end.

        Args:
            length: Accept length in the configuration of the curve.
        """
        best, fit = self.best, self.analysis.scaling
        if best is None or self.speedup is None or best.configuration == fit.configuration:
            return None
        usual = next((point.accept_length.value for point in fit.points if point.samples == best.samples), None)
        return None if usual is None else self.speedup * length / (usual * self.mix_factor)

    @property
    def load_share(self) -> float:
        """Share of the serving time at the decision load; 1 where campaign.toml does not say."""
        return load_share(self.campaign.traffic, self.load)

    @property
    def campaign(self) -> Campaign:
        """Question and costs."""
        return self.analysis.campaign

    @property
    def baseline_tok_s(self) -> float | None:
        """Output tok/s of the baseline at the decision load."""
        return None if self.baseline is None else self.baseline.throughput_tok_s.value

    @property
    def configuration_label(self) -> str | None:
        """Label of the best candidate's configuration."""
        return None if self.best is None else self.best.configuration.label

    @property
    def gpu_hours_per_sample(self) -> float:
        """Price of one training sample, all phases."""
        return self.sample_price.total

    @property
    def sample_price(self) -> SamplePrice:
        """Price of one training sample, by phase where phases are known."""
        return sample_price(self.campaign.costs, self.analysis.scaling, self.priors)

    @property
    def current_samples(self) -> int | None:
        """Largest training size measured."""
        return max((point.samples for point in self.analysis.scaling.points), default=None)


def gather(analysis: CampaignAnalysis, *, priors: Priors = DEFAULT_PRIORS, seed: int = 0) -> Evidence:
    """Return the evidence of an analysis, with `priors.draws` Monte-Carlo draws.

    Args:
        analysis: What the data say.
        priors: Assumptions; other ones than the analysis used show how far the ranking depends on them.
        seed: Seed of the draws.
    """
    load = analysis.verdict.decision_concurrency
    verdict = next((item for item in analysis.verdict.by_concurrency if item.concurrency == load), None)
    best = None if verdict is None else _row(analysis, verdict.best_run_id, load)
    baseline = None if verdict is None else _row(analysis, verdict.baseline_run_id, load)
    bar = None if best is None else _bar(analysis, best)
    rng = np.random.default_rng(seed + 1)
    profile = analysis.acceptance
    mix = mix_factor(analysis.campaign.traffic, profile) if best is not None and profile.run_id == best.run_id else None
    factor = 1.0 if mix is None else mix
    length = None if best is None else _scaled(log_normal_draws(best.accept_length, priors.draws, rng), factor)
    break_even = None if bar is None else break_even_draws(bar, priors.draws, seed)
    curve = refit_curve(analysis.scaling, priors=priors, seed=seed)
    sizes, sizes_bar = _sizes(analysis.scaling, curve, priors, seed)
    server = _new_server(analysis, load, priors, seed)
    return Evidence(
        analysis=analysis,
        priors=priors,
        seed=seed,
        load=load,
        verdict=verdict,
        best=best,
        baseline=baseline,
        speedup=None if verdict is None else _scaled(_speedup_draws(verdict, bar, priors, rng, seed), factor),
        accept_length=length,
        break_even=break_even,
        curve=curve,
        sizes={samples: draws * factor for samples, draws in sizes.items()},
        sizes_break_even=None if sizes_bar is None else sizes_bar * server,
        sizes_prefill_fraction=analysis.scaling.prefill_fraction,
        new_server=server,
        overhead_saved=_overhead(analysis, priors, rng),
        untested=()
        if length is None or break_even is None or best is None
        else predict_untested(
            analysis, best=best, length=length, break_even=break_even, server=server, priors=priors, seed=seed
        ),
        mix_factor=factor,
    )


def _speedup_draws(
    verdict: LoadVerdict, bar: BreakEven | None, priors: Priors, rng: np.random.Generator, seed: int
) -> FloatArray | None:
    """Return draws of today's speed-up that share the noise of the two servers with the draws of break-even.

    A slow start of the candidate raises its break-even and lowers its speed-up, and one of the baseline does the
    opposite: what is predicted from the one is compared with the other.
    """
    own = log_normal_draws(verdict.speedup, priors.draws, rng)
    shared = 0.0 if bar is None else _shared(verdict, bar)
    if own is None or bar is None or not shared or verdict.speedup.value is None:
        return own
    servers = np.log(break_even_draws(bar, priors.draws, seed) / bar.value)
    logs = np.log(own / verdict.speedup.value)
    logs = math.sqrt(1 - shared**2) * logs - shared * servers * (_log_sd(verdict.speedup) / spread_of(bar).sd)
    return np.asarray(verdict.speedup.value * np.exp(logs), dtype=np.float64)


def _shared(verdict: LoadVerdict, bar: BreakEven) -> float:
    """Return the correlation of a break-even and a speed-up: both hold the servers, each has its own rounding."""
    both = math.fsum(part.sd**2 for part in bar.parts if part.name != "rounding")
    whole = math.fsum(part.sd**2 for part in bar.parts) * math.fsum(part.sd**2 for part in verdict.parts)
    return min(1.0, both / math.sqrt(whole)) if whole > 0 and both > 0 else 0.0


def _scaled(draws: FloatArray | None, factor: float) -> FloatArray | None:
    return None if draws is None else draws * factor


def _sizes(
    fit: ScalingFit, curve: Posterior | None, priors: Priors, seed: int
) -> tuple[dict[int, FloatArray], FloatArray | None]:
    if fit.status == "refused" or fit.break_even is None or not fit.points:
        return {}, None
    largest = max(point.samples for point in fit.points)
    offered = tuple(size for size in priors.data_sizes if largest < size <= priors.largest_multiple * largest)
    return lengths_at(curve, offered, seed), break_even_draws(fit.break_even, priors.draws, seed)


def noise_at(analysis: CampaignAnalysis, load: int | None, priors: Priors) -> LoadNoise:
    """Return the noise between servers at a load; the default where the analysis does not say."""
    default = LoadNoise(concurrency=load, sd=priors.between_run_fraction, df=math.inf, source="default")
    return next((item for item in analysis.noise if item.concurrency == load), default)


def _new_server(analysis: CampaignAnalysis, load: int | None, priors: Priors, seed: int) -> FloatArray:
    noise = noise_at(analysis, load, priors)
    # As wide as the 80 % range of Student's t: few servers say little about their spread.
    sd = noise.sd * quantile(HIGH_QUANTILE, noise.df) / Z80
    score = np.random.default_rng(seed + 61).standard_normal(priors.draws)
    return np.asarray(np.exp(sd * score), dtype=np.float64)


def _overhead(analysis: CampaignAnalysis, priors: Priors, rng: np.random.Generator) -> FloatArray | None:
    """Return draws of break-even saved: an unknown share of the fixed overhead, over the baseline's step."""
    fit = analysis.step_time
    if fit.fixed_ms.low is None or fit.fixed_ms.high is None or not fit.baseline_ms:
        return None
    lows = [fit.fixed_ms.low, *(low for _, _, low, _ in fit.alternatives)]
    highs = [fit.fixed_ms.high, *(high for _, _, _, high in fit.alternatives)]
    fixed = rng.uniform(min(lows), max(highs), priors.draws)
    share = rng.uniform(priors.overhead_saved_low_fraction, priors.overhead_saved_high_fraction, priors.draws)
    return np.asarray(fixed * share / fit.baseline_ms, dtype=np.float64)


def log_normal_draws(estimate: Estimate, count: int, rng: np.random.Generator) -> FloatArray | None:
    """Return draws of a positive estimate, log-normal around its value; None without one, the same scores used up."""
    score = rng.standard_normal(count)
    if estimate.value is None:
        return None
    return np.asarray(estimate.value * np.exp(_log_sd(estimate) * score), dtype=np.float64)


def _log_sd(estimate: Estimate) -> float:
    if estimate.low is None or estimate.high is None or not math.isfinite(estimate.high):
        return 0.0
    return math.log(estimate.high / estimate.low) / 2 / Z80


def _row(analysis: CampaignAnalysis, run_id: str | None, load: int | None) -> Point | None:
    return next((point for point in analysis.points if (point.run_id, point.concurrency) == (run_id, load)), None)


def _bar(analysis: CampaignAnalysis, best: Point) -> BreakEven | None:
    return next(
        (
            cost.break_even
            for cost in analysis.costs
            if cost.configuration == best.configuration and cost.concurrency == best.concurrency
        ),
        None,
    )
