"""What differs between two runs besides their numbers: versions, flags, machine, checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracker.analysis.configurations import SPEED_FLAGS
from tracker.domain.record import RunRecord
from tracker.domain.server import ServerConfig

# Choices about load and memory that change speed without changing a configuration's label.
LOAD_FLAGS = (
    "max_running_requests",
    "cuda_graph_max_bs",
    "disable_cuda_graph",
    "chunked_prefill_size",
    "enable_mixed_chunk",
    "schedule_policy",
    "context_length",
)


def differing_facts(first: RunRecord, second: RunRecord) -> tuple[str, ...]:
    """Return recorded facts that differ, each as `name: before to after`; what only one run knows is no difference."""
    found = [
        f"{name} {before} to {after}"
        for name, before, after in (
            ("engine version", *_pair(first, second, lambda record: _server(record).version)),
            ("GPU driver", *_pair(first, second, lambda record: record.hardware and record.hardware.driver)),
            ("host", *_pair(first, second, lambda record: record.provenance.host)),
            ("git commit", *_pair(first, second, lambda record: (record.provenance.git_commit or "")[:12] or None)),
            ("drafter files", *_pair(first, second, _drafter_digest)),
            (
                "chat template",
                *_pair(first, second, lambda record: record.workload and record.workload.template_digest),
            ),
            ("launch prefix", *_pair(first, second, lambda record: record.tags.get("sweep.launch_prefix"))),
        )
        if before is not None and after is not None and before != after
    ]
    found += _mapping(first.provenance.packages, second.provenance.packages, "")
    found += _mapping(_server(first).environment, _server(second).environment, "")
    flags = {name: (_server(first).get(name), _server(second).get(name)) for name in (*SPEED_FLAGS, *LOAD_FLAGS)}
    found += [
        f"--{name.replace('_', '-')} {before} to {after}"
        for name, (before, after) in flags.items()
        if before is not None and after is not None and str(before) != str(after)
    ]
    return tuple(found)


def _server(record: RunRecord) -> ServerConfig:
    return ServerConfig() if record.server is None else record.server


def _drafter_digest(record: RunRecord) -> str | None:
    digest = None if record.drafter is None else record.drafter.header_digest or record.drafter.config_digest
    return None if digest is None else digest[:12]


def _pair(first: RunRecord, second: RunRecord, fact: Any) -> tuple[Any, Any]:
    return fact(first), fact(second)


def _mapping(first: Mapping[str, str], second: Mapping[str, str], prefix: str) -> list[str]:
    shared = sorted(first.keys() & second.keys())
    return [f"{prefix}{name} {first[name]} to {second[name]}" for name in shared if first[name] != second[name]]
