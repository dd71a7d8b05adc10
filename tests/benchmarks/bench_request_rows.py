"""A million request rows as SGLang answers them, beside decoding the same lines with msgspec and nothing else."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tests.benchmarks import reading
from tests.benchmarks.result import Benchmark, Result

ROWS = 1_000_000
PROMISED_S = 20.0
PROMISED_PEAK_MB = 400.0
_BLOCK_ROWS = 5000


def _line(chance: random.Random, index: int) -> str:
    histogram = [chance.randint(5, 40) for _ in range(4)]
    steps, accepted = sum(histogram), sum(position * count for position, count in enumerate(histogram))
    received = 1_795_000_000.0 + index
    info = {
        "id": f"{index:032x}", "finish_reason": {"type": "length", "length": 256}, "prompt_tokens": 60 + index % 40,
        "weight_version": "default", "completion_tokens": steps + accepted, "cached_tokens": 0,
        "cached_tokens_details": None, "dp_rank": None, "e2e_latency": chance.uniform(0.3, 2.0),
        "spec_accept_rate": 0.5, "spec_accept_length": 1 + accepted / steps, "spec_num_correct_drafts": accepted,
        "spec_num_proposed_drafts": 3 * steps, "spec_verify_ct": steps, "spec_correct_drafts_histogram": histogram,
        "spec_accept_histogram": histogram, "request_received_ts": received, "request_finished_ts": received + 1.0,
    }  # fmt: skip
    head = {"rep": 0, "concurrency": 8, "category": chance.choice(("code", "prose")), "client_latency_s": 1.0}
    return json.dumps({**head, "meta_info": info}) + "\n"


def _run(folder: Path, scale: float) -> Iterator[Result]:
    """Yield the time for all rows, and the peak memory."""
    chance = random.Random(1)
    block = "".join(_line(chance, index) for index in range(_BLOCK_ROWS)).encode()
    path = folder / "requests.jsonl"
    with path.open("wb") as out:
        for _ in range(max(round(ROWS * scale / _BLOCK_ROWS), 1)):
            out.write(block)
    start = time.process_time()
    with path.open("rb") as stream:
        for line in stream:
            msgspec.json.decode(line)
    decoding = time.process_time() - start
    read = reading.read(path)
    per_million = ROWS / read.requests
    yield Result(
        what=f"{read.requests:,} request rows, to a million",
        value=read.seconds * per_million,
        unit="s",
        beside="decoding to dictionaries alone",
        beside_value=decoding * per_million,
        at_most=PROMISED_S,
    )
    yield Result(what=f"peak memory, {read.requests:,} rows", value=read.peak_mb, unit="MB", at_most=PROMISED_PEAK_MB)


BENCHMARK: Benchmark = _run
