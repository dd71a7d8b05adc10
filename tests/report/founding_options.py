"""The options of the founding campaign, made by hand."""

from __future__ import annotations

from tests.report.founding import PLAIN, spec
from tracker.analysis.results import (
    DecisionSet,
    HorizonChoice,
    NextExperiment,
    OptionAssessment,
    PriorSensitivity,
)
from tracker.domain.estimate import Estimate


def _option(
    key: str,
    title: str,
    tok_s: float,
    chance: float | None,
    cost: float,
    net: tuple[float, float | None, float | None],
    pay_back: float | None,
    rank: int,
    **changes: object,
) -> OptionAssessment:
    values: dict[str, object] = {
        "configuration": spec(5, True).label,
        "concurrency": 1,
        "p_beats_baseline": chance,
        "expected_tok_s": Estimate(value=tok_s),
        "cost_gpu_hours": cost,
        "net_gpu_hours": Estimate(value=net[0], low=net[1], high=net[2]),
        "pay_back_days": pay_back,
        "rank": rank,
    }
    return OptionAssessment(key=key, title=title, **(values | changes))  # type: ignore[arg-type]


def founding_decision(**changes: object) -> DecisionSet:
    """The founding options."""
    overhead_why = "a second run with top-k 1 that shows the overhead is gone already"
    values: dict[str, object] = {
        "options": (
            _option(
                "overhead_and_data_300000",
                "Cut overhead, train 300K",
                122.5,
                0.94,
                790,
                (3454, 91, 6259),
                16,
                1,
                evidence="overhead fitted on three runs; slope from published drafters",
                would_change="use for 30 days or less, or half the assumed slope: then B leads",
            ),
            _option("overhead_and_data_100000", "Cut overhead, train 100K", 114.0, 0.94, 290, (3118, 314, 5587), 7, 2),
            _option("more_data_300000", "Train 300K", 109.4, 0.85, 750, (2160, -750, 4886), 22, 3),
            _option("more_data_600000", "Train 600K", 113.5, 0.86, 1500, (1852, -1500, 4786), 38, 4),
            _option("more_data_100000", "Train 100K", 101.8, 0.80, 250, (1751, -250, 4035), 11, 5),
            _option("overhead", "Cut overhead only", 92.2, 0.58, 40, (624, -40, 1828), 9, 6, would_change=overhead_why),
            _option("more_data_30000", "Train 30K", 92.2, 0.60, 75, (616, -75, 1908), 16, 7),
            _option(
                "keep_baseline",
                "Keep the baseline",
                90.0,
                None,
                0,
                (0, None, None),
                None,
                8,
                configuration=PLAIN.label,
                evidence="measured, nothing is spent",
            ),
            _option(
                "deploy_best",
                "Deploy today's drafter",
                82.3,
                0.0,
                0,
                (-1617, None, None),
                None,
                9,
                evidence="measured, nothing is spent",
            ),
        ),
        "next_experiment": NextExperiment(
            title="Benchmark a chain of 3 with overlap scheduling",
            why=(
                "If it wins, the 40 GPU-hours for overhead are not needed. If not, it shows how much of the 7.6 ms "
                "belongs to the tree."
            ),
            flags=("--speculative-num-steps 3", "--speculative-eagle-topk 1", "--speculative-num-draft-tokens 4"),
            cost_gpu_hours=0.8,
            net_value_gpu_hours=None,
            p_success=0.5,
            p_is_judgement=True,
            do_not_test=(
                "8 or 10 draft tokens: predicted 80.6 and 79.2 tok/s, no chance to beat 90.0 at any plausible "
                "acceptance.",
            ),
        ),
        "horizons": (
            HorizonChoice(
                days=7, option_key="overhead_and_data_30000", title="Cut overhead, train 30K", net_gpu_hours=50
            ),
            HorizonChoice(
                days=14, option_key="overhead_and_data_100000", title="Cut overhead, train 100K", net_gpu_hours=240
            ),
            HorizonChoice(
                days=30, option_key="overhead_and_data_100000", title="Cut overhead, train 100K", net_gpu_hours=850
            ),
            HorizonChoice(
                days=90, option_key="overhead_and_data_300000", title="Cut overhead, train 300K", net_gpu_hours=3454
            ),
        ),
        "sensitivity": (
            PriorSensitivity(
                label="slope prior halved",
                option_key="overhead_and_data_100000",
                title="Cut overhead, train 100K",
                changes=True,
            ),
            PriorSensitivity(
                label="slope prior doubled",
                option_key="overhead_and_data_300000",
                title="Cut overhead, train 300K",
                changes=False,
            ),
        ),
        "evpi_gpu_hours": 159,
    }
    return DecisionSet(**(values | changes))  # type: ignore[arg-type]
