"""genai-bench results: one JSON a scenario and load, and the folder of an experiment with its metadata.

Layout of 0.0.2 (`<scenario>_<task>_<model>_num_concurrency_<N>_time_<T>s.json`, `experiment_metadata.json`). Times are
in the unit that the file names (`_time_unit`, seconds where it names none); `tpot` leaves the first token out.
Throughput is output tokens over the run's duration. There are no speculative fields, and buffered reads once made rates
of millions of tokens a second (genai-bench pull request 110), so nothing is taken from its per-request speeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tracker.domain.checkpoint import Checkpoint
from tracker.domain.measurement import Latency, Measurement, Reported, RequestRow
from tracker.domain.workload import Hardware, Workload
from tracker.errors import InputError
from tracker.importers import _identities, _jsonl, _pool, _source
from tracker.importers.base import ImportedRun

_METADATA = "experiment_metadata.json"
_METADATA_KEYS = frozenset({"benchmark_version", "traffic_scenario", "iteration_type"})
_TO_S = {"s": 1.0, "ms": 1e-3}
_ENGINES = frozenset({"sglang", "vllm"})
_MAX_ERROR_LENGTH = 200
# An experiment holds a file a scenario and load; a home folder named by mistake holds thousands.
_MAX_FILES = 2000


class GenaiBench:
    """genai-bench's results."""

    name = "genai_bench"
    title = "genai-bench results, JSON, one scenario and load a file, or the experiment's folder"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the object has genai-bench's aggregated metrics, or the folder an experiment's metadata."""
        if path.is_dir():
            return bool(_metadata(path))
        return _is_result(_jsonl.first_value(head))

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return one run a scenario, with one measurement a load.

        Raises:
            InputError: A file is cut, none holds a result, or a value is damaged.
        """
        files = _results(path) if path.is_dir() else [path]
        described = _metadata(path if path.is_dir() else path.parent)
        groups: dict[str, list[_jsonl.Fields]] = {}
        for file in files:
            fields = _document(file)
            groups.setdefault(fields.inner("aggregated_metrics").text("scenario") or "", []).append(fields)
        if not groups:
            raise InputError("the folder holds no result", where=str(path), hint="Was the experiment stopped?")
        single = len(groups) == 1
        return tuple(
            _run(scenario, results, described, None if single else row)
            for row, (scenario, results) in enumerate(sorted(groups.items()))
        )


def _is_result(value: Any) -> bool:
    metrics = value.get("aggregated_metrics") if isinstance(value, dict) else None
    return isinstance(metrics, dict) and {"scenario", "iteration_type"} <= metrics.keys()


def _results(folder: Path) -> Iterator[Path]:
    for index, item in enumerate(sorted(folder.iterdir())):
        if index >= _MAX_FILES:
            return
        if item.is_file() and item.suffix == ".json" and _is_result(_jsonl.first_value(_source.read_head(item))):
            yield item


def _metadata(folder: Path) -> Mapping[str, Any]:
    """Return what the experiment's metadata say; empty where they are not there."""
    path = folder / _METADATA
    value = _jsonl.whole_document(path) if path.is_file() else None
    return value if isinstance(value, dict) and value.keys() >= _METADATA_KEYS else {}


def _document(path: Path) -> _jsonl.Fields:
    value = _jsonl.whole_document(path)
    if not _is_result(value):
        raise InputError("the result is not whole", where=str(path), hint="genai-bench writes it when a load ends.")
    return _jsonl.Fields(data=value, where=str(path))


def _run(scenario: str, results: list[_jsonl.Fields], described: Mapping[str, Any], row: int | None) -> ImportedRun:
    """Return the run of one scenario."""
    by_load: dict[int | None, list[Measurement]] = {}
    requests: list[RequestRow] = []
    for fields in results:
        cell = _cell(fields)
        by_load.setdefault(cell.concurrency, []).append(cell)
        requests += _requests(fields, cell.concurrency)
    cells = [cell for group in by_load.values() for cell in _pool.repeats(group)]
    engine = _text(described, "server_engine").lower()
    model = _text(described, "model")
    return ImportedRun(
        name=scenario or None,
        row=row,
        measurements=tuple(cells),
        requests=tuple(requests),
        workload=_workload(scenario, cells, described),
        hardware=_hardware(described),
        engine=engine if engine in _ENGINES else None,
        target=Checkpoint(name=model, path=_text(described, "server_model_tokenizer") or None) if model else None,
        tags={
            key: text
            for key in ("benchmark_version", "api_backend", "task", "server_version")
            if (text := _text(described, key))
        },
        findings=_identities.merge([finding for cell in cells for finding in _identities.check(cell)]),
    )


def _text(described: Mapping[str, Any], key: str) -> str:
    value = described.get(key)
    return value if isinstance(value, str) and value != "None" else ""


def _cell(fields: _jsonl.Fields) -> Measurement:
    """Return the measurement of one load."""
    metrics = fields.inner("aggregated_metrics")
    stats, scale = metrics.inner("stats"), _seconds(fields)
    speed = metrics.number("mean_output_throughput_tokens_per_s")
    streams = metrics.count("num_concurrency") if metrics.text("iteration_type") == "num_concurrency" else None
    return Measurement(
        concurrency=streams or None,
        requests_completed=metrics.count("num_completed_requests"),
        requests_failed=metrics.count("num_error_requests"),
        input_tokens=_sum(stats, "num_input_tokens"),
        output_tokens=_sum(stats, "num_output_tokens"),
        # The duration is in seconds whatever unit the times of requests have.
        wall_s=metrics.number("run_duration") or None,
        reported_throughput_tok_s=None if speed is None else Reported(value=speed),
        ttft_ms=_latency(stats, "ttft", scale),
        tpot_ms=_latency(stats, "tpot", scale),
        e2e_latency_ms=_latency(stats, "e2e_latency", scale),
    )


def _seconds(fields: _jsonl.Fields) -> float:
    """Return how many seconds the file's unit of time has.

    Raises:
        InputError: It names another unit.
    """
    unit = fields.text("_time_unit") or "s"
    if unit not in _TO_S:
        raise fields.error("_time_unit", "is no unit that is known here")
    return _TO_S[unit]


def _sum(stats: _jsonl.Fields, name: str) -> int | None:
    value = stats.inner(name).number("sum")
    return None if value is None or value >= _jsonl.MAX_COUNT else round(value)


def _latency(stats: _jsonl.Fields, name: str, scale: float) -> Latency | None:
    found = stats.inner(name)
    values = {
        "mean_ms": found.number("mean"),
        "median_ms": found.number("p50"),
        "p90_ms": found.number("p90"),
        "p99_ms": found.number("p99"),
    }
    known = {key: 1000 * scale * value for key, value in values.items() if value is not None}
    return Latency(**known) if known else None


def _requests(fields: _jsonl.Fields, concurrency: int | None) -> Iterator[RequestRow]:
    """Yield the requests that are listed; one that failed has no numbers."""
    listed, scale = fields.data.get("individual_request_metrics"), _seconds(fields)
    for index, item in enumerate(listed if isinstance(listed, list) else []):
        where = f"{fields.where}, request {index}"
        if not isinstance(item, dict):
            raise InputError("this request is no object", where=where, hint="Remove it.")
        entry = _jsonl.Fields(data=item, where=where)
        code, ttft, latency = item.get("error_code"), entry.number("ttft"), entry.number("e2e_latency")
        yield RequestRow(
            concurrency=concurrency,
            input_tokens=entry.count("num_input_tokens"),
            output_tokens=entry.count("num_output_tokens"),
            ttft_s=None if ttft is None else ttft * scale,
            latency_s=None if latency is None else latency * scale,
            error=None if code is None else f"{code}: {item.get('error_message')}"[:_MAX_ERROR_LENGTH],
        )


def _workload(scenario: str, cells: list[Measurement], described: Mapping[str, Any]) -> Workload:
    done = [cell for cell in cells if cell.repeat is None and cell.requests_completed]
    requests = sum(cell.requests_completed or 0 for cell in done)
    data = _text(described, "dataset_path").rstrip("/").rsplit("/", 1)[-1]
    return Workload(
        prompt_set=" ".join(part for part in (data, scenario) if part) or None,
        input_tokens_mean=_mean([cell.input_tokens for cell in done], requests),
        output_tokens_mean=_mean([cell.output_tokens for cell in done], requests),
        concurrencies=tuple(sorted({cell.concurrency for cell in cells if cell.concurrency is not None})),
    )


def _mean(values: list[int | None], requests: int) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / requests if requests and known and len(known) == len(values) else None


def _hardware(described: Mapping[str, Any]) -> Hardware | None:
    gpu, count = _text(described, "server_gpu_type"), described.get("server_gpu_count")
    if isinstance(count, str) and count.isdecimal():
        count = int(count)
    known = count if type(count) is int and 0 < count < 2**20 else None
    return Hardware(gpu=gpu or None, gpu_count=known) if gpu or known else None


IMPORTER = GenaiBench()
