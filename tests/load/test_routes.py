"""What answers say, and what cannot be true."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tracker.errors import InputError
from tracker.load.answers import BadAnswerError, Sampling
from tracker.load.counters import read_counters
from tracker.load.openai_route import OpenAIRoute
from tracker.load.prompts import Prompt
from tracker.load.sglang_route import SglangRoute

SAMPLING = Sampling(max_output_tokens=256)


def _answer(**info: Any) -> bytes:
    return json.dumps({"text": "x", "meta_info": {"completion_tokens": 5, **info}}).encode()


def test_counts_of_real_answers_agree_with_what_the_file_says(shared_data: Path) -> None:
    file = shared_data / "h200-tiny-llama" / "eagle3-d1000-3-1-4" / "requests.jsonl"
    answers = [item for item in map(json.loads, file.read_text().splitlines()) if "meta_info" in item]

    counts = [SglangRoute().counts(json.dumps({"meta_info": item["meta_info"]}).encode(), SAMPLING) for item in answers]

    assert len(counts) == 240
    assert sum(item.output_tokens or 0 for item in counts) == sum(
        item["meta_info"]["completion_tokens"] for item in answers
    )
    assert sum(item.verify_steps or 0 for item in counts) == sum(
        item["meta_info"]["spec_verify_ct"] for item in answers
    )
    assert all(sum(item.accepted_histogram or ()) == item.verify_steps for item in counts)


@pytest.mark.parametrize(
    ("info", "words"),
    [
        ({"completion_tokens": None}, "does not say how many tokens"),
        ({"completion_tokens": -1}, "no count"),
        ({"completion_tokens": True}, "no count"),
        ({"completion_tokens": "5"}, "no count"),
        ({"completion_tokens": 257}, "claims 257"),
        ({"spec_verify_ct": 2, "spec_num_correct_drafts": 7, "spec_num_proposed_drafts": 6}, "7 accepted drafts of 6"),
        ({"spec_verify_ct": 2, "spec_correct_drafts_histogram": [1, 2]}, "3 of 2 verify steps"),
        ({"spec_verify_ct": 2, "spec_correct_drafts_histogram": [1, "x"]}, "something else than counts"),
        ({"finish_reason": {"type": "abort", "message": "no memory"}}, "no memory"),
        ({"finish_reason": "abort"}, "aborted"),
    ],
)  # fmt: skip
def test_counts_that_cannot_be_true_are_refused(info: dict[str, Any], words: str) -> None:
    with pytest.raises(BadAnswerError, match=words):
        SglangRoute().counts(_answer(**info), SAMPLING)


@pytest.mark.parametrize(
    ("keys", "accepted"),
    [
        ({"spec_num_correct_drafts": 3}, 3),
        ({"spec_accepted_drafts": 3}, 3),
        ({"spec_accept_token_num": 3}, 3),
        ({}, None),
    ],
)
def test_accepted_drafts_are_found_under_every_generations_name(keys: dict[str, int], accepted: int | None) -> None:
    assert SglangRoute().counts(_answer(spec_verify_ct=4, **keys), SAMPLING).accepted_drafts == accepted


def test_what_is_not_told_is_none() -> None:
    counts = SglangRoute().counts(_answer(), SAMPLING)

    assert counts.verify_steps is None
    assert counts.accepted_histogram is None
    assert counts.server_latency_s is None


def test_texts_do_not_stay_in_what_is_kept() -> None:
    counts = SglangRoute().counts(_answer(output_ids=[1, 2], id="r1"), SAMPLING)

    assert set(counts.meta) == {"completion_tokens"}


def test_requests_say_what_was_asked() -> None:
    sampling = Sampling(max_output_tokens=7, temperature=0.5, top_p=0.9, ignore_eos=False, seed=3)

    native = json.loads(SglangRoute().body(Prompt(text="a"), sampling, stream=False))
    chat = json.loads(OpenAIRoute(model="m", chat=True).body(Prompt(text="a"), sampling, stream=True))

    assert native["sampling_params"] == {
        "max_new_tokens": 7, "temperature": 0.5, "ignore_eos": False, "top_p": 0.9, "sampling_seed": 3,
    }  # fmt: skip
    assert chat["messages"] == [{"role": "user", "content": "a"}]
    assert chat["stream_options"] == {"include_usage": True}
    assert "ignore_eos" not in chat


def test_a_stream_of_a_real_server_is_counted_by_its_usage(shared_data: Path) -> None:
    text = (shared_data / "h200-tiny-llama" / "endpoints" / "eagle3.chat.sse").read_bytes()
    events = [line[5:].strip() for line in text.splitlines() if line.startswith(b"data:") and b"[DONE]" not in line]
    route = OpenAIRoute(model="x", chat=True)
    usage = next(item["usage"] for item in map(json.loads, reversed(events)) if item.get("usage"))

    counts = route.stream_counts(events, SAMPLING)

    assert counts.output_tokens == usage["completion_tokens"]
    assert counts.finish_reason is not None
    assert not route.has_token(events[0])
    assert any(route.has_token(event) for event in events[1:])


def test_an_error_is_no_answer_streamed_or_whole() -> None:
    body = b'{"error": {"message": "input too long"}}'
    for route in (SglangRoute(), OpenAIRoute(model="m")):
        with pytest.raises(BadAnswerError, match="too long"):
            route.counts(body, SAMPLING)
        with pytest.raises(BadAnswerError, match="too long"):
            route.stream_counts([body], SAMPLING)


def test_the_servers_own_token_count_is_read_from_real_metrics(shared_data: Path) -> None:
    body = (shared_data / "h200-tiny-llama" / "baseline-nograph" / "metrics.prom").read_bytes()

    counters = read_counters(body)
    assert counters is not None
    assert counters.output_tokens == 45952
    assert read_counters(None) is None
    assert read_counters(b"# nothing\n") is None


def test_token_ids_are_sent_as_they_are_and_a_chat_refuses_them() -> None:
    prompt = Prompt(token_ids=(11, 12, 13))

    native = json.loads(SglangRoute().body(prompt, SAMPLING, stream=False))
    openai = json.loads(OpenAIRoute(model="m").body(prompt, SAMPLING, stream=False))

    assert native["input_ids"] == openai["prompt"] == [11, 12, 13]
    assert "text" not in native
    with pytest.raises(InputError, match="token ids"):
        OpenAIRoute(model="m", chat=True).body(prompt, SAMPLING, stream=False)
