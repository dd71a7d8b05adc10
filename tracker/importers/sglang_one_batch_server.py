"""SGLang `one_batch_server`: one JSON line a batch size and length, every request of a batch sent at once.

`output_throughput` there is tokens over the time after the last first token, so it leaves the prefill out; here it is
kept under its own name, and throughput is tokens over the whole latency, as every other tool counts it. `acc_length`
-1 means not available; it is the server's average since its last cache flush, which the tool does before each case.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement, Reported
from tracker.domain.workload import Workload
from tracker.importers import _identities, _jsonl, _pool, _serving, _spec_block, sglang_bench_serving
from tracker.importers.base import ImportedRun

_OWN_KEYS = frozenset({"batch_size", "input_len", "output_len", "latency", "overall_throughput", "last_ttft"})
_EXTRA = (
    "input_throughput",
    "output_throughput",
    "overall_throughput",
    "last_ttft",
    "last_gen_throughput",
    "steady_state_output_throughput",
    "steady_state_window_s",
    "cache_hit_rate",
    "num_early_stopped",
)
# The server refreshes its average every 40 decode steps.
_REFRESH_STEPS = 40


class SglangOneBatchServer:
    """SGLang's benchmark of one batch on a server."""

    name = "sglang_one_batch_server"
    title = "SGLang one_batch_server results, JSON Lines, one batch size a line"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the first object has the fields of this benchmark."""
        value = _jsonl.first_object(head)
        return value is not None and value.keys() >= _OWN_KEYS

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return one run a name and pair of lengths, with one measurement a batch size.

        Raises:
            InputError: No line in it is whole, or a value is damaged.
        """
        return _GRID.read(path)


def _run(lines: Sequence[_jsonl.Fields], row: int | None, cut: str | None) -> ImportedRun:
    """Return the run of one name and pair of lengths."""
    by_batch: dict[int | None, list[Measurement]] = {}
    for fields in lines:
        cell = _cell(fields)
        by_batch.setdefault(cell.concurrency, []).append(cell)
    cells = tuple(cell for group in by_batch.values() for cell in _pool.repeats(group))
    first = lines[0]
    output_len = first.count("output_len")
    findings = [finding for cell in cells for finding in _identities.check(cell)]
    if any(cell.reported_accept_length is not None for cell in cells):
        findings.append(sglang_bench_serving.CUMULATIVE)
        if output_len is not None and output_len < _REFRESH_STEPS:
            findings.append(_SHORT)
    return ImportedRun(
        name=first.text("run_name") if first.text("run_name") != "default" else None,
        row=row,
        measurements=cells,
        workload=Workload(
            input_tokens_mean=first.number("input_len"),
            output_tokens_mean=first.number("output_len"),
            max_output_tokens=output_len,
            concurrencies=tuple(sorted(size for size in by_batch if size is not None)),
        ),
        engine="sglang",
        speculation=_spec_block.seen(cells),
        findings=_identities.merge(findings),
        missing=cut,
    )


def _cell(fields: _jsonl.Fields) -> Measurement:
    """Return the measurement of one line."""
    size, inputs, outputs = fields.count("batch_size"), fields.count("input_len"), fields.count("output_len")
    total = fields.count("total_output_tokens")
    if total is None and size is not None and outputs is not None:
        total = size * outputs
    length = fields.number("acc_length")
    return Measurement(
        concurrency=size or None,
        requests_completed=size,
        input_tokens=None if size is None or inputs is None else size * inputs,
        output_tokens=total,
        wall_s=fields.number("latency"),
        reported_accept_length=None if length is None else Reported(value=length),
        extra={key: value for key in _EXTRA if (value := fields.number(key)) is not None},
    )


_SHORT = Finding(
    code="ANSWERS_TOO_SHORT_FOR_ACCEPTANCE",
    severity="warning",
    message=f"Answers of fewer than {_REFRESH_STEPS} tokens end before the server refreshes its accept length.",
    fix="Measure with --output-len of several hundred tokens.",
)

_GRID = _serving.Grid(
    tool="one_batch_server",
    own_keys=_OWN_KEYS,
    key=lambda fields: tuple(str(fields.data.get(name)) for name in ("run_name", "input_len", "output_len")),
    run=_run,
    hint="Run the benchmark with `--result-filename`.",
)

IMPORTER = SglangOneBatchServer()
