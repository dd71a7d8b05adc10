"""A streamed sample gives latencies and leaves the throughput as it is, on an engine whose timing is known."""

from __future__ import annotations

import heapq
import random

import pytest

from tests.fakes.servers import EAGLE3, shared
from tests.load.loading import PROMPTS, TOKENS, nothing, requests
from tests.load.test_generator import expected_counts
from tracker.load.answers import Answer, Counts
from tracker.load.generator import LoadGenerator, PassResult
from tracker.load.prompts import Prompt
from tracker.load.send import Request
from tracker.load.sglang_route import SglangRoute
from tracker.workflows.bench_sampling import slower_fraction

STEP_MS = 20
STREAMS = 8
TURNS = 3
# The benchmark `load_sampling` measures 0.2 % where passes are longer; this leaves room for a busy machine.
MAX_BIAS_FRACTION = 0.05


def _mixed(share: float, *, seed: int) -> list[Request]:
    """Return every prompt's request, a share of them streamed."""
    route = SglangRoute()
    whole, streamed = requests(route, stream=False), requests(route, stream=True)
    chosen = random.Random(seed).sample(range(len(whole)), round(share * len(whole)))
    return [streamed[index] if index in chosen else whole[index] for index in range(len(whole))]


def _throughput(result: PassResult) -> float:
    assert all(answer.error is None for answer in result.answers)
    return sum(answer.counts.output_tokens or 0 for answer in result.answers if answer.counts) / result.wall_s


def _known_throughput() -> float:
    """Return what a client that costs no time would measure: each answer lasts its verify steps and the prefill."""
    free_s = [0.0] * STREAMS
    for prompt in PROMPTS:
        steps = expected_counts(prompt.text)["verify_steps"] + 1
        heapq.heappush(free_s, heapq.heappop(free_s) + steps * STEP_MS / 1000)
    return TOKENS * len(PROMPTS) / max(free_s)


@pytest.mark.slow
def test_a_streamed_sample_does_not_bias_the_throughput() -> None:
    measured: dict[float, list[float]] = {0.0: [], 0.25: [], 1.0: []}
    with (
        shared(*EAGLE3, FAKE_STEP_MS=str(STEP_MS)) as url,
        LoadGenerator(url, SglangRoute(), streams=STREAMS, timeout_s=10, headers={}) as generator,
    ):
        generator.closed_loop(_mixed(0.5, seed=0)[:STREAMS], streams=STREAMS, on_answer=nothing)
        for turn in range(TURNS):
            for share, values in measured.items():
                asked = _mixed(share, seed=turn)
                values.append(_throughput(generator.closed_loop(asked, streams=STREAMS, on_answer=nothing)))

    # The best of the turns: what disturbs a pass only ever makes it slower.
    best = {share: max(values) for share, values in measured.items()}
    assert best[0.25] / best[0.0] == pytest.approx(1, abs=MAX_BIAS_FRACTION)
    assert best[1.0] / best[0.0] == pytest.approx(1, abs=MAX_BIAS_FRACTION)
    assert best[0.0] / _known_throughput() == pytest.approx(1, abs=2 * MAX_BIAS_FRACTION)


def _answer(seconds: float, *, streamed: bool) -> Answer:
    counts = Counts(output_tokens=10)
    first_s = 0.01 if streamed else None
    return Answer(prompt=Prompt(text="x"), sent_s=0.0, ended_s=seconds, first_token_s=first_s, counts=counts)


def test_streaming_that_costs_the_server_is_found() -> None:
    chance = random.Random(1)
    whole = [_answer(1.0 + 0.1 * chance.random(), streamed=False) for _ in range(100)]
    same = [_answer(1.0 + 0.1 * chance.random(), streamed=True) for _ in range(20)]
    slower = [_answer(1.2 * item.latency_s, streamed=True) for item in same]

    assert slower_fraction([*whole, *same]) is None
    assert slower_fraction([*whole, *slower]) == pytest.approx(0.2, abs=0.03)
    assert slower_fraction([*whole, *slower[:9]]) is None
