"""Load against a fake engine over real sockets: exact counts, and every failure counted as one."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
from typing import Any

import httpx
import pytest

from tests.fakes.servers import EAGLE3, free_port, serving, shared
from tests.load.loading import PROMPTS, TOKENS, load, nothing, requests
from tracker.load.answers import Answer
from tracker.load.generator import LoadGenerator
from tracker.load.openai_route import OpenAIRoute
from tracker.load.sglang_route import SglangRoute


def expected_counts(text: str) -> dict[str, Any]:
    """Return the counts that the fake engine gives for a prompt, computed here once more."""
    seed = int(hashlib.sha256(text.encode()).hexdigest(), 16)
    tokens, steps, accepted_total = 1, 0, 0
    histogram = [0, 0, 0, 0]
    while tokens < TOKENS:
        accepted = min((seed >> (steps % 200)) % 4, TOKENS - tokens - 1)
        histogram[accepted] += 1
        accepted_total += accepted
        tokens += accepted + 1
        steps += 1
    return {"verify_steps": steps, "accepted_drafts": accepted_total, "accepted_histogram": tuple(histogram)}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("streams", [1, 4, 16])
def test_every_count_is_the_servers_own(streams: int, stream: bool) -> None:
    with shared(*EAGLE3) as url:
        result = load(url, SglangRoute(), streams=streams, stream=stream)

    counted = {
        answer.prompt.text: {
            name: getattr(answer.counts, name) for name in ("verify_steps", "accepted_drafts", "accepted_histogram")
        }
        for answer in result.answers
    }
    assert counted == {prompt.text: expected_counts(prompt.text) for prompt in PROMPTS}
    assert {answer.counts.output_tokens for answer in result.answers if answer.counts} == {24}


def test_streams_in_flight_never_exceed_the_concurrency() -> None:
    with shared(FAKE_STEP_MS="1") as url:
        result = load(url, SglangRoute(), streams=4)

    edges = [(answer.sent_s, 1) for answer in result.answers] + [(answer.ended_s, -1) for answer in result.answers]
    flying = peak = 0
    for _, change in sorted(edges):
        flying += change
        peak = max(peak, flying)
    assert peak == 4


def test_the_first_token_of_a_stream_comes_before_its_end() -> None:
    with shared(*EAGLE3, FAKE_STEP_MS="3") as url:
        result = load(url, SglangRoute(), stream=True, count=8)

    for answer in result.answers:
        assert answer.first_token_s is not None
        assert answer.sent_s < answer.first_token_s < answer.ended_s


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("chat", [False, True])
def test_the_openai_route_counts_usage_never_chunks(chat: bool, stream: bool) -> None:
    with shared(*EAGLE3) as url:
        result = load(url, OpenAIRoute(model="fake", chat=chat), stream=stream)

    assert [answer.error for answer in result.answers] == [None] * 24
    # The stream has a chunk for each verify step, with several tokens.
    assert {answer.counts.output_tokens for answer in result.answers if answer.counts} == {24}


def test_a_server_that_is_gone_ends_the_pass() -> None:
    result = load(f"http://127.0.0.1:{free_port()}", SglangRoute(), streams=2)

    assert result.ended_early == "the server refused 4 connections in a row"
    assert all(answer.counts is None for answer in result.answers)
    assert result.abandoned == 24 - len(result.answers)


def test_a_server_that_hangs_ends_the_pass_after_a_few_requests() -> None:
    with serving(FAKE_MODE="hang") as url:
        result = load(url, SglangRoute(), streams=1, timeout_s=0.3)

    assert result.ended_early == "3 requests in a row timed out"
    assert len(result.answers) == 3


def test_a_server_that_crashes_keeps_what_was_answered() -> None:
    with serving(*EAGLE3, FAKE_MODE="crash:10") as url:
        # The helper asks only /health, so the tenth answer is the tenth request of the pass.
        result = load(url, SglangRoute(), streams=1)

    answered = [answer for answer in result.answers if answer.error is None]
    assert len(answered) == 9
    assert result.ended_early is not None


def test_an_interrupt_keeps_what_was_answered_and_counts_the_rest_as_abandoned() -> None:
    def interrupt(_: Answer) -> None:
        if threading.current_thread() is threading.main_thread():
            os.kill(os.getpid(), signal.SIGINT)

    with shared(FAKE_STEP_MS="1") as url:
        result = load(url, SglangRoute(), streams=1, on_answer=interrupt)

    assert result.ended_early == "interrupted"
    assert len(result.answers) < 24
    assert result.abandoned == 24 - len(result.answers)


def test_an_open_loop_sends_at_the_rate_whatever_is_in_flight() -> None:
    route = SglangRoute()
    with (
        shared(FAKE_STEP_MS="20") as url,
        LoadGenerator(url, route, streams=64, timeout_s=10, headers={}) as generator,
    ):
        result = generator.open_loop(requests(route, stream=False), rate_per_s=100, seed=1, on_answer=nothing)

    late = sorted(answer.sent_s - answer.due_s for answer in result.answers if answer.due_s is not None)
    assert len(late) == 24
    # An answer takes half a second; a closed loop of one would take 12.
    assert max(answer.sent_s for answer in result.answers) - min(answer.sent_s for answer in result.answers) < 1.5
    assert late[len(late) // 2] < 0.1


def test_an_open_loop_that_the_server_cannot_follow_ends_instead_of_holding_arrivals_back() -> None:
    route = SglangRoute()
    with (
        shared(FAKE_STEP_MS="50") as url,
        LoadGenerator(url, route, streams=4, timeout_s=10, headers={}) as generator,
    ):
        result = generator.open_loop(requests(route, stream=False), rate_per_s=200, seed=1, on_answer=nothing)

    assert result.ended_early == "4 requests were in flight: the server cannot keep up with the rate"
    assert len(result.answers) == 4
    assert result.abandoned == 20


def test_drafts_on_sglangs_openai_routes_are_its_own_counts() -> None:
    with shared(*EAGLE3) as url:
        for stream, chat in ((False, False), (True, False), (False, True), (True, True)):
            result = load(url, OpenAIRoute(model="fake", chat=chat, sglang=True), stream=stream)

            counts = {answer.prompt.text: answer.counts for answer in result.answers}
            for text, expected in ((prompt.text, expected_counts(prompt.text)) for prompt in PROMPTS):
                assert {name: getattr(counts[text], name) for name in expected} == expected


def test_steady_throughput_leaves_out_the_time_in_which_streams_ran_dry() -> None:
    with shared(FAKE_STEP_MS="1") as url:
        result = load(url, SglangRoute(), streams=4)

    assert result.steady_s is not None
    assert result.steady_output_tokens is not None
    assert result.steady_s < result.wall_s
    assert result.steady_output_tokens <= 24 * 24


def _sent_headers() -> dict[str, str]:
    route = SglangRoute()
    with shared() as url:
        with LoadGenerator(url, route, streams=1, timeout_s=5, headers={"Authorization": "Bearer k"}) as generator:
            generator.closed_loop(requests(route, stream=False)[:1], streams=1, on_answer=nothing)
        found: dict[str, str] = httpx.get(f"{url}/last_headers", trust_env=False).json()
    return found


def test_the_servers_key_is_sent_and_no_compression_is_asked_for() -> None:
    sent = _sent_headers()

    assert (sent["authorization"], sent["content-type"]) == ("Bearer k", "application/json")
    assert sent["accept-encoding"] == "identity"


def test_without_aiohttp_the_same_headers_are_sent(without_aiohttp: None) -> None:
    sent = _sent_headers()

    assert (sent["authorization"], sent["content-type"]) == ("Bearer k", "application/json")
    assert sent["accept-encoding"] == "identity"
