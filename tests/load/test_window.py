"""Nothing but the load happens in the measured window."""

from __future__ import annotations

import subprocess
import sys

import httpx
import pytest

from tests.fakes.servers import EAGLE3, serving, shared
from tests.load.loading import PROMPTS, load
from tracker.load.answers import Answer, Sampling
from tracker.load.prompts import Prompt
from tracker.load.sglang_route import SglangRoute

_IMPORTS = """
import sys
from tests.load.loading import requests
from tracker.load.generator import LoadGenerator
from tracker.load.sglang_route import SglangRoute
route = SglangRoute()
seen = []
with LoadGenerator(sys.argv[1], route, streams=4, timeout_s=10, headers={}) as generator:
    generator.closed_loop(requests(route, stream=True)[:2], streams=2, on_answer=lambda _: None)
    before = set(sys.modules)
    generator.closed_loop(requests(route, stream=True), streams=4, on_answer=seen.append)
counting = {"transformers", "tokenizers", "tiktoken", "sentencepiece", "torch"} & set(sys.modules)
print(len(seen), sorted(set(sys.modules) - before), sorted(counting))
"""


class _Watched(SglangRoute):
    """A route that notes when bodies are made."""

    def __init__(self) -> None:
        super().__init__()
        self.bodies = 0

    def body(self, prompt: Prompt, sampling: Sampling, *, stream: bool) -> bytes:
        self.bodies += 1
        return super().body(prompt, sampling, stream=stream)


def test_every_body_is_made_before_the_first_request_is_sent() -> None:
    route, made = _Watched(), []

    def on_answer(_: Answer) -> None:
        made.append(route.bodies)

    with shared(*EAGLE3) as url:
        result = load(url, route, on_answer=on_answer)

    assert made == [len(PROMPTS)] * len(PROMPTS)
    assert len(result.answers) == len(PROMPTS)


def test_a_pass_imports_nothing_and_no_tokenizer_is_ever_loaded() -> None:
    with shared(*EAGLE3) as url:
        done = subprocess.run([sys.executable, "-c", _IMPORTS, url], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "24 [] []"


@pytest.mark.parametrize("streams", [1, 8])
def test_every_connection_is_open_before_the_first_request_is_sent(streams: int) -> None:
    with serving(*EAGLE3) as url:
        load(url, SglangRoute(), streams=streams)
        opened = int(httpx.get(f"{url}/connections_at_first_request", trust_env=False).text)

    # One more was the question whether the server is up; a busy machine asks it again, and renews what was idle.
    assert opened >= streams + 1


def test_without_aiohttp_every_connection_is_open_too(without_aiohttp: None) -> None:
    with serving(*EAGLE3) as url:
        load(url, SglangRoute(), streams=8)
        opened = int(httpx.get(f"{url}/connections_at_first_request", trust_env=False).text)

    assert opened >= 9
