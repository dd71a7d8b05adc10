"""Acceptance from the server's own counters, and what they find wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.servers import EAGLE3, serving, shared
from tests.load.test_generator import expected_counts
from tests.workflows.benching import PROMPTS, bench
from tracker.load.answers import Sampling
from tracker.workflows.bench_plan import Load

LOADS = (Load(concurrency=1, requests=8), Load(concurrency=4, requests=16))
TOKENS = 24


def _expected(requests: int) -> tuple[int, int, tuple[int, ...]]:
    """Return verify steps, accepted drafts and histogram of so many requests, computed from the prompts."""
    counts = [expected_counts(prompt.text) for prompt in PROMPTS.requests(requests)]
    histogram = tuple(sum(item["accepted_histogram"][place] for item in counts) for place in range(4))
    return sum(item["verify_steps"] for item in counts), sum(item["accepted_drafts"] for item in counts), histogram


@pytest.mark.parametrize("streamed_fraction", [0.0, 1.0])
def test_vllms_counters_give_exact_acceptance_per_load_and_position(tmp_path: Path, streamed_fraction: float) -> None:
    with shared(*EAGLE3, FAKE_ENGINE="vllm") as url:
        record = bench(
            url, tmp_path, sampling=Sampling(max_output_tokens=TOKENS), repeats=2, streamed_fraction=streamed_fraction
        ).record

    assert record.tags["bench.route"] == "openai"
    for cell, load in zip(record.pooled(), LOADS, strict=True):
        steps, accepted, histogram = _expected(load.requests)
        assert (cell.verify_steps, cell.accepted_drafts) == (2 * steps, 2 * accepted)
        assert cell.proposed_drafts == 3 * 2 * steps
        assert cell.accepted_histogram == tuple(2 * count for count in histogram)
        assert cell.accept_length == pytest.approx(1 + accepted / steps)
    repeats = [cell for cell in record.measurements if cell.repeat is not None and cell.concurrency == 4]
    assert [cell.verify_steps for cell in repeats] == [_expected(16)[0]] * 2
    # The counters know no categories: nothing is invented for them.
    assert all(cell.verify_steps is None for cell in record.measurements if cell.category is not None)
    assert record.tags["bench.cache_flushed"] == "true"


def test_counters_with_foreign_traffic_in_them_give_no_acceptance(tmp_path: Path) -> None:
    with serving(*EAGLE3, FAKE_ENGINE="vllm", FAKE_MODE="foreign:5") as url:
        record = bench(url, tmp_path).record

    assert "SERVER_COUNTERS_DISAGREE" in {finding.code for finding in record.findings}
    assert all(cell.verify_steps is None for cell in record.pooled())


def test_a_server_without_speculation_gets_no_acceptance(tmp_path: Path) -> None:
    with shared(FAKE_ENGINE="vllm") as url:
        record = bench(url, tmp_path).record

    assert all(cell.verify_steps is None and cell.accept_length is None for cell in record.pooled())
    assert record.pooled()[0].output_tokens == 96


def test_failed_requests_keep_the_counters_out(tmp_path: Path) -> None:
    with serving(*EAGLE3, FAKE_ENGINE="vllm", FAKE_MODE="reset:7") as url:
        record = bench(url, tmp_path, loads=(Load(concurrency=4, requests=16),)).record

    (cell,) = record.pooled()
    assert (cell.requests_completed, cell.requests_failed, cell.verify_steps) == (14, 2, None)


def test_answers_that_tell_their_drafts_agree_with_the_servers_counters(tmp_path: Path) -> None:
    with shared(*EAGLE3) as url:
        record = bench(url, tmp_path, repeats=2).record

    codes = {finding.code for finding in record.findings}
    assert not codes & {"SERVER_COUNTERS_DISAGREE", "VERIFY_COUNTERS_DISAGREE"}


def test_drafts_that_the_server_counts_otherwise_than_its_answers_are_found(tmp_path: Path) -> None:
    with serving(*EAGLE3, FAKE_STEPS_FACTOR="2") as url:
        record = bench(url, tmp_path).record

    (found,) = [finding for finding in record.findings if finding.code == "VERIFY_COUNTERS_DISAGREE"]
    assert "verify steps while the answers hold" in found.message


@pytest.mark.parametrize("route", ["sglang", "openai"])
def test_answers_shorter_than_asked_are_found(tmp_path: Path, route: str) -> None:
    with serving(FAKE_MODE="short:2") as url:
        record = bench(url, tmp_path, route=route).record

    (found,) = [finding for finding in record.findings if finding.code == "ANSWERS_SHORT"]
    assert found.message.startswith("12 of 24 answers hold fewer than the 12 tokens")
    assert record.pooled()[0].output_tokens == 72
