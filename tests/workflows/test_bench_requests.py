"""What a benchmark asks: templates, thinking, failures told, and an end by Ctrl-C between passes."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fakes.servers import EAGLE3, serving, shared
from tests.workflows.benching import bench, plan
from tracker.load.chat_template import read_chat_template
from tracker.workflows.bench_measure import Progress, measure
from tracker.workflows.bench_plan import Load

QWEN = (
    "{{ bos_token }}{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% if enable_thinking is defined and not "
    "enable_thinking %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)
ONE = (Load(concurrency=1, requests=1),)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Return a model's folder with its chat template."""
    folder = tmp_path / "model"
    folder.mkdir()
    config = {"chat_template": QWEN, "bos_token": {"content": "<s>"}, "eos_token": "</s>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


def _asked(url: str) -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(f"{url}/last_request", trust_env=False).json()
    return found


@pytest.mark.parametrize("route", ["sglang", "openai"])
@pytest.mark.parametrize("thinking", [True, False, None])
def test_a_prompt_is_sent_in_the_models_template_and_the_record_says_which(
    tmp_path: Path, model: Path, route: str, thinking: bool | None
) -> None:
    template = read_chat_template(model)
    with shared() as url:
        record = bench(url, tmp_path, loads=ONE, route=route, chat_template=template, thinking=thinking).record
        asked = _asked(url)

    sent = asked["text"] if route == "sglang" else asked["prompt"]
    # The server puts the first special token before every text itself.
    assert sent.startswith("<|im_start|>user\nsecret text 0<|im_end|>\n<|im_start|>assistant\n")
    assert ("<think>\n\n</think>" in sent) is (thinking is False)
    assert record.workload is not None
    assert (record.workload.template_digest, record.workload.thinking) == (template.digest, thinking)


@pytest.mark.parametrize("thinking", [True, False])
def test_the_chat_route_passes_the_thinking_switch_to_the_servers_template(tmp_path: Path, thinking: bool) -> None:
    with shared() as url:
        record = bench(url, tmp_path, loads=ONE, route="openai-chat", thinking=thinking).record
        asked = _asked(url)

    assert asked["messages"] == [{"role": "user", "content": "secret text 0"}]
    assert asked["chat_template_kwargs"] == {"enable_thinking": thinking, "thinking": thinking}
    assert record.workload is not None
    assert record.workload.thinking is thinking


def test_failed_requests_are_told_by_kind_and_none_is_sent_again(tmp_path: Path) -> None:
    with serving(FAKE_MODE="hang:5,http500:4") as url:
        outcome = bench(url, tmp_path, loads=(Load(concurrency=4, requests=16),), timeout_s=0.5, warmup_requests=0)

    (cell,) = outcome.record.pooled()
    (found,) = [finding for finding in outcome.record.findings if finding.code == "REQUESTS_FAILED"]
    assert (cell.requests_completed, cell.requests_failed) == (9, 7)
    assert cell.extra["requests_timed_out"] == 3
    assert "4 answered with HTTP 500, 3 timed out. None was sent again" in found.message
    # A request more would show as one more counted token, or another row.
    assert cell.output_tokens == 9 * 12
    rows = (tmp_path / "out" / "requests.jsonl").read_text().splitlines()
    assert sum('"error"' in row for row in rows) == 7


def test_ctrl_c_between_two_passes_keeps_the_passes_before() -> None:
    asked = plan(loads=(Load(concurrency=1, requests=4),), repeats=50)

    def interrupt(progress: Progress) -> None:
        # After the last answer of the second pass the counters are read twice, a tenth of a second apart.
        if progress.done == 8:
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()

    with shared(*EAGLE3) as url:
        measured = measure(url, asked, on_progress=interrupt)

    assert measured.ended_early == "interrupted between passes"
    assert [(item.repeat, item.whole, len(item.result.answers)) for item in measured.kept] == [
        (0, True, 4),
        (1, True, 4),
    ]
