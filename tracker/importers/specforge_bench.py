"""SpecForge benchmarks: `bench_eagle3` files, its one-result form, the runner's JSON, and the SpecBundle dashboard.

`accept_length` is completion tokens over verify steps, bonus included, and is written as 1.0 where nothing speculates:
`steps` 0 or a name like `Wihtout EAGLE3` (sic) is the baseline. With `--skip-launch-server` the settings are null and
must come from elsewhere. The runner writes the mean over requests; steps and tokens beside it give the pooled value.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracker.domain.checkpoint import Checkpoint
from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement, Reported
from tracker.domain.server import Speculation
from tracker.domain.workload import Workload
from tracker.errors import InputError
from tracker.importers import _identities, _jsonl, _spec_block
from tracker.importers.base import ImportedRun

_BASELINE = re.compile(r"w(i?th?|iht)out|baseline", re.I)
_FLAT_KEYS = frozenset({"latency", "output_throughput", "accept_length"})
_RUNNER_KEYS = frozenset({"output_tokens", "latency_seconds", "throughput_tokens_per_second"})


class SpecforgeBench:
    """SpecForge and SpecBundle results."""

    name = "specforge_bench"
    title = "SpecForge bench_eagle3 or runner results, SpecBundle dashboard, JSON"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the object is one of SpecForge's result layouts."""
        value = _jsonl.first_value(head)
        if not isinstance(value, dict):
            return False
        return value.keys() >= _FLAT_KEYS or value.keys() >= _RUNNER_KEYS or next(_rows(value), None) is not None

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return one run a data set and configuration; a baseline repeated beside every configuration counts once.

        Raises:
            InputError: The file is cut, or holds no result.
        """
        runs: list[ImportedRun] = []
        for fields in _jsonl.objects(path).values:
            if fields.data.keys() >= _RUNNER_KEYS:
                runs.append(_runner(fields))
            elif fields.data.keys() >= _FLAT_KEYS:
                runs.append(_run(_Row(fields=fields, settings=fields, data_set=None, target=None)))
            else:
                runs += [_run(row) for row in _rows(fields.data, fields.where)]
        runs = _without_repeated_baselines(runs)
        if not runs:
            raise InputError(
                "no result in it is whole", where=str(path), hint="The file is one JSON object; copy it again."
            )
        if len(runs) == 1:
            return tuple(runs)
        return tuple(dataclasses.replace(run, row=row) for row, run in enumerate(runs))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """One metrics entry with the settings above it."""

    fields: _jsonl.Fields
    settings: _jsonl.Fields
    data_set: str | None
    target: str | None
    draft: str | None = None


def _rows(value: Mapping[str, Any], where: str = "") -> Iterator[_Row]:
    """Yield the metrics of a bench_eagle3 file (data set -> configurations) or a dashboard (model -> data set)."""
    draft = value.get("model") if isinstance(value.get("model"), str) else None
    for name, part in value.items():
        if isinstance(part, list):
            yield from _configurations(part, where, data_set=name, target=None, draft=draft)
        elif isinstance(part, dict):
            for data_set, benchmark in part.items():
                results = benchmark.get("results") if isinstance(benchmark, dict) else None
                if isinstance(results, list):
                    yield from _configurations(results, where, data_set=data_set, target=name, draft=None)


def _configurations(
    items: list[Any], where: str, *, data_set: str, target: str | None, draft: str | None
) -> Iterator[_Row]:
    for item in items:
        if not isinstance(item, dict) or "batch_size" not in item or not isinstance(item.get("metrics"), list):
            continue
        settings = _jsonl.Fields(data=item, where=f"{where} ({data_set})")
        for metrics in item["metrics"]:
            if isinstance(metrics, dict) and "output_throughput" in metrics:
                fields = _jsonl.Fields(data=metrics, where=settings.where)
                yield _Row(fields=fields, settings=settings, data_set=data_set, target=target, draft=draft)


def _run(row: _Row) -> ImportedRun:
    """Return the run of one metrics entry."""
    spec = _speculation(row)
    off = spec is not None and not spec.enabled
    length = row.fields.number("accept_length")
    throughput = row.fields.number("output_throughput")
    cell = Measurement(
        concurrency=row.settings.count("batch_size"),
        prompts=row.fields.count("num_questions"),
        wall_s=row.fields.number("latency"),
        reported_throughput_tok_s=None if throughput is None else Reported(value=throughput),
        reported_accept_length=None if length is None or off else Reported(value=length),
        extra={
            key: value for key in ("accuracy", "num_valid_predictions") if (value := row.fields.number(key)) is not None
        },
    )
    drafter = None if off else row.draft or row.fields.text("Name")
    return ImportedRun(
        name=_name(row, spec),
        role="baseline" if off else None,
        measurements=(cell, *_categories(row, cell, off=off)),
        workload=Workload(
            prompt_set=row.data_set,
            prompts=row.fields.count("num_questions"),
            concurrencies=() if cell.concurrency is None else (cell.concurrency,),
        ),
        engine="sglang",
        speculation=spec,
        drafter=_checkpoint(drafter),
        target=_checkpoint(row.target),
        findings=_identities.check(cell, num_steps=None if spec is None else spec.num_steps),
    )


def _categories(row: _Row, pooled: Measurement, *, off: bool) -> Iterator[Measurement]:
    """Yield a measurement a prompt category, where the data set has any."""
    found = row.fields.data.get("categorical_performance")
    for name, value in found.items() if isinstance(found, dict) else ():
        if not isinstance(value, dict):
            continue
        fields = _jsonl.Fields(data=value, where=row.fields.where)
        length, throughput = fields.number("accept_length"), fields.number("output_throughput")
        yield Measurement(
            concurrency=pooled.concurrency,
            category=name,
            prompts=fields.count("num_questions"),
            wall_s=fields.number("latency"),
            reported_throughput_tok_s=None if throughput is None else Reported(value=throughput),
            reported_accept_length=None if length is None or off else Reported(value=length),
            extra={} if (accuracy := fields.number("accuracy")) is None else {"accuracy": accuracy},
        )


def _speculation(row: _Row) -> Speculation | None:
    """Return the settings; disabled for a baseline; None where nothing is said."""
    steps, topk = row.settings.count("steps"), row.settings.count("topk")
    width, name = row.settings.count("num_draft_tokens"), row.fields.text("Name")
    if steps == 0 or (name is not None and _BASELINE.search(name)):
        return Speculation(enabled=False)
    length = row.fields.number("accept_length")
    if steps is None and (length is None or length <= 1.0):
        return None
    return Speculation(enabled=True, num_steps=steps, eagle_topk=topk, num_draft_tokens=width)


def _name(row: _Row, spec: Speculation | None) -> str:
    """Return what distinguishes the run: models, data set, configuration, batch size."""
    shape = None
    if spec is not None and not spec.enabled:
        shape = "baseline"
    elif spec is not None and spec.num_steps is not None:
        shape = "-".join(str(part) for part in (spec.num_steps, spec.eagle_topk, spec.num_draft_tokens))
    batch = row.settings.count("batch_size")
    drafter = None if spec is not None and not spec.enabled else _checkpoint(row.draft or row.fields.text("Name"))
    parts = (
        row.target,
        None if drafter is None else drafter.name,
        row.data_set,
        shape,
        None if batch is None else f"concurrency {batch}",
    )
    return ", ".join(part for part in parts if part) or "bench_eagle3"


def _without_repeated_baselines(runs: list[ImportedRun]) -> list[ImportedRun]:
    """Return the runs with each baseline once: the dashboard repeats it beside every configuration."""
    kept: list[ImportedRun] = []
    for run in runs:
        if run.role != "baseline" or run not in kept:
            kept.append(run)
    return kept


def _runner(fields: _jsonl.Fields) -> ImportedRun:
    """Return the run of the `specforge benchmark` runner."""
    tokens, steps = fields.count("output_tokens"), fields.count("spec_verify_count") or None
    mean = fields.number("average_acceptance_length")
    throughput = fields.number("throughput_tokens_per_second")
    length = None if tokens is None or steps is None else Reported(value=tokens / steps)
    samples = fields.count("samples")
    cell = Measurement(
        requests_completed=samples,
        output_tokens=tokens,
        wall_s=fields.number("latency_seconds"),
        verify_steps=steps,
        reported_throughput_tok_s=None if throughput is None else Reported(value=throughput),
        reported_accept_length=length,
        extra={} if mean is None else {"average_acceptance_length": mean},
    )
    findings = list(_identities.check(cell))
    if length is not None:
        findings.append(
            Finding(
                code="ACCEPT_LENGTH_FROM_TOKENS",
                severity="info",
                message="Accept length is output tokens over verify steps; the mean over requests that the tool prints "
                "weighs short answers as much as long ones.",
            )
        )
    return ImportedRun(
        measurements=(cell,),
        workload=Workload(prompt_set=fields.text("dataset"), prompts=samples, temperature=None),
        engine=fields.text("backend"),
        speculation=_spec_block.seen((cell,)),
        findings=tuple(findings),
    )


def _checkpoint(text: str | None) -> Checkpoint | None:
    if text is None:
        return None
    return Checkpoint(name=text.rstrip("/").rsplit("/", 1)[-1] or text, path=text)


IMPORTER = SpecforgeBench()
