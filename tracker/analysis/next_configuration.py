"""Which configuration to measure next: expected improvement over the best measured one, per GPU-hour.

Jones, Schonlau and Welch 1998 (Efficient Global Optimization), with the model of this campaign in place of a Gaussian
process. While fewer shapes are measured than the step-time model needs, what tells its parts apart comes first.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

import numpy as np
from scipy import stats

from tracker.analysis._forms import Chain
from tracker.analysis.baselines import Reference, references
from tracker.analysis.campaign import decision_load
from tracker.analysis.configurations import configurations
from tracker.analysis.costs import configuration_costs, length_estimate
from tracker.analysis.noise import BetweenRunNoise
from tracker.analysis.observations import Observation, observe
from tracker.analysis.posterior import Posterior, SizeMeasurement, sample
from tracker.analysis.priors import DEFAULT_PRIORS, Priors
from tracker.analysis.results import Configuration, Window
from tracker.analysis.scaling_points import distinct_samples, training_of
from tracker.analysis.search_model import (
    MeasuredLengths,
    MeasuredStep,
    Scores,
    Shape,
    carried,
    scores,
    shape_of,
    step_ratio_draws,
)
from tracker.analysis.selection import Selection, select
from tracker.analysis.uncertainty import HIGH_QUANTILE, FloatArray, quantile, summarise
from tracker.analysis.words import chance, size, streams
from tracker.domain.campaign import Campaign
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.estimate import Estimate
from tracker.domain.provenance import Provenance
from tracker.domain.record import RunRecord, StoredRun
from tracker.domain.server import ServerConfig, Speculation
from tracker.domain.training import Training

Stage = Literal["identify", "improve", "step time only"]

# Two shapes tell the fixed part of a step from the part that grows; a third only sharpens trees.
_SHAPES_NEEDED = 2
_FIRST_STEPS = 3
_Z80 = quantile(HIGH_QUANTILE, math.inf)


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Known:
    """What has been measured at the decision load."""

    load: int | None
    reference: Reference
    best_tok_s: float
    best_name: str
    steps: tuple[MeasuredStep, ...]
    lengths: Mapping[object, MeasuredLengths]
    curve: Posterior
    curve_shape: Shape
    has_curve: bool
    calibration: float
    """Measured tok/s over what length, step time and baseline give: 1 but for queues and prompts."""


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
    identify = _identifying(unmeasured, wanted, shapes, has_baseline=load in refs, where=where, priors=priors)
    luck = scores(priors.draws, seed)
    known = None if load not in refs else _known(observations, selection, refs, load, priors, seed)
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
    known: _Known | None,
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


def _identifying(
    unmeasured: Sequence[Unmeasured],
    wanted: Mapping[str, Configuration],
    shapes: set[Shape],
    *,
    has_baseline: bool,
    where: str,
    priors: Priors,
) -> dict[str, tuple[float, str]]:
    """Return, by name, what a server adds to the design per GPU-hour and why, while the design lacks rank."""
    found: dict[str, tuple[float, str]] = {}
    if not has_baseline:
        for item in unmeasured:
            if not item.speculation.enabled:
                words = f"no plain server is measured {where}: every comparison needs it"
                found[item.name] = (math.inf, words)
    candidates = {item.name: shape_of(wanted[item.name], priors) for item in unmeasured if item.speculation.enabled}
    hours = {item.name: item.gpu_hours for item in unmeasured}
    rows = _design(shapes)
    have = 0 if not shapes else int(np.linalg.matrix_rank(rows))
    reachable = int(np.linalg.matrix_rank(_design(shapes | set(candidates.values())))) if shapes or candidates else 0
    if have >= min(_SHAPES_NEEDED, reachable):
        return found
    for name, shape in candidates.items():
        if not shapes:
            # Published growth per step starts at a chain of three, so the first run stands close to it.
            near = 1 / (1 + abs(shape.num_steps - _FIRST_STEPS) + (0 if shape.is_chain else 1))
            words = f"nothing with speculation is measured {where}: {shape.words} gives a first step time"
            found[name] = (near / hours[name], words)
            continue
        row = _design({shape})[0]
        away = row - rows.T @ np.linalg.lstsq(rows.T, row, rcond=None)[0]
        gain = float(np.linalg.norm(away))
        if gain > 1e-9:
            words = (
                f"one shape tells only how long a whole step takes; {shape.words} beside "
                f"{min(shapes).words} tells the fixed part from the part that grows"
            )
            found[name] = (gain / hours[name], words)
    return found


def _design(shapes: set[Shape]) -> FloatArray:
    return np.array([[1.0, shape.num_draft_tokens - 1, shape.num_steps] for shape in sorted(shapes)]).reshape(-1, 3)


def _known(
    observations: Sequence[Observation],
    selection: Selection,
    refs: Mapping[int | None, Reference],
    load: int | None,
    priors: Priors,
    seed: int,
) -> _Known:
    reference = refs[load]
    base = reference.baseline
    costs = [cost for cost in configuration_costs(observations, refs, priors) if cost.concurrency == load]
    usable = [item for item in observations if item.contends and item.concurrency == load]
    best = max(usable, key=lambda item: (_speed(item), item.record.record_id))
    steps = tuple(
        MeasuredStep(
            configuration=cost.configuration,
            shape=shape_of(cost.configuration, priors),
            ratio=cost.break_even.value,
            log_sd=reference.noise.sd / math.sqrt(max(1, len(cost.run_ids) - 1)),
        )
        for cost in costs
    )
    served = [item for item in usable if item.speculative and item.length is not None]
    bars = {cost.configuration.label: cost.break_even.value for cost in costs}
    factors = [
        math.log(_speed(item) / (_speed(base) * item.length.value / bars[item.configuration.label]))
        for item in served
        if item.length is not None and item.configuration.label in bars
    ]
    curve, curve_shape, has_curve = _curve(served, selection, priors, seed)
    return _Known(
        load=load,
        reference=reference,
        best_tok_s=_speed(best),
        best_name=best.record.name,
        steps=steps,
        lengths=_lengths(served, priors),
        curve=curve,
        curve_shape=curve_shape,
        has_curve=has_curve,
        calibration=math.exp(math.fsum(factors) / len(factors)) if factors else 1.0,
    )


def _speed(item: Observation) -> float:
    return 0.0 if item.throughput is None else item.throughput.value


def _lengths(served: Sequence[Observation], priors: Priors) -> dict[object, MeasuredLengths]:
    groups: dict[object, dict[Shape, list[Observation]]] = defaultdict(lambda: defaultdict(list))
    for item in served:
        name = None if item.record.drafter is None else item.record.drafter.name
        groups[(item.configuration.algorithm, name)][shape_of(item.configuration, priors)].append(item)
    found: dict[object, MeasuredLengths] = {}
    for key, by_shape in groups.items():
        pooled = {shape: _pooled(members, priors) for shape, members in by_shape.items()}
        found[key] = MeasuredLengths(
            by_shape={shape: value for shape, (value, _) in pooled.items()},
            log_sd={shape: sd for shape, (_, sd) in pooled.items()},
        )
    return found


def _pooled(members: Sequence[Observation], priors: Priors) -> tuple[float, float]:
    """Return the mean accept length of runs of one drafter and shape, and its relative standard deviation."""
    estimates = [length_estimate(item, priors) for item in members]
    values = [part.value for part in estimates if part.value is not None]
    spreads = [
        math.log(part.high / part.low) / 2 / _Z80
        for part in estimates
        if part.high is not None and part.low is not None
    ]
    return math.fsum(values) / len(values), max(spreads, default=0.0)


def _curve(
    served: Sequence[Observation], selection: Selection, priors: Priors, seed: int
) -> tuple[Posterior, Shape, bool]:
    """Return the curve over training sizes of the shape that served most of them; the prior where none did."""
    sizes: dict[Shape, dict[int, list[Observation]]] = defaultdict(lambda: defaultdict(list))
    for item in served:
        training = training_of(item.record, selection.trainings)
        samples = None if training is None else distinct_samples(training)
        if samples:
            sizes[shape_of(item.configuration, priors)][samples].append(item)
    shape = max(sizes, key=lambda found: (len(sizes[found]), found), default=None)
    measured = []
    for samples, members in sorted(sizes[shape].items()) if shape is not None else ():
        length, log_sd = _pooled(members, priors)
        measured.append(SizeMeasurement(samples=samples, length=length, se=log_sd * length))
    depth = priors.assumed_num_steps if shape is None else shape.num_steps
    chain = Chain(num_steps=depth, max_acceptance=priors.acceptance_ceiling, max_length=depth + 1.0)
    curve = sample(measured, chain=chain, priors=priors, seed=seed)
    if shape is None:
        shape = Shape(num_steps=depth, num_draft_tokens=depth + 1, eagle_topk=1)
    return curve, shape, bool(measured)


def _tok_s(
    item: Unmeasured, configuration: Configuration, known: _Known, priors: Priors, luck: Scores
) -> tuple[FloatArray | None, str]:
    """Return draws of output tok/s with what they rest on; None where nothing carries a prediction."""
    base = _speed(known.reference.baseline)
    if not item.speculation.enabled:
        return base * np.exp(priors.other_flags_log_sd * luck.family), "a plain server with other flags"
    if item.speculation.simulated_accept_length is not None or not known.steps:
        return None, ""
    ratio, basis = step_ratio_draws(configuration, known.steps, priors, luck)
    shape = shape_of(configuration, priors)
    name = None if item.drafter is None else item.drafter.name
    lengths = known.lengths.get((configuration.algorithm, name))
    if lengths is not None:
        words = (
            "accept length measured" if shape in lengths.by_shape else "accept length from its drafter's other shapes"
        )
        return base * known.calibration * lengths.draws(shape, priors, luck) / ratio, f"{basis}, {words}"
    samples = None if item.training is None else distinct_samples(item.training)
    order = np.argsort(np.argsort(luck.length))
    drawn = np.sort(known.curve.lengths(samples or priors.reference_samples))
    if samples is None or not known.has_curve:
        words = "accept length from the prior, nothing of its drafter is known"
    else:
        words = f"accept length from the curve over training sizes at {size(samples)} samples"
    around = drawn[order] + priors.tau * luck.breadth
    length = carried(around, known.curve_shape, shape, priors, luck)
    return base * known.calibration * length / ratio, f"{basis}, {words}"


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
        provenance=Provenance(logged_at=datetime.max.replace(tzinfo=UTC), tracker_version=""),
    )
    return StoredRun(run_id=_key(item), record=record)


def _all_time(runs: Sequence[StoredRun]) -> Window:
    times = [run.record.provenance.logged_at for run in runs]
    start = min(times, default=datetime.min.replace(tzinfo=UTC))
    return Window(since=start, until=max(times, default=start) + timedelta(seconds=1))
