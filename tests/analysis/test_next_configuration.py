"""The order in which a search measures: what it knows, what it says, and that it beats the order of a grid."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.builders import BASE, chain, run
from tests.analysis.campaigns import FOUNDING
from tracker.analysis.acceptance import decaying_length
from tracker.analysis.next_configuration import NextConfiguration, Unmeasured, next_configurations
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.record import StoredRun
from tracker.domain.server import ServerConfig, Speculation
from tracker.domain.training import Training

CAMPAIGN = dataclasses.replace(FOUNDING, claims=(), deployed_run=None)
PLAIN = Unmeasured(name="plain", gpu_hours=0.5, speculation=Speculation(enabled=False))


def shaped(steps: int, topk: int = 1, tokens: int | None = None, algorithm: str = "EAGLE3") -> Speculation:
    return Speculation(
        enabled=True,
        algorithm=algorithm,
        num_steps=steps,
        eagle_topk=topk,
        num_draft_tokens=steps + 1 if tokens is None else tokens,
    )


def waiting(name: str, speculation: Speculation, **fields: Any) -> Unmeasured:
    return Unmeasured(name=name, speculation=speculation, **{"gpu_hours": 0.5, **fields})


def trained(samples: int) -> dict[str, Any]:
    return {"drafter": Checkpoint(name=f"drafter-{samples}"), "training": Training(samples=samples)}


def ranked(runs: Sequence[StoredRun], unmeasured: Sequence[Unmeasured]) -> tuple[NextConfiguration, ...]:
    return next_configurations(runs, unmeasured, campaign=CAMPAIGN)


def names(found: Sequence[NextConfiguration]) -> list[str]:
    return [item.name for item in found]


def test_without_any_run_the_plain_server_comes_first_and_nothing_is_predicted() -> None:
    found = ranked((), [waiting("three", shaped(3)), PLAIN])

    assert names(found) == ["plain", "three"]
    assert {item.stage for item in found} == {"identify"}
    assert all(item.expected_tok_s.value is None and item.improvement_tok_s is None for item in found)
    assert found[0].reason == "No plain server is measured at 1 stream: every comparison needs it."
    anywhere = next_configurations((), [PLAIN], campaign=dataclasses.replace(FOUNDING, decision_concurrency=None))
    assert anywhere[0].reason == "No plain server is measured yet: every comparison needs it."


def test_the_first_speculative_run_is_the_chain_nearest_to_where_published_growth_starts() -> None:
    found = ranked([BASE], [waiting("seven", shaped(7)), waiting("three", shaped(3)), waiting("five", shaped(5))])

    assert found[0].name == "three"
    assert "nothing with speculation is measured at 1 stream" in found[0].reason.lower()


def test_with_one_shape_the_one_that_tells_the_parts_of_a_step_apart_comes_before_equal_shapes() -> None:
    runs = [BASE, chain("three", 3, speed="100.0", length="2.40")]
    found = ranked(runs, [waiting("again", shaped(3)), waiting("four", shaped(4)), waiting("seven", shaped(7))])

    assert [(item.name, item.stage) for item in found] == [
        ("seven", "identify"),
        ("four", "identify"),
        ("again", "improve"),
    ]
    assert "tells the fixed part from the part that grows" in found[0].reason


def test_a_dear_run_for_the_model_comes_after_a_cheap_one() -> None:
    runs = [BASE, chain("three", 3, speed="100.0", length="2.40")]
    found = ranked(runs, [waiting("seven", shaped(7), gpu_hours=9.0), waiting("five", shaped(5), gpu_hours=0.5)])

    assert names(found) == ["five", "seven"]


def test_with_two_shapes_the_order_is_expected_improvement_per_gpu_hour() -> None:
    runs = [
        BASE,
        chain("three", 3, speed="100.0", length="2.40"),
        chain("seven", 7, speed="104.0", length="3.00"),
    ]
    found = ranked(
        runs, [waiting("two", shaped(2)), waiting("five", shaped(5)), waiting("dear", shaped(5), gpu_hours=5)]
    )

    assert {item.stage for item in found} == {"improve"}
    assert names(found)[0] == "five"
    gains = [item.improvement_per_gpu_hour for item in found]
    assert gains == sorted(gains, key=lambda gain: -1.0 if gain is None else -gain)
    five, dear = (next(item for item in found if item.name == name) for name in ("five", "dear"))
    assert five.improvement_tok_s == dear.improvement_tok_s
    assert "fastest so far at 1 stream" in found[0].reason


def test_a_larger_training_set_promises_more_than_a_smaller_one() -> None:
    runs = [
        BASE,
        run("a", speed="80.0", length="1.90", speculation=shaped(3), **trained(1_000)),
        run("b", speed="95.0", length="2.25", speculation=shaped(3), **trained(10_000)),
        run("c", speed="92.0", length="2.45", speculation=shaped(5), **trained(10_000)),
    ]
    found = ranked(
        runs, [waiting("small", shaped(3), **trained(3_000)), waiting("large", shaped(3), **trained(100_000))]
    )

    assert names(found) == ["large", "small"]
    assert "curve over training sizes at 100,000 samples" in found[0].reason


def test_a_void_run_teaches_nothing() -> None:
    void = run("void", speed="300.0", length="3.90", validity="invalid", validity_reason="other jobs")

    assert ranked([BASE, void], [waiting("three", shaped(3))]) == ranked([BASE], [waiting("three", shaped(3))])


def test_simulated_acceptance_comes_last_once_the_model_stands() -> None:
    runs = [BASE, chain("three", 3, speed="100.0", length="2.40"), chain("seven", 7, speed="104.0", length="3.00")]
    simulated = dataclasses.replace(shaped(5), simulated_accept_length=3.0)
    found = ranked(runs, [waiting("simulated", simulated), waiting("five", shaped(5))])

    assert [(item.name, item.stage) for item in found] == [("five", "improve"), ("simulated", "step time only")]
    assert "step time" in found[1].reason


def test_flags_nobody_measured_are_predicted_with_a_wider_range() -> None:
    def server(backend: str) -> ServerConfig:
        return ServerConfig(engine="sglang", typed={"attention_backend": backend})

    runs = [
        BASE,
        chain("three", 3, speed="100.0", length="2.40"),
        chain("seven", 7, speed="104.0", length="3.00"),
    ]
    runs = [dataclasses.replace(item, record=item.record.replace(server=server("fa3"))) for item in runs]
    same, other = (
        next(item for item in ranked(runs, [waiting("x", shaped(5), server=server(backend))])).expected_tok_s.half_width
        for backend in ("fa3", "triton")
    )

    assert same is not None
    assert other is not None
    assert other > 2 * same


def test_a_price_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="above 0"):
        waiting("free", shaped(3), gpu_hours=0.0)


@settings(max_examples=20, deadline=None)
@given(order=st.permutations(range(5)))
def test_the_order_does_not_depend_on_the_order_of_its_input(order: list[int]) -> None:
    runs = [BASE, chain("three", 3, speed="100.0", length="2.40"), chain("seven", 7, speed="104.0", length="3.00")]
    candidates = [waiting(f"c{steps}", shaped(steps)) for steps in (1, 2, 4, 5, 9)]

    assert ranked(runs, candidates) == ranked(runs, [candidates[index] for index in order])


# Campaigns to search: a grid of shapes and drafters whose true speeds follow from a step time and an acceptance.

_SHAPES = ((1, 1, 2), (2, 1, 3), (3, 1, 4), (4, 1, 5), (5, 1, 6), (7, 1, 8), (3, 4, 16), (5, 4, 16))
_SIZES = (1_000, 10_000, 100_000)


def _campaign(seed: int) -> dict[str, tuple[Unmeasured, float, float]]:
    """Return a grid with the true speed over the baseline and accept length of every point, by name."""
    rng = np.random.default_rng(seed)
    fixed, token, step = rng.uniform(0.05, 0.5), rng.uniform(0.0, 0.04), rng.uniform(0.03, 0.15)
    level, slope, rho = rng.uniform(0.35, 0.75), rng.uniform(0.02, 0.12), rng.uniform(0.93, 0.99)
    found = {}
    for (steps, topk, tokens), samples in itertools.product(_SHAPES, _SIZES):
        first = min(level + slope * np.log10(samples / 10_000), 0.95)
        length = float(decaying_length(np.asarray(first), rho, steps))
        if topk > 1:
            length = min(length * rng.uniform(1.0, 1.1), steps + 1)
        ratio = 1 + fixed + token * (tokens - 1) + step * steps
        name = f"{steps}-{topk}-{tokens}-{samples}"
        item = waiting(name, shaped(steps, topk, tokens), **trained(samples))
        found[name] = (item, length / ratio, length)
    return found


def _measured(item: Unmeasured, speedup: float, length: float, rng: np.random.Generator) -> StoredRun:
    noise = float(np.exp(0.01 * rng.standard_normal()))
    return run(
        item.name,
        speed=f"{90 * speedup * noise:.1f}",
        length=f"{length:.2f}",
        speculation=item.speculation,
        drafter=item.drafter,
        training=item.training,
    )


def _measurements_until_best(grid: Mapping[str, tuple[Unmeasured, float, float]], seed: int) -> int:
    """Return how many configurations the search measures until one within 1 % of the best is among them."""
    rng = np.random.default_rng(seed)
    goal = 0.99 * max(speedup for _, speedup, _ in grid.values())
    runs, left = [BASE], dict(grid)
    for count in range(1, len(grid) + 1):
        name = ranked(runs, [item for item, _, _ in left.values()])[0].name
        item, speedup, length = left.pop(name)
        if speedup >= goal:
            return count
        runs.append(_measured(item, speedup, length, rng))
    raise AssertionError("the grid holds its best")


def _grid_order(grid: Mapping[str, tuple[Unmeasured, float, float]]) -> int:
    goal = 0.99 * max(speedup for _, speedup, _ in grid.values())
    return 1 + next(index for index, (_, speedup, _) in enumerate(grid.values()) if speedup >= goal)


def _taken(seeds: Sequence[int]) -> tuple[float, float]:
    grids = [_campaign(seed) for seed in seeds]
    searched = [_measurements_until_best(grid, seed) for grid, seed in zip(grids, seeds, strict=True)]
    return float(np.mean(searched)), float(np.mean([_grid_order(grid) for grid in grids]))


def test_the_search_finds_the_best_configuration_with_fewer_measurements_than_the_order_of_the_grid() -> None:
    searched, grid = _taken(range(6))

    assert searched < 0.6 * grid


@pytest.mark.slow
def test_over_many_campaigns_the_search_needs_less_than_half_the_measurements_of_the_grid() -> None:
    searched, grid = _taken(range(100, 160))

    assert searched < 0.5 * grid
    assert searched < 0.5 * (len(_SHAPES) * len(_SIZES) + 1) / 2
