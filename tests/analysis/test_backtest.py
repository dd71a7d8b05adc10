"""Seven draft steps predicted from three and five, on public measurements.

The packaged priors come from the same public data, so this checks the code, not its generality.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tracker.analysis.chains import ChainPrediction, MeasuredChain, predict_chain
from tracker.analysis.priors import DEFAULT_PRIORS
from tracker.analysis.uncertainty import quantile

Case = tuple[MeasuredChain, ChainPrediction]


@pytest.fixture(scope="module")
def triples(shared_data: Path) -> list[dict[int, MeasuredChain]]:
    path = shared_data / "specbundle" / "data.json"
    if not path.is_file():
        pytest.skip("the public SpecBundle measurements are not here")
    found = []
    for benchmarks in json.loads(path.read_text(encoding="utf-8")).values():
        for benchmark in benchmarks.values():
            found += [chains for chains in _chains(benchmark["results"]).values() if {3, 5, 7} <= chains.keys()]
    return found


@pytest.fixture(scope="module")
def cases(triples: list[dict[int, MeasuredChain]]) -> list[Case]:
    return [predicted(chains, (3, 5), 7) for chains in triples]


def predicted(chains: dict[int, MeasuredChain], known: tuple[int, int], wanted: int) -> Case:
    measured = {steps: chains[steps] for steps in known}
    return chains[wanted], predict_chain(measured, wanted, DEFAULT_PRIORS)


def _chains(results: list[dict[str, Any]]) -> dict[tuple[object, str], dict[int, MeasuredChain]]:
    """Return chains by batch size and drafter, against the mean of the baselines at that batch size, as in a memo."""
    bases: dict[object, list[float]] = {}
    for entry, item in _measured(results):
        if item["accept_length"] == 1.0 and item["output_throughput"]:
            bases.setdefault(entry["batch_size"], []).append(item["output_throughput"])
    chains: dict[tuple[object, str], dict[int, MeasuredChain]] = {}
    for entry, item in _measured(results):
        base = bases.get(entry["batch_size"])
        if entry["topk"] == 1 and item["accept_length"] > 1.0 and base and item["output_throughput"]:
            ratio = item["accept_length"] * statistics.mean(base) / item["output_throughput"]
            chain = MeasuredChain(length=item["accept_length"], break_even=ratio)
            chains.setdefault((entry["batch_size"], item["Name"]), {})[int(str(entry["steps"]))] = chain
    return chains


def _measured(results: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    return ((entry, item) for entry in results for item in entry["metrics"])


def errors(cases: list[Case], part: str) -> np.ndarray:
    def value(found: MeasuredChain | ChainPrediction) -> float:
        return found.length / found.break_even if part == "speed" else float(getattr(found, part))

    return np.array([math.log(value(predicted) / value(actual)) for actual, predicted in cases])


@pytest.mark.parametrize(("part", "bound"), [("break_even", 0.035), ("length", 0.015), ("speed", 0.04)])
def test_seven_steps_follow_from_three_and_five(cases: list[Case], part: str, bound: float) -> None:
    assert len(cases) > 20
    assert np.abs(errors(cases, part)).mean() < bound


def test_growth_drawn_towards_the_published_one_errs_less_than_the_line(
    triples: list[dict[int, MeasuredChain]], cases: list[Case]
) -> None:
    line = [
        (chains[7], predict_chain({steps: chains[steps] for steps in (3, 5)}, 7, DEFAULT_PRIORS, noise_log_sd=0.0))
        for chains in triples
    ]

    assert np.abs(errors(cases, "break_even")).mean() < 0.95 * np.abs(errors(line, "break_even")).mean()
    assert np.abs(errors(cases, "speed")).mean() < 0.85 * np.abs(errors(line, "speed")).mean()


@pytest.mark.parametrize("part", ["break_even", "length", "speed"])
def test_nominal_eighty_per_cent_intervals_cover_seventy_to_ninety(cases: list[Case], part: str) -> None:
    predicted = cases[0][1]
    sd = {
        "break_even": predicted.break_even_log_sd,
        "length": predicted.length_log_sd,
        "speed": math.hypot(predicted.break_even_log_sd, predicted.length_log_sd),
    }[part]

    assert 0.7 <= float((np.abs(errors(cases, part)) < quantile(0.9, math.inf) * sd).mean()) <= 0.9


@pytest.mark.parametrize(("part", "bound"), [("break_even", 0.02), ("length", 0.01), ("speed", 0.025)])
def test_five_steps_lie_between_three_and_seven(
    triples: list[dict[int, MeasuredChain]], part: str, bound: float
) -> None:
    between = [predicted(chains, (3, 7), 5) for chains in triples]

    assert np.abs(errors(between, part)).mean() < bound
