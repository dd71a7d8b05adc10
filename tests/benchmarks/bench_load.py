"""What the load generator costs, beside plain aiohttp and other benchmark clients on the same mock server.

Each turn runs every client once, one after the other; ratios are taken within a turn and their median over turns is
shown, because two runs of one client differ by more than two clients of one turn do.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from tests.benchmarks import load_clients, load_measure
from tests.benchmarks.load_clients import OURS, REFERENCE, Client, Job
from tests.benchmarks.load_measure import Cost
from tests.benchmarks.result import Benchmark, Result

TURNS = 3
# Requests of a pass in multiples of the streams: a longer one where few streams leave little to measure.
WAVES = {16: 8, 64: 6, 512: 4}
TOKENS = 40
TOKEN_MS = 50.0
PROMISED_STREAMS = 512
# A sampled answer beside a peer's streamed one.
PROMISED_SAMPLED_FRACTION = 0.2

Turn = Mapping[str, Cost]


def _turn(folder: Path, clients: Sequence[Client], streams: int, waves: int, inputs: Path) -> Turn:
    costs: dict[str, Cost] = {}
    for number, client in enumerate(clients):
        place = folder / str(number)
        with load_measure.mock_server(place, chunks=TOKENS, delay_ms=TOKEN_MS) as url:
            job = Job(url=url, streams=streams, requests=waves * streams, tokens=TOKENS, inputs=inputs)
            try:
                costs[client.name] = load_measure.run(
                    client.command(job),
                    place,
                    warmup=client.warmup,
                    requests=job.requests,
                    chunks=TOKENS,
                    environment=load_clients.environment(place),
                )
            except load_measure.ClientFailedError as error:
                # A peer that fails is told and left out; our own failure is the benchmark's.
                if not client.peer:
                    raise
                sys.stderr.write(f"  {client.name} at {streams} streams: {error}\n")
    return costs


def _run(folder: Path, scale: float) -> Iterator[Result]:
    """Yield every client's cost at each level of load, then the promises."""
    found, missing = load_clients.peers()
    for line in missing:
        sys.stderr.write(f"  {line}\n")
    clients = (REFERENCE, *OURS, *found)
    inputs = load_clients.write_inputs(folder / "inputs")
    for streams, waves in WAVES.items():
        turns = [
            _turn(folder / f"{streams}-{turn}", clients, streams, max(2, round(waves * min(scale, 1))), inputs)
            for turn in range(max(1, round(TURNS * scale)))
        ]
        for client in clients:
            yield from _client(client, streams, turns)
        yield from _promises([peer.name for peer in found], streams, turns)


def _client(client: Client, streams: int, turns: Sequence[Turn]) -> Iterator[Result]:
    costs = [turn[client.name] for turn in turns if client.name in turn]
    if not costs:
        return
    low, high = min(cost.us_per_chunk for cost in costs), max(cost.us_per_chunk for cost in costs)
    rate = statistics.median(cost.chunks / cost.load_s for cost in costs)
    told = f"{low:.1f} to {high:.1f} us a token, {rate:,.0f} tokens/s"
    # Where answers are not streamed there are no chunks to divide by.
    parts = (("chunk", _per_chunk), ("answer", _per_answer)) if client.streamed else (("answer", _per_answer),)
    for unit, value in parts:
        median = statistics.median(map(value, costs))
        yield Result(
            what=f"{streams} streams, {client.name} ({told}), CPU per {unit}",
            value=median,
            unit="us",
            beside=REFERENCE.name,
            beside_value=median / _ratio(turns, _of(client.name, value), _of(REFERENCE.name, value)),
        )
    yield Result(
        what=f"{streams} streams, {client.name}, CPU of the whole process",
        value=statistics.median(cost.whole_cpu_s for cost in costs),
        unit="s",
    )


def _of(name: str, value: Callable[[Cost], float]) -> Callable[[Turn], float]:
    return lambda turn: value(turn[name])


def _promises(peers: Sequence[str], streams: int, turns: Sequence[Turn]) -> Iterator[Result]:
    measured = [turn for turn in turns if any(name in turn for name in peers)]
    if not measured:
        return

    def best(value: Callable[[Cost], float]) -> Callable[[Turn], float]:
        return lambda turn: min(value(turn[name]) for name in peers if name in turn)

    def dearest(value: Callable[[Cost], float], *, streamed: bool) -> Callable[[Turn], float]:
        return lambda turn: max(value(turn[client.name]) for client in OURS if client.streamed is streamed)

    held = streams == PROMISED_STREAMS
    yield Result(
        what=f"{streams} streams, tracker with all streamed over the best peer, CPU per chunk",
        value=_ratio(measured, dearest(_per_chunk, streamed=True), best(_per_chunk)),
        unit="times",
        at_most=1.0 if held else None,
    )
    yield Result(
        what=f"{streams} streams, tracker with a sample streamed over the best peer, CPU per answer",
        value=_ratio(measured, dearest(_per_answer, streamed=False), best(_per_answer)),
        unit="times",
        at_most=PROMISED_SAMPLED_FRACTION if held else None,
    )
    yield Result(
        what=f"{streams} streams, tracker with all streamed over the best peer, CPU of the whole process",
        value=_ratio(measured, dearest(_whole, streamed=True), best(_whole)),
        unit="times",
        at_most=1.0,
    )


def _ratio(turns: Sequence[Turn], over: Callable[[Turn], float], under: Callable[[Turn], float]) -> float:
    """Return the median of the ratios within a turn; a turn in which a client failed has none."""
    ratios = []
    for turn in turns:
        try:
            ratios.append(over(turn) / under(turn))
        except KeyError:
            continue
    return statistics.median(ratios)


def _per_chunk(cost: Cost) -> float:
    return cost.us_per_chunk


def _per_answer(cost: Cost) -> float:
    return cost.us_per_answer


def _whole(cost: Cost) -> float:
    return cost.whole_cpu_s


BENCHMARK: Benchmark = _run
