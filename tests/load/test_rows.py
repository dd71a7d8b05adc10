"""What of an answer becomes a row: whose clock, and from when."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import msgspec
import pytest

from tracker.importers import read as read_inputs
from tracker.load.answers import Answer, Counts
from tracker.load.prompts import Prompt
from tracker.load.rows import line, row

META = {"completion_tokens": 5, "prompt_tokens": 2, "e2e_latency": 0.75, "first_token_latency": 0.25}
ANSWER = Answer(
    prompt=Prompt(text="x"), sent_s=10.5, ended_s=12.0,
    counts=Counts(output_tokens=5, input_tokens=2, server_latency_s=0.75, meta=META),
)  # fmt: skip
STREAMED = dataclasses.replace(ANSWER, first_token_s=11.0)


@pytest.mark.parametrize(
    ("answer", "due_s", "latency_s", "ttft_s"),
    [
        (ANSWER, None, 0.75, None),
        (STREAMED, None, 1.5, 0.5),
        # An open loop's users do not know that the client was late, nor where the server's own clock starts.
        (ANSWER, 10.0, 2.0, None),
        (STREAMED, 10.0, 2.0, 1.0),
    ],
)
def test_a_latency_is_what_the_server_took_or_what_a_user_of_an_open_loop_waited(
    tmp_path: Path, answer: Answer, due_s: float | None, latency_s: float, ttft_s: float | None
) -> None:
    answer = dataclasses.replace(answer, due_s=due_s)

    found = row(answer, concurrency=None, repeat=0)
    kept = msgspec.json.decode(line(answer, concurrency=None, repeat=0))

    assert (found.latency_s, found.ttft_s) == (latency_s, ttft_s)
    assert kept["client_latency_s"] == (1.5 if due_s is None else 2.0)
    assert kept.get("client_ttft_s") == ttft_s
    assert kept["server_ttft_s"] == 0.25
    # A kept line is read back as the row it was.
    (tmp_path / "requests.jsonl").write_bytes(line(answer, concurrency=None, repeat=0) + b"\n")
    (run,) = read_inputs(tmp_path / "requests.jsonl")
    assert [(item.latency_s, item.ttft_s, item.output_tokens) for item in run.requests] == [(latency_s, ttft_s, 5)]
