"""The H200 campaign as an analysis made by hand: verdicts differ by load, fits are refused, the vocabulary may matter.

Throughputs and accept lengths are the measured ones; intervals follow from step times of one configuration that differ
by half between servers. Step times are accept length over throughput per stream.
"""

from __future__ import annotations

from datetime import UTC, datetime

from tests.report.founding import WRONG_FLAG
from tracker.analysis.results import (
    AcceptanceProfile,
    BreakEven,
    CampaignAnalysis,
    CategoryAcceptance,
    Configuration,
    ConfigurationCost,
    DecisionSet,
    LoadVerdict,
    NextExperiment,
    Note,
    OptionAssessment,
    Point,
    PositionAcceptance,
    RootCause,
    ScalingFit,
    ScalingPoint,
    SharedFinding,
    StepTimeFit,
    Verdict,
    VocabularyCeiling,
    Window,
)
from tracker.domain.campaign import Campaign, Costs
from tracker.domain.estimate import Estimate
from tracker.domain.workload import Hardware

LOADS = (1, 8, 32)
BASE = {1: 527.7, 8: 3783.6, 32: 14296.3}
NOISE = {1: 0.08, 8: 0.11, 32: 0.08}  # half an 80 % interval, relative: the spread between servers


def chain(steps: int) -> Configuration:
    """A chain with CUDA graph."""
    return Configuration(
        label=f"EAGLE3 {steps}-1-{steps + 1}",
        speculative=True,
        algorithm="EAGLE3",
        num_steps=steps,
        eagle_topk=1,
        num_draft_tokens=steps + 1,
        cuda_graph=True,
    )


TREE = Configuration(
    label="EAGLE3 3-4-16",
    speculative=True,
    algorithm="EAGLE3",
    num_steps=3,
    eagle_topk=4,
    num_draft_tokens=16,
    cuda_graph=True,
)
PLAIN = Configuration(label="no speculation", speculative=False, cuda_graph=True)
PLAIN_NO_GRAPH = Configuration(label="no speculation, no CUDA graph", speculative=False, cuda_graph=False)
WRONG = Configuration(
    label="EAGLE 3-1-4",
    speculative=True,
    algorithm="EAGLE",
    num_steps=3,
    eagle_topk=1,
    num_draft_tokens=4,
    cuda_graph=True,
)
# run id, name, configuration, samples, tok/s by load, accept length by load
SERVERS = (
    ("d100000", "eagle3-d100000-3-1-4", chain(3), 100_000, (696.0, 4078.2, 9750.8), (3.034, 3.096, 3.073)),
    ("d10000", "eagle3-d10000-3-1-4", chain(3), 10_000, (634.7, 4171.6, 12775.3), (2.98, 3.0, 2.99)),
    ("d1000", "eagle3-d1000-3-1-4", chain(3), 1_000, (438.5, 2510.2, 8555.7), (1.597, 1.6, 1.6)),
    ("d100", "eagle3-d100-3-1-4", chain(3), 100, (330.1, 1956.7, 5354.8), (1.367, 1.37, 1.37)),
    ("two", "eagle3-d100000-2-1-3", chain(2), 100_000, (498.7, 2362.2, 8283.0), (2.527, 2.53, 2.53)),
    ("tree", "eagle3-d100000-3-4-16", TREE, 100_000, (480.7, 2332.1, 4016.0), (3.467, 3.47, 3.47)),
)


def _row(server: tuple[object, ...], index: int) -> Point:
    run_id, name, configuration, samples, speeds, lengths = server
    load, speed, length = LOADS[index], speeds[index], lengths[index]  # type: ignore[index]
    assert isinstance(configuration, Configuration)
    ratio, noise = speed / BASE[load], NOISE[load]
    bar = length / ratio
    steps = configuration.num_steps or 0
    return Point(
        run_id=str(run_id),
        name=str(name),
        role="candidate",
        configuration=configuration,
        concurrency=load,
        drafter=f"eagle3-{samples}",
        samples=int(str(samples)),
        throughput_tok_s=Estimate(value=speed, low=speed * (1 - noise), high=speed * (1 + noise)),
        accept_length=Estimate(value=length, low=length - 0.04, high=length + 0.04),
        accept_rate=(length - 1) / steps,
        step_time_ms=Estimate(
            value=1000 * load * length / speed,
            low=1000 * load * length / speed * (1 - noise),
            high=1000 * load * length / speed * (1 + noise),
        ),
        speedup=Estimate(value=ratio, low=ratio * (1 - noise), high=ratio * (1 + noise)),
        break_even=BreakEven(
            value=bar, low=bar * (1 - noise), high=bar * (1 + noise), rounding_low=None, rounding_high=None
        ),
        needs_fraction=1 / ratio - 1,
        reachable=bar <= steps + 1,
        prompts=19 if load == 1 else 80,
        requests=19 if load == 1 else 160,
    )


def _plain(run_id: str, name: str, configuration: Configuration, speeds: tuple[float, ...], index: int) -> Point:
    load, speed = LOADS[index], speeds[index]
    return Point(
        run_id=run_id,
        name=name,
        role="baseline",
        configuration=configuration,
        concurrency=load,
        throughput_tok_s=Estimate(value=speed, low=speed * 0.94, high=speed * 1.06),
        step_time_ms=Estimate(value=1000 * load / speed, low=940 * load / speed, high=1060 * load / speed),
        speedup=Estimate(value=speed / BASE[load]),
        prompts=19 if load == 1 else 80,
    )


def _void(index: int) -> Point:
    speeds = (214.9, 1709.6, 6666.4)
    return Point(
        run_id="wrong",
        name="eagle-wrong-flag-d100000-3-1-4",
        role="candidate",
        configuration=WRONG,
        concurrency=LOADS[index],
        drafter="eagle3-100000",
        samples=100_000,
        throughput_tok_s=Estimate(value=speeds[index]),
        accept_length=Estimate(value=1.006, low=1.004, high=1.008),
        speedup=Estimate(value=speeds[index] / BASE[LOADS[index]]),
        excluded_reason="wrong flag: EAGLE for an EAGLE-3 drafter",
    )


def points() -> tuple[Point, ...]:
    """Every server at every load."""
    rows: list[Point] = []
    for index, _ in enumerate(LOADS):
        rows.append(_plain("base", "baseline", PLAIN, tuple(BASE.values()), index))
        rows.append(_plain("base-ng", "baseline-nograph", PLAIN_NO_GRAPH, (138.8, 901.3, 4264.3), index))
        rows.extend(sorted((_row(server, index) for server in SERVERS), key=lambda p: -(p.throughput_tok_s.value or 0)))
        rows.append(_void(index))
    return tuple(rows)


def _verdicts() -> tuple[LoadVerdict, ...]:
    best = {1: ("d100000", "faster"), 8: ("d10000", "undecided"), 32: ("d10000", "slower")}
    speeds = {server[0]: server[4] for server in SERVERS}
    verdicts = []
    for index, load in enumerate(LOADS):
        run_id, status = best[load]
        ratio = speeds[run_id][index] / BASE[load]
        verdicts.append(
            LoadVerdict(
                concurrency=load,
                status=status,  # type: ignore[arg-type]
                best_run_id=run_id,
                baseline_run_id="base",
                speedup=Estimate(value=ratio, low=ratio * (1 - NOISE[load]), high=ratio * (1 + NOISE[load])),
                smallest_detectable=2 * NOISE[load],
                reason="the interval carries the spread of step times between servers of one configuration",
                prompts_in_common=19 if load == 1 else 80,
            )
        )
    return tuple(verdicts)


def _costs(rows: tuple[Point, ...]) -> tuple[ConfigurationCost, ...]:
    seen: dict[tuple[str, int | None], ConfigurationCost] = {}
    for point in rows:
        if point.break_even is None:
            continue
        key = (point.configuration.label, point.concurrency)
        seen.setdefault(
            key,
            ConfigurationCost(
                configuration=point.configuration,
                concurrency=point.concurrency,
                break_even=point.break_even,
                step_time_ms=point.step_time_ms,
                baseline_step_time_ms=Estimate(value=1000 * (point.concurrency or 1) / BASE[point.concurrency or 1]),
                run_ids=(point.run_id, "base"),
                between_run_fraction=0.18 if point.configuration == chain(3) else None,
                best_accept_length=point.accept_length,
                reachable=point.reachable,
            ),
        )
    return tuple(seen.values())


def _acceptance() -> AcceptanceProfile:
    categories = (
        ("torch", 3.25, 35),
        ("stdlib", 3.25, 30),
        ("pandas", 3.22, 22),
        ("sympy", 3.18, 24),
        ("scipy", 3.12, 20),
        ("transformers", 2.88, 28),
        ("jax", 2.76, 18),
    )
    conditional = (0.83, 0.79, 0.76)
    unconditional = (0.83, 0.66, 0.5)
    return AcceptanceProfile(
        run_id="d100000",
        configuration=chain(3),
        per_position=tuple(
            PositionAcceptance(
                position=index + 1,
                unconditional=Estimate(value=unconditional[index]),
                conditional=Estimate(value=value, low=value - 0.02, high=value + 0.02),
            )
            for index, value in enumerate(conditional)
        ),
        per_category=tuple(
            CategoryAcceptance(
                category=name,
                accept_length=Estimate(value=value, low=value - 0.06, high=value + 0.06),
                requests=requests,
            )
            for name, value, requests in categories
        ),
        vocabulary=VocabularyCeiling(
            coverage_fraction=0.939,
            max_accept_length=3.65,
            rejections_explained_fraction=0.31,
            max_gain_tokens=0.33,
            is_lever=True,
        ),
    )


def h200(**changes: object) -> CampaignAnalysis:
    """The H200 campaign."""
    rows = points()
    values: dict[str, object] = {
        "campaign": Campaign(
            name="h200-tiny-llama",
            title="30M-parameter Llama with EAGLE-3 drafter, 1 × H200",
            question="At which load does the drafter pay?",
            deployed="the baseline",
            deployed_run="baseline",
            costs=Costs(gpus=1, horizon_days=90),
        ),
        "window": Window(since=datetime(2026, 11, 29, tzinfo=UTC), until=datetime(2026, 12, 1, tzinfo=UTC)),
        "hardware": Hardware(gpu="H200", gpu_count=1),
        "points": rows,
        "rejected": (),
        "costs": _costs(rows),
        "verdict": Verdict(
            status="mixed",
            scope="the prompts in common, 1, 8 and 32 streams, 1 x H200",
            decision_concurrency=None,
            by_concurrency=_verdicts(),
        ),
        "root_cause": RootCause(
            finding=WRONG_FLAG,
            run_ids=("wrong",),
            fixed=True,
            fixed_run_id="d100000",
            accept_length_before=Estimate(value=1.006, low=1.004, high=1.008),
            accept_length_after=Estimate(value=3.034, low=2.99, high=3.07),
        ),
        "findings": (SharedFinding(finding=WRONG_FLAG, run_ids=("wrong",)),),
        "step_time": StepTimeFit(
            status="refused",
            rank=3,
            concurrency=1,
            reason="step times of one configuration range from 3.6 to 5.6 ms between servers, more than the parts",
            cure="measure each configuration twice on an idle machine, the baseline in between",
            run_ids=("d100000", "d10000", "d1000", "d100"),
        ),
        "acceptance": _acceptance(),
        "scaling": ScalingFit(
            status="refused",
            reason=(
                "training steps grew with the data: 120, 156, 1,200 and 1,200 for 100, 1,000, 10,000 and 100,000 "
                "samples, so more data and more training cannot be told apart"
            ),
            cure="retrain the two small sizes for 1,200 steps, about 2 GPU-minutes",
            configuration=chain(3),
            concurrency=1,
            points=tuple(
                ScalingPoint(
                    samples=samples,
                    accept_length=Estimate(value=value, low=value - 0.04, high=value + 0.04),
                    run_id=run_id,
                    optimizer_steps=steps,
                )
                for samples, value, run_id, steps in (
                    (100, 1.367, "d100", 120),
                    (1_000, 1.597, "d1000", 156),
                    (10_000, 2.98, "d10000", 1200),
                    (100_000, 3.034, "d100000", 1200),
                )
            ),
            break_even=next(p.break_even for p in rows if p.run_id == "d100000"),
        ),
        "data_quality": (
            Note(
                topic="Noise between runs",
                message="Step times of one configuration differ by half between servers: 3.6 to 5.6 ms at 1 stream.",
                run_ids=("d100000", "d10000", "d1000", "d100"),
            ),
            Note(topic="Prompts in common", message="19 of 80 prompts were answered by both runs at 1 stream."),
        ),
    }
    return CampaignAnalysis(**(values | changes))  # type: ignore[arg-type]


def h200_decision(**changes: object) -> DecisionSet:
    """The H200 options: little can be valued."""
    values: dict[str, object] = {
        "options": (
            OptionAssessment(
                key="deploy_best",
                title="Deploy the 100K drafter at 1 stream",
                configuration=chain(3).label,
                concurrency=1,
                p_beats_baseline=0.99,
                expected_tok_s=Estimate(value=696.0, low=640, high=752),
                cost_gpu_hours=0,
                net_gpu_hours=Estimate(value=523, low=390, high=640),
                pay_back_days=None,
                rank=1,
                evidence="measured at 1 stream",
            ),
            OptionAssessment(
                key="keep_baseline",
                title="Keep the baseline",
                configuration=PLAIN.label,
                concurrency=1,
                expected_tok_s=Estimate(value=527.7),
                cost_gpu_hours=0,
                net_gpu_hours=Estimate(value=0),
                rank=2,
            ),
            OptionAssessment(
                key="larger_draft_vocabulary",
                title="Train with the full vocabulary",
                unvalued_reason="the cost of training is not in campaign.toml",
                evidence="0.939 of tokens are covered; the rest explains up to 31 % of rejections",
            ),
        ),
        "next_experiment": NextExperiment(
            title="Repeat 8 streams five times with the baseline in between",
            why="The lead at 8 streams is smaller than the spread between servers.",
            flags=("tracker sweep experiments/h200-tiny-llama --concurrency 8 --repeats 5",),
            cost_gpu_hours=0.2,
            net_value_gpu_hours=None,
        ),
    }
    return DecisionSet(**(values | changes))  # type: ignore[arg-type]
