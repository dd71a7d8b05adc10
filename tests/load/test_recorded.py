"""Bodies of real engines through real sockets: SGLang's as recorded on an H200, vLLM's as its own classes write them.

`tests/data/load/vllm-0.32.*` were serialised on 2026-11-30 by the protocol classes of vLLM 0.32.0 in the order of its
completion and chat generators; no model stood behind them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fakes.replay import chunked, replaying, whole
from tests.load.loading import load
from tracker.load.answers import Counts, Route
from tracker.load.openai_route import OpenAIRoute
from tracker.load.sglang_route import SglangRoute

VLLM = Path(__file__).parents[1] / "data" / "load"
LIMIT = 256


def _counts(url: str, route: Route, *, stream: bool, count: int = 1) -> list[Counts | None]:
    result = load(url, route, streams=1, stream=stream, count=count, tokens=LIMIT, timeout_s=5)
    return [answer.counts for answer in result.answers]


def _pieces(body: bytes, size: int) -> list[bytes]:
    return [body[place : place + size] for place in range(0, len(body), size)]


def _streams(shared_data: Path) -> dict[str, tuple[bytes, Route]]:
    recorded = shared_data / "h200-tiny-llama" / "endpoints"
    chat = OpenAIRoute(model="x", chat=True)
    return {
        "sglang eagle3": ((recorded / "eagle3.chat.sse").read_bytes(), chat),
        "sglang baseline": ((recorded / "base.chat.sse").read_bytes(), chat),
        "vllm chat": ((VLLM / "vllm-0.32.chat.sse").read_bytes(), chat),
        "vllm completions": ((VLLM / "vllm-0.32.completions.sse").read_bytes(), OpenAIRoute(model="x")),
    }


def _usage(body: bytes) -> int:
    events = [json.loads(line[5:]) for line in body.splitlines() if line.startswith(b"data: {")]
    return next(int(event["usage"]["completion_tokens"]) for event in reversed(events) if event.get("usage"))


@pytest.mark.parametrize("size", [7, 10**6, *(pytest.param(size, marks=pytest.mark.slow) for size in (1, 64, 4096))])
def test_a_recorded_stream_is_counted_alike_in_chunks_of_any_size(shared_data: Path, size: int) -> None:
    for name, (body, route) in _streams(shared_data).items():
        with replaying([chunked(_pieces(body, size))]) as url:
            (counts,) = _counts(url, route, stream=True)

        assert counts is not None, name
        assert (counts.output_tokens, counts.finish_reason) == (_usage(body), "length"), name


@pytest.mark.parametrize("reset", [False, True])
def test_a_recorded_stream_that_ends_early_is_never_counted(shared_data: Path, reset: bool) -> None:
    for name, (body, route) in _streams(shared_data).items():
        events = body.split(b"\n\n")
        # After each event but the last two (terminator, and what follows it), and in the middle of each.
        cuts = [b"\n\n".join(events[:count]) + b"\n\n" for count in range(1, len(events) - 1)]
        cuts += [cut[: len(cut) - 9] for cut in cuts]
        cuts = cuts[:: -(-len(cuts) // 24)]
        writes = [chunked([cut]) for cut in cuts]
        with replaying([part[:-1] if reset else part for part in writes], reset=reset) as url:
            counted = _counts(url, route, stream=True, count=len(cuts))

        assert len(counted) > 8, name
        assert not any(counted), name


def test_recorded_answers_of_generate_are_counted_as_they_say(shared_data: Path) -> None:
    file = shared_data / "h200-tiny-llama" / "eagle3-d1000-3-1-4" / "requests.jsonl"
    infos = [item["meta_info"] for item in map(json.loads, file.read_text().splitlines()) if "meta_info" in item][:24]
    bodies = [json.dumps({"text": "x", "meta_info": info}).encode() for info in infos]
    with replaying([whole(body) for body in bodies]) as url:
        counted = _counts(url, SglangRoute(), stream=False, count=24)

    assert [
        (item.output_tokens, item.verify_steps, item.accepted_drafts, item.proposed_drafts, item.accepted_histogram)
        for item in counted
        if item is not None
    ] == [
        (info["completion_tokens"], info["spec_verify_ct"], info["spec_num_correct_drafts"],
         info["spec_num_proposed_drafts"], tuple(info["spec_correct_drafts_histogram"]))
        for info in infos
    ]  # fmt: skip


@pytest.mark.parametrize("stream", [False, True])
def test_vllms_own_counts_of_drafts_are_taken_where_it_gives_them(stream: bool) -> None:
    body = (VLLM / f"vllm-0.32.completions.{'sse' if stream else 'json'}").read_bytes()
    with replaying([chunked([body]) if stream else whole(body)]) as url:
        (counts,) = _counts(url, OpenAIRoute(model="x"), stream=stream)

    assert counts is not None
    assert (counts.output_tokens, counts.verify_steps, counts.accepted_drafts, counts.proposed_drafts) == (11, 4, 6, 12)
    assert counts.accepted_histogram == (1, 1, 1, 1)


@pytest.mark.parametrize(
    ("answer", "words", "words_streamed"),
    [
        ([b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{}"], "connection broken", None),
        ([b"HTTP/1.1 307 Temporary Redirect\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n"], "HTTP 307", None),
        ([b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]"], "a list instead", "in the middle of"),
        ([b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"], "malformed", "without its terminator"),
        ([b"HTTP/1.1 429 Too Many Requests\r\ncontent-length: 4\r\n\r\nbusy"], "HTTP 429: busy", None),
        ([b"HTTP/9.9 nonsense\r\n\r\n"], "connection broken", None),
        ([b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n"], "connection broken", None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("stream", [False, True])
def test_what_is_no_answer_is_a_failure_of_that_request(
    answer: list[bytes], words: str, words_streamed: str | None, stream: bool
) -> None:
    with replaying([answer], reset=True) as url:
        (failed,) = load(url, SglangRoute(), streams=1, stream=stream, count=1, timeout_s=5).answers

    assert (words_streamed or words if stream else words) in (failed.error or "")
    assert failed.counts is None
