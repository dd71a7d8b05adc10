"""Which configuration to measure next: expected improvement over the best measured one, per GPU-hour.

Jones, Schonlau and Welch 1998 (Efficient Global Optimization), with the model of this campaign in place of a Gaussian
process. While fewer shapes are measured than the step-time model needs, what tells its parts apart comes first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

import numpy as np
from scipy import stats

from tracker.analysis.baselines import references
from tracker.analysis.campaign import decision_load
from tracker.analysis.configurations import configurations
from tracker.analysis.noise import BetweenRunNoise
from tracker.analysis.observations import observe
from tracker.analysis.priors import DEFAULT_PRIORS, Priors
from tracker.analysis.results import Configuration, Window
from tracker.analysis.scaling_points import distinct_samples
from tracker.analysis.search_design import identifying
from tracker.analysis.search_known import Known, known_at
from tracker.analysis.search_model import Scores, Shape, scores, shape_of
from tracker.analysis.selection import select
from tracker.analysis.uncertainty import FloatArray, summarise
from tracker.analysis.words import chance, streams
from tracker.domain.campaign import Campaign
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.estimate import Estimate
from tracker.domain.provenance import Provenance
from tracker.domain.record import RunRecord, StoredRun
from tracker.domain.server import ServerConfig, Speculation
from tracker.domain.training import Training

Stage = Literal["identify", "improve", "step time only"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmeasured:
    """A server that could be measured next."""

    name: str
    """Unique name, as the sweep calls it."""
    gpu_hours: float
    """Price of measuring it, start included, above 0."""
    speculation: Speculation
    """What its flags say about speculation."""
    server: ServerConfig | None = None
    """Its flags, as far as known before it starts."""
    cuda_graph: bool | None = None
    """Whether it will decode in CUDA graphs, where known."""
    drafter: Checkpoint | None = None
    """Its drafter, under the name that measured runs carry."""
    training: Training | None = None
    """Data of the drafter."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """What its record will say about how it was launched."""

    def __post_init__(self) -> None:
        """Refuse a price that gives no gain per GPU-hour.

        Raises:
            ValueError: `gpu_hours` is not above 0.
        """
        if not self.gpu_hours > 0:
            raise ValueError(f"{self.name}: gpu_hours must be above 0, not {self.gpu_hours}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NextConfiguration:
    """One configuration in the order in which measuring pays."""

    name: str
    """As in `Unmeasured`."""
    stage: Stage
    """identify: measured for the model's sake; improve: for its own expected speed."""
    gpu_hours: float
    """Price of measuring it."""
    expected_tok_s: Estimate
    """Predicted output tok/s at the decision load as one start would measure it, 80 %."""
    p_improves: float | None
    """Chance that it is faster, noise between starts apart, than everything measured; None when not predictable."""
    improvement_tok_s: float | None
    """Expected improvement over the fastest measured one: mean of what it gains, nothing where it loses."""
    improvement_per_gpu_hour: float | None
    """The same per GPU-hour of measuring."""
    reason: str
    """Why it stands here, in one sentence."""


def next_configurations(
    runs: Sequence[StoredRun],
    unmeasured: Sequence[Unmeasured],
    *,
    campaign: Campaign,
    priors: Priors = DEFAULT_PRIORS,
    seed: int = 0,
) -> tuple[NextConfiguration, ...]:
    """Return the unmeasured servers, the one to measure next first; the same input gives the same order.

    Only the decision load counts. Runs that findings void are left out, simulated acceptance serves step time.

    Args:
        runs: Everything measured so far, per-request rows not needed.
        unmeasured: Servers to choose from, the plain one included where it was not measured.
        campaign: Its decision load.
        priors: Assumptions.
        seed: Seed of the draws.
    """
    selection = select(runs, window=_all_time(runs))
    flags = configurations([*selection.kept, *(_as_run(item) for item in unmeasured)])
    observations = observe(selection.kept, flags)
    refs = references(observations, wanted=None, priors=priors)
    load = decision_load(observations, refs, campaign)
    shapes = {
        shape_of(item.configuration, priors)
        for item in observations
        if item.speculative and item.times_steps and item.concurrency == load
    }
    wanted = {item.name: flags[_key(item)] for item in unmeasured}
    where = f"at {streams(load)}" if observations or load is not None else "yet"
    identify = _identify(unmeasured, wanted, shapes, has_baseline=load in refs, where=where, priors=priors)
    luck = scores(priors.draws, seed)
    known = None if load not in refs else known_at(observations, selection, refs, load, priors, seed)
    found = []
    for item in unmeasured:
        draws, basis = (None, "") if known is None else _tok_s(item, wanted[item.name], known, priors, luck)
        found.append(_assessed(item, draws, basis, known, identify.get(item.name), luck))
    gains = {name: gain for name, (gain, _) in identify.items()}
    return tuple(sorted(found, key=lambda item: _order(item, gains)))


def _order(item: NextConfiguration, gains: Mapping[str, float]) -> tuple[int, float, float, str]:
    stages: tuple[Stage, ...] = ("identify", "improve", "step time only")
    gain = item.improvement_per_gpu_hour
    return (stages.index(item.stage), -gains.get(item.name, 0.0), 0.0 if gain is None else -gain, item.name)


def _assessed(
    item: Unmeasured,
    draws: FloatArray | None,
    basis: str,
    known: Known | None,
    identify: tuple[float, str] | None,
    luck: Scores,
) -> NextConfiguration:
    if draws is None or known is None:
        reason = "simulated acceptance shows a step time and no speed"
        if identify is not None or item.speculation.simulated_accept_length is None:
            reason = "nothing to predict it from" if identify is None else identify[1]
        return NextConfiguration(
            name=item.name,
            stage="step time only" if identify is None else "identify",
            gpu_hours=item.gpu_hours,
            expected_tok_s=Estimate(reason=reason),
            p_improves=None,
            improvement_tok_s=None,
            improvement_per_gpu_hour=None,
            reason=_sentence(reason),
        )
    gain = float(np.maximum(draws - known.best_tok_s, 0.0).mean())
    better = float((draws > known.best_tok_s).mean())
    expected = summarise(draws * _of_a_start(known.reference.noise, luck))
    words = (
        f"predicted {expected.value:.0f} tok/s ({expected.low:.0f} to {expected.high:.0f}) against "
        f"{known.best_tok_s:.0f} of {known.best_name}, the fastest so far at {streams(known.load)}: chance "
        f"{chance(better)} to be faster; {basis}"
    )
    return NextConfiguration(
        name=item.name,
        stage="improve" if identify is None else "identify",
        gpu_hours=item.gpu_hours,
        expected_tok_s=expected,
        p_improves=better,
        improvement_tok_s=gain,
        improvement_per_gpu_hour=gain / item.gpu_hours,
        reason=_sentence(words if identify is None else identify[1]),
    )


def _of_a_start(noise: BetweenRunNoise, luck: Scores) -> FloatArray:
    """Return draws of what one start of a server makes of its speed: noise between starts, as far as it is known."""
    spread = luck.process if math.isinf(noise.df) else stats.t.ppf(stats.norm.cdf(luck.process), noise.df)
    return np.asarray(np.exp(noise.sd * spread), dtype=np.float64)


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _tok_s(
    item: Unmeasured, configuration: Configuration, known: Known, priors: Priors, luck: Scores
) -> tuple[FloatArray | None, str]:
    """Return draws of output tok/s with what they rest on; None where nothing carries a prediction."""
    if not item.speculation.enabled:
        draws = known.base_tok_s * np.exp(priors.other_flags_log_sd * luck.family)
        return np.asarray(draws, dtype=np.float64), "a plain server with other flags"
    if item.speculation.simulated_accept_length is not None or not known.steps:
        return None, ""
    return known.predicted(
        configuration,
        drafter=None if item.drafter is None else item.drafter.name,
        samples=None if item.training is None else distinct_samples(item.training),
        priors=priors,
        luck=luck,
    )


def _identify(
    unmeasured: Sequence[Unmeasured],
    wanted: Mapping[str, Configuration],
    measured: set[Shape],
    *,
    has_baseline: bool,
    where: str,
    priors: Priors,
) -> dict[str, tuple[float, str]]:
    """Return, by name, what a server is worth per GPU-hour for the model's sake, and why."""
    plain = (
        {}
        if has_baseline
        else {
            item.name: (math.inf, f"no plain server is measured {where}: every comparison needs it")
            for item in unmeasured
            if not item.speculation.enabled
        }
    )
    candidates = {
        item.name: (shape_of(wanted[item.name], priors), item.gpu_hours)
        for item in unmeasured
        if item.speculation.enabled
    }
    return plain | identifying(candidates, measured, where=where)


def _key(item: Unmeasured) -> str:
    return f"unmeasured:{item.name}"


def _as_run(item: Unmeasured) -> StoredRun:
    """Return the server as a run without measurements, so that its flags are told apart from the measured ones'."""
    record = RunRecord(
        record_id=_key(item),
        kind="benchmark",
        experiment="",
        name=item.name,
        speculation=item.speculation,
        server=item.server,
        cuda_graph=item.cuda_graph,
        tags=item.tags,
        provenance=Provenance(logged_at=datetime.max.replace(tzinfo=UTC), tracker_version=""),
    )
    return StoredRun(run_id=_key(item), record=record)


def _all_time(runs: Sequence[StoredRun]) -> Window:
    times = [run.record.provenance.logged_at for run in runs]
    start = min(times, default=datetime.min.replace(tzinfo=UTC))
    return Window(since=start, until=max(times, default=start) + timedelta(seconds=1))
