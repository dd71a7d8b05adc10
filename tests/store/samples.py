"""Runs that look like real ones, for the tests of this room."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

from tracker.domain.campaign import Campaign, Claim, Costs, Reference
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.finding import Finding
from tracker.domain.measurement import Latency, Measurement, Reported, RequestRow
from tracker.domain.provenance import InputFile, Provenance
from tracker.domain.record import Attachment, LoggedRun, RunRecord
from tracker.domain.server import FlagDifference, ServerConfig, Speculation
from tracker.domain.training import MetricPoint, Training, TrainingCost
from tracker.domain.workload import Hardware, Workload

LOGGED_AT = datetime(2026, 11, 29, 20, 30, 15, 123456, tzinfo=UTC)
CONCURRENCIES = (1, 8, 32)


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def provenance(**changes: Any) -> Provenance:
    given: dict[str, Any] = {
        "measured_at": LOGGED_AT - timedelta(hours=2),
        "logged_at": LOGGED_AT,
        "logged_by": "m***",
        "tracker_version": "0.1.0",
        "importer": "sglang_responses",
        "inputs": (InputFile(name="requests.jsonl", sha256=sha("input"), size_bytes=1234),),
        "command": ("python", "-m", "sglang.bench_serving", "--dataset-name", "sharegpt"),
        "command_exit_code": 0,
        "git_commit": "0123456789abcdef0123456789abcdef01234567",
        "git_dirty": True,
        "packages": {"sglang": "0.5.17", "torch": "2.11.0"},
        "platform": "Linux, Python 3.11",
        "host": "h200-*",
        "scheduler": {"SLURM_JOB_ID": "4711"},
    }
    return Provenance(**(given | changes))


def cell(concurrency: int | None, category: str | None = None, **changes: Any) -> Measurement:
    streams = concurrency or 1
    given: dict[str, Any] = {
        "concurrency": concurrency,
        "category": category,
        "requests_completed": 19,
        "requests_failed": 0,
        "prompts": 19,
        "input_tokens": 1200,
        "output_tokens": 4864,
        "wall_s": 6.988 / streams,
        "busy_s": 6.9,
        "verify_steps": 1603,
        "accepted_drafts": 3261,
        "proposed_drafts": 4809,
        "accepted_histogram": (200, 300, 348, 755),
        "cached_input_tokens": 38,
        "ttft_ms": Latency(mean_ms=11.5, median_ms=11.0, p90_ms=14.2, p99_ms=20.1),
        "tpot_ms": Latency(mean_ms=1.4, median_ms=1.39),
    }
    return Measurement(**(given | changes))


def record(name: str = "EAGLE3 3-1-4, 100K samples", **changes: Any) -> RunRecord:
    given: dict[str, Any] = {
        "record_id": sha(name),
        "kind": "benchmark",
        "experiment": "h200-tiny-llama",
        "name": name,
        "role": "candidate",
        "server": ServerConfig(
            engine="sglang",
            version="0.5.17",
            argv=("python", "-m", "sglang.launch_server", "--model-path", "/models/it's here"),
            typed={"model_path": "/models/it's here", "speculative_num_steps": 3, "watchdog_timeout": 300},
            arguments={
                "model_path": "/models/it's here",
                "tp_size": 1,
                "speculative_num_steps": 3,
                "cuda_graph_bs": [1, 2, 4, 8],
                "json_model_override_args": {"rope": {"factor": 8.0}},
                "dp_size": None,
            },
            differences=(
                FlagDifference(
                    name="max_running_requests", first="None", first_source="argv", second="48",
                    second_source="server_info",
                ),
            ),
            environment={"CUDA_VISIBLE_DEVICES": "0"},
            sources=("server_info", "argv"),
            unknown_flags=("--brand-new-flag",),
        ),
        "speculation": Speculation(
            enabled=True, algorithm="EAGLE3", num_steps=3, eagle_topk=1, num_draft_tokens=4, draft_model_path="d100000"
        ),
        "target": Checkpoint(name="tiny-llama", kind="model", hidden_size=512),
        "drafter": Checkpoint(
            name="drafter/d100000", kind="eagle3", architecture="LlamaForCausalLMEagle3", config_digest=sha("config"),
            file_sizes_bytes={"model.safetensors": 123_456_789}, draft_vocab_size=2048, aux_layer_ids=(1, 3, 6),
            sources=("config.json",),
        ),
        "hardware": Hardware(gpu="NVIDIA H200", gpu_count=1),
        "workload": Workload(
            prompt_set="python-19", prompt_set_digest=sha("prompts"), prompts=19, categories=("code", "docs"),
            temperature=0.0, concurrencies=CONCURRENCIES,
        ),
        "cuda_graph": True,
        "measurements": (
            *(cell(concurrency) for concurrency in CONCURRENCIES),
            *(cell(1, category) for category in ("code", "docs")),
            cell(1, repeat=0),
        ),
        "training": Training(samples=100_000, tokens=25_600_000, optimizer_steps=1200, data_name="py-100k"),
        "provenance": provenance(),
        "tags": {"owner": "maria"},
        "note": "first try | with <b>bold</b>",
    }  # fmt: skip
    return RunRecord(**(given | changes))


def rows(count: int = 20) -> tuple[RequestRow, ...]:
    return tuple(
        RequestRow(
            prompt_key=sha(f"prompt {i}"), category="code" if i % 2 else None, concurrency=8, repeat=i % 3,
            input_tokens=100 + i, output_tokens=256, latency_s=0.1 + i / 7, verify_steps=80, accepted_drafts=176,
            accepted_histogram=(10, 20, 30) if i else None, finish_reason="length",
            error=None if i else "HTTP 500: ü",
        )
        for i in range(count)
    )  # fmt: skip


def run(name: str = "EAGLE3 3-1-4, 100K samples", *, request_count: int = 20, **changes: Any) -> LoggedRun:
    return LoggedRun(
        record=record(name, **changes),
        requests=rows(request_count),
        attachments=(
            Attachment(name="input/requests.jsonl", content=b'{"text": null}\n' * 50),
            Attachment(name="input/server.log", content="läuft\n".encode() * 100),
        ),
    )


def small(experiment: str, number: int) -> LoggedRun:
    """A run with one measurement and no files but its own, measured at a minute of its own."""
    return run(
        f"run {number}", experiment=experiment, record_id=sha(f"{experiment} {number}"), request_count=0,
        measurements=(cell(1),), server=None, drafter=None, training=None,
        provenance=provenance(measured_at=LOGGED_AT + timedelta(minutes=number)),
    )  # fmt: skip


def training_run(name: str = "train d100000", **changes: Any) -> LoggedRun:
    training = Training(
        samples=100_000,
        tokens=25_600_000,
        optimizer_steps=1200,
        batch_size=64,
        data_name="py-100k",
        data_digest=sha("data"),
        hyperparameters={"lr": 1e-4, "schedule": {"warmup": 20}},
        history=tuple(MetricPoint(name="loss", step=step, value=9 / (1 + step)) for step in range(5)),
        validation_position_accuracy=(0.7, 0.6, 0.5),
        gpu="NVIDIA H200",
        cost=TrainingCost(training_gpu_hours=0.05),
    )
    given: dict[str, Any] = {
        "kind": "training", "role": None, "server": None, "speculation": None, "workload": None, "cuda_graph": None,
        "measurements": (), "training": training,
    }  # fmt: skip
    return LoggedRun(record=record(name, **(given | changes)))


def finding(code: str = "ALGO_MISMATCH_EAGLE_FOR_EAGLE3", **changes: Any) -> Finding:
    given: dict[str, Any] = {
        "code": code, "severity": "error", "message": "EAGLE was given for an EAGLE-3 drafter.",
        "fix": "--speculative-algorithm EAGLE3", "confidence": "certain", "voids": ("acceptance",),
        "flag_before": "--speculative-algorithm EAGLE", "flag_after": "--speculative-algorithm EAGLE3",
    }  # fmt: skip
    return Finding(**(given | changes))


def campaign(name: str = "h200-tiny-llama", **changes: Any) -> Campaign:
    given: dict[str, Any] = {
        "name": name,
        "title": "Tiny Llama on one H200",
        "question": "Deploy the drafter?",
        "decision_concurrency": 8,
        "costs": Costs(gpus=1, horizon_days=90.0, price_per_gpu_hour=2.5),
        "claims": (Claim(quantity="break_even_accept_length", value=2.5, by="the author's estimate"),),
        "references": (Reference(text="EAGLE-3 on Llama-3.1-8B", source="arXiv:2503.01840", accept_length=5.4),),
        "untested": ("top-k 8",),
    }
    return Campaign(**(given | changes))


def reported(value: float) -> Reported:
    return Reported(value=value, half_width=0.05)
