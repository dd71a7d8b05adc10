"""SGLang `bench_speculative.py`: a grid over batch size, steps, topk and draft tokens, one JSON line each.

`step_time` is the 20th percentile of the server's step times and `speed` is accept length over it: tokens a second of
one stream while decoding, without prefill and without the slower steps. Times the batch size it compares configurations
of one grid, and its quotient is the break-even accept length; it is no measured throughput, and said so.
`steps` 0 is the baseline, whose accept length of 1 is not acceptance.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement, Reported
from tracker.domain.server import Speculation
from tracker.domain.workload import Workload
from tracker.importers import _identities, _jsonl, _pool, _serving
from tracker.importers.base import ImportedRun

_OWN_KEYS = frozenset({"batch_size", "steps", "topk", "num_draft_tokens", "acc_length", "step_time", "speed"})
_FROM_STEP_TIME = Finding(
    code="THROUGHPUT_FROM_STEP_TIME",
    severity="info",
    message="Throughput is batch size x accept length over the 20th percentile of step times: decoding only, without "
    "prefill and slower steps. It compares configurations of this grid and lies above what a client sees.",
    fix="Confirm the best configuration with bench_serving.",
)


class SglangBenchSpeculative:
    """SGLang's grid search over speculative settings."""

    name = "sglang_bench_speculative"
    title = "SGLang bench_speculative grid, JSON Lines, one configuration and batch size a line"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the first object has the fields of this benchmark."""
        value = _jsonl.first_object(head)
        return value is not None and value.keys() >= _OWN_KEYS

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return one run a configuration, with one measurement a batch size.

        Raises:
            InputError: No line in it is whole, or a value is damaged.
        """
        return _GRID.read(path)


def _configuration(fields: _jsonl.Fields) -> tuple[int | None, int | None, int | None]:
    return fields.count("steps"), fields.count("topk"), fields.count("num_draft_tokens")


def _run(lines: Sequence[_jsonl.Fields], row: int | None, cut: str | None) -> ImportedRun:
    """Return the run of one configuration."""
    steps, topk, width = _configuration(lines[0])
    spec = Speculation(enabled=False)
    if steps:
        spec = Speculation(enabled=True, num_steps=steps, eagle_topk=topk, num_draft_tokens=width)
    by_batch: dict[int | None, list[Measurement]] = {}
    for fields in lines:
        cell = _cell(fields, speculates=spec.enabled)
        by_batch.setdefault(cell.concurrency, []).append(cell)
    cells = tuple(cell for group in by_batch.values() for cell in _pool.repeats(group))
    findings = [finding for cell in cells for finding in _identities.check(cell, num_steps=spec.num_steps)]
    findings += [finding for fields in lines for finding in _speed_agrees(fields)]
    return ImportedRun(
        name=f"{steps}-{topk}-{width}" if spec.enabled else "baseline",
        role=None if spec.enabled else "baseline",
        row=row,
        measurements=cells,
        workload=Workload(concurrencies=tuple(sorted(size for size in by_batch if size is not None))),
        engine="sglang",
        speculation=spec,
        findings=(*_identities.merge(findings), _FROM_STEP_TIME),
        missing=cut,
    )


def _speed_agrees(fields: _jsonl.Fields) -> tuple[Finding, ...]:
    """Return a finding where the speed is not the accept length over the step time."""
    speed, length, step_s = fields.number("speed"), fields.number("acc_length"), fields.number("step_time")
    if not speed or not length or not step_s:
        return ()
    if not _identities.differ(speed, length / step_s, tolerance_fraction=_identities.TOLERANCE_FRACTION):
        return ()
    message = f"A speed of {speed:g} tok/s is printed, but accept length {length:g} over {step_s:g} s is "
    return (_identities.violated("IDENTITY_THROUGHPUT", f"{message}{length / step_s:.2f} tok/s."),)


def _cell(fields: _jsonl.Fields, *, speculates: bool) -> Measurement:
    """Return the measurement of one line."""
    size, speed, length = fields.count("batch_size"), fields.number("speed"), fields.number("acc_length")
    extra = {"step_time_s": fields.number("step_time"), "speed_tok_s_per_stream": speed}
    return Measurement(
        concurrency=size or None,
        output_tokens=fields.count("completion_tokens"),
        reported_throughput_tok_s=None if not speed or not size else Reported(value=speed * size),
        reported_accept_length=Reported(value=length) if speculates and length is not None else None,
        extra={name: value for name, value in extra.items() if value is not None},
    )


_GRID = _serving.Grid(
    tool="bench_speculative",
    own_keys=_OWN_KEYS,
    key=_configuration,
    run=_run,
    hint="The benchmark writes a line when a configuration ends.",
)

IMPORTER = SglangBenchSpeculative()
