"""The clients that send the same load: plain aiohttp, tracker, and other benchmarks where they are installed.

Another benchmark runs under the interpreter that a variable names, so that it need not share tracker's environment:

    TRACKER_BENCH_SGLANG   python of an environment with sglang          (python -m sglang.bench_serving)
    TRACKER_BENCH_VLLM     python of an environment with vllm or its CPU build     (vllm bench serve)
    TRACKER_BENCH_AIPERF   python of an environment with aiperf                    (aiperf profile)
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

WORDS = 16
SAMPLED_PERCENT = 5
_ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a client is to send."""

    url: str
    """The mock server."""
    streams: int
    """Requests in flight."""
    requests: int
    """Requests in all."""
    tokens: int
    """Tokens of an answer."""
    inputs: Path
    """Folder with `prompts.jsonl` and a tokenizer (see `write_inputs`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One client."""

    name: str
    """Shown in the results."""
    command: Callable[[Job], list[str]]
    """The command that does the job."""
    warmup: int = 0
    """Requests that it sends before the load."""
    streamed: bool = True
    """Whether every answer is streamed; else a stated sample."""
    peer: bool = False
    """Whether it is another benchmark."""


def write_inputs(folder: Path) -> Path:
    """Return a folder with prompts of 16 tokens, and a word-level tokenizer for clients that count tokens."""
    folder.mkdir(parents=True)
    prompts = [" ".join(f"w{(7 * index + place) % 4000}" for place in range(WORDS)) for index in range(512)]
    lines = [json.dumps({"prompt": text, "text": text}) for text in prompts]
    (folder / "prompts.jsonl").write_text("\n".join(lines) + "\n")
    vocabulary = {name: index for index, name in enumerate(["<unk>", "word", *(f"w{index}" for index in range(4000))])}
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None, "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"},
    }  # fmt: skip
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "<unk>", "model_max_length": 4096}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


def environment(folder: Path) -> dict[str, str]:
    """Return the variables under which every client runs; what it keeps stays in the folder."""
    return {
        # Any value here, 0 too, and aiperf refuses a tokenizer from a folder.
        "TRACKER_DATA_DIR": str(folder / "data"), "HF_HUB_OFFLINE": "", "TOKENIZERS_PARALLELISM": "false",
        "VLLM_NO_USAGE_STATS": "1", "PYTHONPATH": os.environ.get("PYTHONPATH", ""), "HOME": str(folder),
    }  # fmt: skip


def _reference(job: Job) -> list[str]:
    script = str(Path(__file__).with_name("load_reference.py"))
    return [sys.executable, script, job.url, str(job.streams), str(job.requests), str(job.tokens)]


def _tracker(job: Job, percent: int, *more: str) -> list[str]:
    main = f"import sys; sys.path.insert(0, {str(_ROOT)!r}); from tracker.cli.main import main; main()"
    return [
        sys.executable, "-c", main, "bench", job.url, "--concurrency", str(job.streams), "--requests",
        str(job.requests), "--output-tokens", str(job.tokens), "--repeats", "1", "--warmup", "0",
        "--streamed", str(percent), "--prompts", str(job.inputs / "prompts.jsonl"), "--spool", "spool", *more,
    ]  # fmt: skip


def _sglang(python: str) -> Callable[[Job], list[str]]:
    return lambda job: [
        python, "-m", "sglang.bench_serving", "--backend", "sglang", "--base-url", job.url, "--model", str(job.inputs),
        "--tokenizer", str(job.inputs), "--dataset-name", "random-ids", "--random-input-len", str(WORDS),
        "--random-output-len", str(job.tokens), "--random-range-ratio", "1", "--num-prompts", str(job.requests),
        "--max-concurrency", str(job.streams), "--warmup-requests", "1", "--disable-tqdm",
        "--output-file", "sglang.jsonl",
    ]  # fmt: skip


def _vllm(python: str) -> Callable[[Job], list[str]]:
    return lambda job: [
        python, "-m", "vllm.entrypoints.cli.main", "bench", "serve", "--backend", "vllm", "--base-url", job.url,
        "--model", "mock", "--tokenizer", str(job.inputs), "--dataset-name", "random", "--random-input-len",
        str(WORDS), "--random-output-len", str(job.tokens), "--num-prompts", str(job.requests), "--max-concurrency",
        str(job.streams), "--ignore-eos", "--disable-tqdm", "--ready-check-timeout-sec", "0",
    ]  # fmt: skip


def _aiperf(python: str) -> Callable[[Job], list[str]]:
    return lambda job: [
        python, "-m", "aiperf", "profile", "--model", "mock", "--tokenizer", str(job.inputs), "--url", job.url,
        "--endpoint-type", "completions", "--streaming", "--concurrency", str(job.streams), "--request-count",
        str(job.requests), "--input-file", str(job.inputs / "prompts.jsonl"), "--custom-dataset-type", "single_turn",
        "--extra-inputs", f"max_tokens:{job.tokens}", "--extra-inputs", "ignore_eos:true", "--ui-type", "none",
        "--use-server-token-count",
    ]  # fmt: skip


REFERENCE = Client(name="plain aiohttp", command=_reference)
OURS = (
    Client(name="tracker, all streamed, /generate", command=lambda job: _tracker(job, 100)),
    Client(
        name="tracker, all streamed, /v1/completions",
        command=lambda job: _tracker(job, 100, "--route", "openai", "--model", "mock"),
    ),
    Client(
        name=f"tracker, {SAMPLED_PERCENT} % streamed, /generate",
        command=lambda job: _tracker(job, SAMPLED_PERCENT),
        streamed=False,
    ),
)
_PEERS: tuple[tuple[str, str, str, int, Callable[[str], Callable[[Job], list[str]]]], ...] = (
    ("TRACKER_BENCH_SGLANG", "sglang", "sglang bench_serving, /generate", 1, _sglang),
    ("TRACKER_BENCH_VLLM", "vllm", "vllm bench serve, /v1/completions", 0, _vllm),
    ("TRACKER_BENCH_AIPERF", "aiperf", "aiperf, /v1/completions", 0, _aiperf),
)


def peers() -> tuple[list[Client], list[str]]:
    """Return the other benchmarks that can be run here, and a line for each that cannot."""
    found, missing = [], []
    for variable, package, name, warmup, command in _PEERS:
        python = os.environ.get(variable)
        version = _version(python, package) if python else None
        if python and version:
            label = f"{name.partition(',')[0]} {version},{name.partition(',')[2]}"
            found.append(Client(name=label, command=command(python), warmup=warmup, peer=True))
        else:
            missing.append(f"{name.partition(',')[0]}: not installed (name its python in {variable})")
    return found, missing


def _version(python: str, package: str) -> str | None:
    program = f"from importlib import metadata; print(metadata.version({package!r}))"
    try:
        done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
