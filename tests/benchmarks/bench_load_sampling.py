"""Throughput measured with a streamed sample, over the one measured without, on a server of known timing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks import load_measure
from tests.benchmarks.result import Benchmark, Result
from tracker.load.answers import Answer, Sampling
from tracker.load.generator import LoadGenerator
from tracker.load.prompts import Prompt
from tracker.load.send import Request
from tracker.load.sglang_route import SglangRoute

STREAMS, WAVES, TURNS = 16, 4, 7
TOKENS, TOKEN_MS = 40, 25.0
SHARES = (0.0, 0.05, 1.0)
PROMISED_FRACTION = 0.02


def _nothing(_: Answer) -> None:
    return


def _run(folder: Path, scale: float) -> Iterator[Result]:
    """Yield the ratio of throughputs; of each kind the best pass counts, for a disturbance only makes one slower."""
    route, sampling = SglangRoute(), Sampling(max_output_tokens=TOKENS)
    measured: dict[float, list[float]] = {share: [] for share in SHARES}
    with (
        load_measure.mock_server(folder / "server", chunks=TOKENS, delay_ms=TOKEN_MS) as url,
        LoadGenerator(url, route, streams=STREAMS, timeout_s=60, headers={}) as generator,
    ):
        for _ in range(max(1, round(TURNS * scale))):
            for share, values in measured.items():
                every = round(1 / share) if share else None
                requests = [
                    Request(
                        prompt=(prompt := Prompt(text=f"prompt {index}")),
                        body=route.body(prompt, sampling, stream=(stream := every is not None and index % every == 0)),
                        sampling=sampling,
                        stream=stream,
                        timeout_s=60,
                    )
                    for index in range(WAVES * STREAMS)
                ]
                result = generator.closed_loop(requests, streams=STREAMS, on_answer=_nothing)
                values.append(TOKENS * len(result.answers) / result.wall_s)
    known = 1000 * STREAMS / TOKEN_MS
    best = {share: max(values) for share, values in measured.items()}
    yield Result(
        what=f"{STREAMS} streams, nothing streamed, throughput over the server's {known:,.0f} tokens/s",
        value=best[0.0] / known,
        unit="times",
    )
    for share in SHARES[1:]:
        yield Result(
            what=f"{STREAMS} streams, throughput with {share:.0%} streamed over that with none",
            value=best[share] / best[0.0],
            unit="times",
            at_least=1 - PROMISED_FRACTION,
            at_most=1 + PROMISED_FRACTION,
        )


BENCHMARK: Benchmark = _run
