"""A folder of `vllm bench sweep serve`: one folder a combination of server and client settings, one file a repeat.

The settings of a combination are written flat into its results, among the benchmark's own fields, so a setting is
known by not being one of those. The base command of the server is not stored. Combinations that differ only in the
concurrency are one run; warm-up results and summaries are left out; failed combinations are named.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracker.domain.checkpoint import Checkpoint
from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement
from tracker.domain.server import Speculation
from tracker.errors import InputError
from tracker.importers import _identities, _jsonl, _pool, _source, vllm_bench_serve
from tracker.importers.base import ImportedRun

MAX_FILES = 2000
_BENCH = vllm_bench_serve.IMPORTER
# What `vllm bench serve` writes itself; what else stands there is a setting of the sweep.
_OWN_FIELDS = frozenset({
    "date", "endpoint_type", "backend", "label", "model_id", "tokenizer_id", "num_prompts", "request_rate",
    "burstiness", "max_concurrency", "ramp_up_strategy", "ramp_up_start_rps", "ramp_up_end_rps", "duration",
    "completed", "failed", "total_input_tokens", "total_output_tokens", "request_throughput", "request_goodput",
    "output_throughput", "total_token_throughput", "max_output_tokens_per_s", "max_concurrent_requests", "rtfx",
    "input_lens", "output_lens", "ttfts", "itls", "start_times", "generated_texts", "errors", "run_number",
    "server_queue_times", "server_ttfts",
})  # fmt: skip
_OWN_PREFIXES = ("mean_", "median_", "std_", "p50_", "p90_", "p95_", "p99_", "spec_decode_")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    """One repeat of one combination."""

    run: ImportedRun
    settings: Mapping[str, str]
    spec: Speculation | None
    number: int


class VllmBenchSweep:
    """Folders of vLLM's parameter sweep."""

    name = "vllm_bench_sweep"
    title = "folder of vllm bench sweep serve, one combination of settings a run"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the folder, or folders in it, hold results with a `run_number`."""
        return path.is_dir() and any(
            b'"run_number"' in item.read_bytes() and _BENCH.sniff(item, _source.read_head(item))
            for item in _candidates(path)
            if item.stat().st_size <= _source.DOCUMENT_LIMIT_BYTES
        )

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return one run a combination of settings other than the concurrency.

        Raises:
            InputError: No result in the folder is whole.
        """
        if not path.is_dir():
            raise InputError("this is a file, not a folder", where=str(path), hint="Name the sweep's folder.")
        results, missing = _results(path)
        if not results:
            raise InputError(
                "the folder holds no whole result" + (f": {'; '.join(missing)}" if missing else ""),
                where=str(path),
                hint="Run the sweep again with `--resume`.",
            )
        groups: dict[str, list[_Result]] = {}
        for result in results:
            rest = {name: value for name, value in result.settings.items() if name != "max_concurrency"}
            rate = None if result.run.workload is None else result.run.workload.request_rate_per_s
            groups.setdefault(json.dumps([rest, rate], sort_keys=True), []).append(result)
        lacks = "; ".join(missing) or None
        return tuple(_run(group, row, lacks) for row, group in enumerate(groups.values()))


def _candidates(path: Path) -> Iterator[Path]:
    """Yield the JSON files of a folder and of the folders in it, in order of their names."""
    found = 0
    for item in sorted(path.iterdir()):
        for inner in sorted(item.iterdir()) if item.is_dir() else [item]:
            if inner.is_file() and inner.suffix == ".json":
                yield inner
                found += 1
                if found >= MAX_FILES:
                    return


def _results(path: Path) -> tuple[list[_Result], list[str]]:
    """Return the measured results, and what failed or is cut, in words."""
    results: list[_Result] = []
    missing: list[str] = []
    for item in _candidates(path):
        value = _jsonl.whole_document(item)
        name = item.relative_to(path).as_posix()
        if value is None:
            missing.append(f"{name} is cut")
        elif isinstance(value, dict) and "error_type" in value:
            missing.append(f"{name} says {str(value['error_type'])[:40]}")
        elif isinstance(value, dict) and "run_number" in value and "output_throughput" in value:
            fields = _jsonl.Fields(data=value, where=str(item))
            number = value["run_number"]
            if type(number) is int and number >= 0:
                results.append(_result(fields, item, number))
    return results, missing


def _result(fields: _jsonl.Fields, item: Path, number: int) -> _Result:
    (run,) = _BENCH.read(item)
    settings = {
        name: value if isinstance(value, str) else json.dumps(value, sort_keys=True)
        for name, value in fields.data.items()
        if name not in _OWN_FIELDS and not name.startswith(_OWN_PREFIXES)
    }
    return _Result(run=run, settings=settings, spec=_speculation(fields, run), number=number)


def _speculation(fields: _jsonl.Fields, run: ImportedRun) -> Speculation | None:
    """Return what a swept `speculative_config` says, else what the counters say."""
    value: Any = fields.data.get("speculative_config", fields.data.get("speculative-config"))
    if isinstance(value, str):
        try:
            value = _jsonl.parse(value)
        except ValueError:
            value = None
    if not isinstance(value, dict):
        return run.speculation
    config = _jsonl.Fields(data=value, where=fields.where)
    drafts, method = config.count("num_speculative_tokens"), config.text("method")
    return Speculation(
        enabled=True,
        algorithm=None if method is None else method.upper(),
        num_steps=drafts,
        num_draft_tokens=None if drafts is None else drafts + 1,
        draft_model_path=config.text("model"),
    )


def _run(results: Sequence[_Result], row: int, missing: str | None) -> ImportedRun:
    """Return the run of one combination: repeats pooled, concurrencies side by side."""
    first = results[0]
    by_load: dict[int | None, list[Measurement]] = {}
    for result in sorted(results, key=lambda item: item.number):
        for cell in result.run.measurements:
            by_load.setdefault(cell.concurrency, []).append(cell)
    cells = tuple(cell for group in by_load.values() for cell in _pool.repeats(group))
    loads = tuple(sorted(load for load in by_load if load is not None))
    settings = {name: value for name, value in first.settings.items() if name != "max_concurrency"}
    spec = first.spec
    findings: list[Finding] = [
        *(finding for result in results for finding in result.run.findings),
        *(
            finding
            for cell in cells
            for finding in _identities.check(cell, num_steps=None if spec is None else spec.num_steps)
        ),
    ]
    workload = first.run.workload
    draft = None if spec is None else spec.draft_model_path
    return dataclasses.replace(
        first.run,
        name=_name(settings, spec) or first.run.name,
        row=row,
        measurements=cells,
        requests=tuple(request for result in results for request in result.run.requests),
        workload=None if workload is None else dataclasses.replace(workload, concurrencies=loads),
        speculation=spec,
        drafter=None if draft is None else Checkpoint(name=draft.rstrip("/").rsplit("/", 1)[-1], path=draft),
        tags={**first.run.tags, **{f"sweep.{name}": value for name, value in settings.items()}},
        findings=_identities.merge(findings),
        missing=missing,
    )


def _name(settings: Mapping[str, str], spec: Speculation | None) -> str:
    """Return what distinguishes a combination, a speculative configuration in short."""
    parts = []
    for name, value in sorted(settings.items()):
        if name.replace("-", "_") == "speculative_config" and spec is not None:
            parts.append(" ".join(part for part in (spec.algorithm, f"k={spec.num_steps}") if part))
        else:
            parts.append(f"{name}={value}")
    return ", ".join(parts)


IMPORTER = VllmBenchSweep()
