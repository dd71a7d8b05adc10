"""SGLang `offline_throughput`: one JSON line a run, every prompt given to the engine at once; no accept length."""

from __future__ import annotations

from pathlib import Path

from tracker.domain.measurement import Measurement
from tracker.importers import _identities, _jsonl, _normalise, _serving
from tracker.importers.base import ImportedRun

_OWN_KEYS = frozenset({"backend", "successful_requests", "total_latency", "total_output_tokens"})
_EXTRA = ("request_throughput", "input_throughput", "total_throughput", "last_gen_throughput")


class SglangOfflineThroughput:
    """SGLang's offline benchmark."""

    name = "sglang_offline_throughput"
    title = "SGLang offline_throughput results, JSON Lines, one run a line"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the first object has the fields of this benchmark."""
        value = _jsonl.first_object(head)
        return value is not None and value.keys() >= _OWN_KEYS

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return the runs of the file, in its order.

        Raises:
            InputError: No run in it is whole, or a value is damaged.
        """
        return _serving.runs(path, _run, hint="Run the benchmark with `--result-filename`.")


def _run(fields: _jsonl.Fields, row: int | None, cut: str | None) -> ImportedRun:
    """Return one run."""
    _serving.require(fields, _OWN_KEYS, "offline_throughput")
    cell = Measurement(
        requests_completed=fields.count("successful_requests"),
        input_tokens=fields.count("total_input_tokens"),
        output_tokens=fields.count("total_output_tokens"),
        wall_s=fields.number("total_latency"),
        reported_throughput_tok_s=_normalise.from_json(fields.number("output_throughput")),
        extra={key: value for key in _EXTRA if (value := fields.number(key)) is not None},
    )
    backend = fields.text("backend")
    return ImportedRun(
        row=row,
        measurements=(cell,),
        workload=_serving.workload(fields, cell),
        # `engine` and `runtime` are two ways to call SGLang.
        engine="sglang" if backend in ("engine", "runtime", None) else backend,
        tags={} if backend is None else {"backend": backend},
        findings=_identities.check(cell),
        missing=cut,
    )


IMPORTER = SglangOfflineThroughput()
