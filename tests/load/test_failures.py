"""Every way in which an answer fails, on every route, over real sockets: counted as failed, and nothing else is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.fakes.servers import EAGLE3, shared
from tests.load.loading import PROMPTS, nothing, requests
from tracker.load.answers import Answer, Route
from tracker.load.generator import LoadGenerator
from tracker.load.openai_route import OpenAIRoute
from tracker.load.prompts import Prompt
from tracker.load.sglang_route import SglangRoute

ROUTES: dict[str, Route] = {
    "generate": SglangRoute(),
    "completions": OpenAIRoute(model="fake"),
    "chat": OpenAIRoute(model="fake", chat=True),
}


@dataclass(frozen=True)
class Failure:
    """A failure, the words that tell it, and in which way it is counted."""

    mode: str
    words: str
    kind: str
    whole: bool = True
    streamed: bool = True


UNCOUNTABLE = "with an answer that cannot be counted"
FAILURES = (
    Failure("refuse", "connection broken", "connection broken"),
    Failure("reset", "connection broken", "connection broken"),
    Failure("garbage", "connection broken", "connection broken"),
    Failure("http500", "HTTP 500", "answered with HTTP 500"),
    Failure("malformed", "malformed", UNCOUNTABLE),
    Failure("half_char", "malformed", UNCOUNTABLE),
    Failure("wrong_usage", "claims 168 tokens, asked for 24", UNCOUNTABLE),
    Failure("abort", "aborted", "aborted"),
    Failure("slow", "timed out", "timed out"),
    Failure("hang", "timed out", "timed out"),
    Failure("no_meta", "", UNCOUNTABLE),
    Failure("cut", "without its terminator", UNCOUNTABLE, whole=False),
    Failure("malformed_middle", "malformed event", UNCOUNTABLE, whole=False),
    Failure("half_char_middle", "malformed event", UNCOUNTABLE, whole=False),
    Failure("error_middle", "out of memory", UNCOUNTABLE, whole=False),
    Failure("after_done", "after its terminator", UNCOUNTABLE, whole=False),
)


def _cases(streamed: bool) -> list[tuple[str, Failure]]:
    return [(route, item) for route in ROUTES for item in FAILURES if (item.streamed if streamed else item.whole)]


@pytest.fixture(scope="module")
def engine() -> Iterator[str]:
    """Run one fake engine for all failures; a prompt says how its answer is to fail."""
    with shared(*EAGLE3) as url:
        yield url


def _answers(url: str, route: Route, mode: str, *, stream: bool) -> tuple[Answer, ...]:
    """Return what came of twelve requests, every fourth of which fails."""
    prompts = [
        Prompt(text=f"fail:{mode} {prompt.text}") if index % 4 == 3 else prompt
        for index, prompt in enumerate(PROMPTS[:12])
    ]
    asked = requests(route, prompts, stream=stream, timeout_s=0.8)
    with LoadGenerator(url, route, streams=4, timeout_s=0.8, headers={}) as generator:
        result = generator.closed_loop(asked, streams=4, on_answer=nothing)
    assert result.ended_early is None
    return result.answers


def _check(url: str, route: str, failure: Failure, *, stream: bool) -> None:
    answers = _answers(url, ROUTES[route], failure.mode, stream=stream)

    failed = [answer for answer in answers if answer.prompt.text.startswith("fail:")]
    answered = [answer for answer in answers if not answer.prompt.text.startswith("fail:")]
    assert len(failed) == 3
    assert all(answer.error is not None and failure.words in answer.error for answer in failed)
    assert all(answer.counts is None and answer.first_token_s is None for answer in failed)
    assert {answer.failure for answer in failed} == {failure.kind}
    assert len(answered) == 9
    assert {answer.failure for answer in answered} == {None}
    assert {answer.counts.output_tokens for answer in answered if answer.counts} == {24}


@pytest.mark.parametrize(("route", "failure"), _cases(streamed=False), ids=lambda item: getattr(item, "mode", item))
def test_a_whole_answer_that_fails_is_counted_as_failed_and_no_other(engine: str, route: str, failure: Failure) -> None:
    _check(engine, route, failure, stream=False)


@pytest.mark.parametrize(("route", "failure"), _cases(streamed=True), ids=lambda item: getattr(item, "mode", item))
def test_a_stream_that_fails_is_counted_as_failed_and_no_other(engine: str, route: str, failure: Failure) -> None:
    _check(engine, route, failure, stream=True)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("mode", ["refuse", "reset", "garbage", "http500", "hang", "malformed"])
def test_without_aiohttp_failures_are_counted_alike(
    engine: str, mode: str, stream: bool, without_aiohttp: None
) -> None:
    failure = next(item for item in FAILURES if item.mode == mode)

    _check(engine, "generate", failure, stream=stream)
