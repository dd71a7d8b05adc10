"""guidellm reports, JSON or YAML: one benchmark a load level, with distributions, and requests where they were kept.

Throughput is guidellm's mean over the measured window. Its token totals and durations span different requests (warm-up
and unfinished ones), so throughput is never recomputed from them. Requests carry the digest of the prompt that their
arguments hold (`request_args`, guidellm 0.4 and later) where the report lists all of them.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tracker.domain.measurement import Latency, Measurement, Reported, RequestRow
from tracker.errors import InputError
from tracker.importers import _guidellm, _jsonl, _prompt_text, _source, _spec_block
from tracker.importers.base import ImportedRun

# Until 0.3 a benchmark had its settings under `args` and its counts under `run_stats`.
_CONFIGURED = ("config", "args")
_COUNTED = ("scheduler_metrics", "run_stats")
_YAML_HEAD = re.compile(rb"^(benchmarks|metadata|config|args):", re.M)
_EXTRA = (
    "requests_per_second",
    "request_concurrency",
    "time_per_output_token_ms",
    "output_tokens_per_iteration",
    "iter_tokens_per_iteration",
)
# A report with every request of a long benchmark is large, but YAML of that size takes minutes to parse.
_YAML_LIMIT_BYTES = 32 * 2**20


class Guidellm:
    """guidellm reports."""

    name = "guidellm"
    title = "guidellm benchmarks.json or benchmarks.yaml, one load level a benchmark"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the object lists benchmarks with a strategy and metrics."""
        if b"strategy" not in head and b"guidellm" not in head:
            return False
        if head.lstrip().startswith(b"{"):
            value = _jsonl.first_value(head)
            return isinstance(value, dict) and (_is_report(value) or "guidellm_version" in str(value.get("metadata")))
        return bool(_YAML_HEAD.search(head)) and b"type_:" in head

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return one run for the closed-loop levels and one for each open-loop level.

        Raises:
            InputError: The report is cut, holds no benchmark, or a value is damaged.
        """
        report, cut = _document(path)
        if not isinstance(report, dict) or not isinstance(report.get("benchmarks"), list):
            raise InputError("the report is not whole", where=str(path), hint="guidellm writes it when it ends.")
        levels = []
        for index, item in enumerate(report["benchmarks"]):
            where = f"{path} (benchmark {index})"
            if not isinstance(item, dict) or not isinstance(item.get("metrics"), dict):
                raise InputError("this benchmark has no metrics", where=where, hint="Remove it.")
            levels.append(_level(_jsonl.Fields(data=item, where=where), report))
        if not levels:
            raise InputError(
                "the report holds no whole benchmark" + (f": {cut}" if cut else ""),
                where=str(path),
                hint="Did every request fail?",
            )
        return _guidellm.runs(levels, cut)


def _is_report(value: Mapping[str, Any]) -> bool:
    items = value.get("benchmarks")
    first = items[0] if isinstance(items, list) and items else None
    return isinstance(first, dict) and any("strategy" in str(first.get(key)) for key in _CONFIGURED)


def _document(path: Path) -> tuple[Any, str | None]:
    """Return the report and what it lacks; a YAML report cut in the middle of a line loses its last benchmark.

    Raises:
        InputError: It is neither JSON nor YAML.
    """
    content = _source.read_document(path)
    try:
        return _jsonl.parse(content), None
    except ValueError:
        if content.lstrip()[:1] == b"{":
            return None, None
    if content.endswith(b"\n"):
        return _source.parse_yaml(content, path, limit_bytes=_YAML_LIMIT_BYTES), None
    report = _source.parse_yaml(content[: content.rfind(b"\n") + 1], path, limit_bytes=_YAML_LIMIT_BYTES)
    if isinstance(report, dict) and isinstance(report.get("benchmarks"), list):
        report = {**report, "benchmarks": report["benchmarks"][:-1]}
    return report, "the report ends in the middle of a line; its last benchmark was left out"


def _level(fields: _jsonl.Fields, report: Mapping[str, Any]) -> _guidellm.Level:
    """Return one benchmark."""
    strategy = _first(fields, _CONFIGURED).inner("strategy")
    kind = strategy.text("type_")
    streams = _guidellm.concurrency(kind, strategy.count("streams"))
    metrics = fields.inner("metrics")
    mean, findings = _throughput(metrics)
    made = _first(fields, _COUNTED).inner("requests_made")
    totals = metrics.inner("request_totals") if isinstance(metrics.data.get("request_totals"), dict) else made
    extra = {name: _stat(metrics, name, "mean") for name in _EXTRA}
    extra["duration_s"] = fields.number("duration")
    cell = Measurement(
        concurrency=streams,
        requests_completed=totals.count("successful"),
        requests_failed=totals.count("errored"),
        input_tokens=_total(metrics, "prompt_token_count"),
        output_tokens=_total(metrics, "output_token_count"),
        reported_throughput_tok_s=mean,
        ttft_ms=_latency(metrics, "time_to_first_token_ms"),
        tpot_ms=_latency(metrics, "inter_token_latency_ms"),
        e2e_latency_ms=_latency(metrics, "request_latency", scale=1000),
        # guidellm averages no value at all to 0.
        extra={name: value for name, value in extra.items() if value},
    )
    rows, drafts = _requests(fields, streams)
    if len(rows) != cell.requests_completed:
        # The keys of a sample would make one and the same prompt set another one each time.
        rows = tuple(dataclasses.replace(row, prompt_key=None) for row in rows)
    cell, sampled = _guidellm.with_requests(cell, rows)
    return _guidellm.Level(
        strategy=kind,
        rate_per_s=strategy.number("rate") or None,
        cell=cell,
        requests=rows,
        prompt_set=_data(report),
        model=_model(fields),
        speculation=_spec_block.speculation(drafts),
        findings=(*findings, *sampled),
    )


def _first(fields: _jsonl.Fields, keys: tuple[str, ...]) -> _jsonl.Fields:
    """Return the first of several objects that is there; empty when none is."""
    return fields.inner(next((key for key in keys if isinstance(fields.data.get(key), dict)), keys[0]))


def _distribution(metrics: _jsonl.Fields, name: str) -> _jsonl.Fields:
    """Return the distribution of the successful requests; empty when there is none."""
    return metrics.inner(name).inner("successful")


def _stat(metrics: _jsonl.Fields, name: str, statistic: str) -> float | None:
    return _distribution(metrics, name).number(statistic)


def _throughput(metrics: _jsonl.Fields) -> tuple[Reported | None, tuple[Any, ...]]:
    mean, median = (_stat(metrics, "output_tokens_per_second", name) for name in ("mean", "median"))
    if mean is not None:
        return Reported(value=mean), ()
    return (None, ()) if median is None else (Reported(value=median), (_guidellm.MEDIAN_THROUGHPUT,))


def _total(metrics: _jsonl.Fields, name: str) -> int | None:
    value = _stat(metrics, name, "total_sum")
    return None if value is None else round(value)


def _latency(metrics: _jsonl.Fields, name: str, *, scale: float = 1.0) -> Latency | None:
    """Return a distribution as milliseconds; None where it has no values, whose mean guidellm writes as 0."""
    found = _distribution(metrics, name)
    percentiles = found.inner("percentiles")
    values = {
        "mean_ms": found.number("mean"),
        "median_ms": found.number("median"),
        "p90_ms": percentiles.number("p90"),
        "p99_ms": percentiles.number("p99"),
    }
    known = {key: value * scale for key, value in values.items() if value is not None}
    return Latency(**known) if any(known.values()) else None


def _requests(fields: _jsonl.Fields, streams: int | None) -> tuple[tuple[RequestRow, ...], set[int]]:
    """Return the successful requests that are listed, and the drafts per step their server names."""
    listed = fields.inner("requests").data.get("successful")
    rows: list[RequestRow] = []
    drafts: set[int] = set()
    for index, item in enumerate(listed if isinstance(listed, list) else []):
        where = f"{fields.where}, request {index}"
        if not isinstance(item, dict):
            raise InputError("this request is no object", where=where, hint="Remove it.")
        row, number = _request(_jsonl.Fields(data=item, where=where), streams)
        rows.append(row)
        if number is not None:
            drafts.add(number)
    return tuple(rows), drafts


def _request(item: _jsonl.Fields, streams: int | None) -> tuple[RequestRow, int | None]:
    """Return one request and its server's drafts per step."""
    block = _block(item)
    inputs = _tokens(item, "input_metrics", "prompt_tokens")
    row = RequestRow(
        prompt_key=_prompt_text.of_request(item.data.get("request_args") or item.data.get("args")),
        concurrency=streams,
        input_tokens=inputs,
        output_tokens=_tokens(item, "output_metrics", "output_tokens"),
        latency_s=item.number("request_latency"),
        ttft_s=_milliseconds(item, "time_to_first_token_ms"),
        **({} if block is None else _spec_block.counts(block)),
    )
    return row, None if block is None else block.count("num_spec_tokens")


def _block(item: _jsonl.Fields) -> _jsonl.Fields | None:
    """Return vLLM's speculative block of a request, wherever the backend's raw metrics put it."""
    for value in _nested(item.data.get("response_metrics")):
        if isinstance(value.get("speculative_decoding"), dict):
            return _jsonl.Fields(data=value["speculative_decoding"], where=item.where)
    return None


def _nested(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, dict):
        yield value
        inner = value.get("metrics")
        if isinstance(inner, dict):
            yield inner


def _tokens(item: _jsonl.Fields, group: str, plain: str) -> int | None:
    """Return a request's tokens, in the layout of 0.5 and later or the older flat one."""
    metrics = item.data.get(group)
    if isinstance(metrics, dict):
        inner = _jsonl.Fields(data=metrics, where=item.where)
        tokens = inner.count("text_tokens")
        return inner.count("total_tokens") if tokens is None else tokens
    return item.count(plain)


def _milliseconds(item: _jsonl.Fields, key: str) -> float | None:
    value = item.number(key)
    return None if value is None else value / 1000


def _data(report: Mapping[str, Any]) -> str | None:
    """Return the data set as the arguments name it."""
    for key in ("args", "config"):
        arguments = report.get(key)
        data = arguments.get("data") if isinstance(arguments, dict) else None
        if isinstance(data, list) and data:
            data = data[0]
        if isinstance(data, str) and data:
            return data
    return None


def _model(fields: _jsonl.Fields) -> str | None:
    backend = _first(fields, _CONFIGURED).data.get("backend")
    model = backend.get("model") if isinstance(backend, dict) else None
    return model if isinstance(model, str) and model else None


IMPORTER = Guidellm()
