"""Sending a load in a test."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tracker.load.answers import Answer, Route, Sampling
from tracker.load.generator import LoadGenerator, PassResult
from tracker.load.prompts import Prompt
from tracker.load.send import Request

TOKENS = 24
PROMPTS = tuple(Prompt(text=f"prompt {index}", category="ab"[index % 2]) for index in range(24))


def nothing(_: Answer) -> None:
    """Take no notice of an answer."""


def requests(
    route: Route, prompts: Sequence[Prompt] = PROMPTS, *, stream: bool, timeout_s: float = 10.0, tokens: int = TOKENS
) -> list[Request]:
    """Return a request for each prompt."""
    sampling = Sampling(max_output_tokens=tokens)
    return [
        Request(
            prompt=prompt,
            body=route.body(prompt, sampling, stream=stream),
            sampling=sampling,
            stream=stream,
            timeout_s=timeout_s,
        )
        for prompt in prompts
    ]


def load(
    url: str,
    route: Route,
    *,
    streams: int = 4,
    stream: bool = False,
    timeout_s: float = 10.0,
    count: int = len(PROMPTS),
    tokens: int = TOKENS,
    on_answer: Callable[[Answer], None] = nothing,
) -> PassResult:
    """Return what came of a closed loop over the first prompts."""
    asked = requests(route, PROMPTS[:count], stream=stream, timeout_s=timeout_s, tokens=tokens)
    with LoadGenerator(url, route, streams=streams, timeout_s=timeout_s, headers={}) as generator:
        return generator.closed_loop(asked, streams=streams, on_answer=on_answer)
