"""Which runs may be compared with which: comparison groups, kept and rejected with reasons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tracker.analysis.configurations import speculates
from tracker.analysis.results import Note, Window
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.record import RunRecord, StoredRun
from tracker.domain.workload import Hardware
from tracker.errors import InputError

# Prompts that two runs must share at least before a comparison restricted to them means anything.
LEAST_COMMON_PROMPTS = 3

Fact = tuple[str, Callable[[RunRecord], Any]]


def _workload(name: str) -> Callable[[RunRecord], Any]:
    return lambda record: None if record.workload is None else getattr(record.workload, name)


# A fact that only one side knows does not separate two runs.
_FACTS: tuple[Fact, ...] = (
    ("GPU", lambda record: None if record.hardware is None else record.hardware.gpu),
    ("number of GPUs", lambda record: None if record.hardware is None else record.hardware.gpu_count),
    ("engine", lambda record: None if record.server is None else record.server.engine),
    ("engine version", lambda record: None if record.server is None else record.server.version),
    ("chat template", _workload("template_digest")),
    ("temperature", _workload("temperature")),
    ("top-p", _workload("top_p")),
    ("ignore_eos", _workload("ignore_eos")),
    ("answer length limit", _workload("max_output_tokens")),
    ("thinking mode", _workload("thinking")),
    ("request rate", _workload("request_rate_per_s")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The comparison group that is shown, and what was left out of it."""

    kept: tuple[StoredRun, ...]
    """Benchmarks of the group, oldest first."""
    rejected: tuple[Note, ...]
    """Benchmarks outside it, each with its reason."""
    trainings: tuple[StoredRun, ...]
    """Training runs."""
    hardware: Hardware | None
    """Machine of the group."""
    baseline_run_id: str | None
    """The baseline that was asked for; None leaves the choice to the numbers."""


def select(runs: Sequence[StoredRun], *, window: Window, baseline_run: str | None = None) -> Selection:
    """Return the comparison group with news, or else the largest one.

    A group shares target, hardware, engine build, workload and sampling. `baseline_run` (run id, record id or name)
    fixes the group to its own.

    Raises:
        InputError: `baseline_run` is not among the runs, or speculates.
    """
    # Of runs measured at one moment the record decides: the id is the store's, and another one in every store.
    ordered = sorted(runs, key=lambda run: (run.record.measured_at, run.record.record_id, run.run_id))
    trainings = tuple(run for run in ordered if run.record.kind == "training")
    benchmarks = [run for run in ordered if run.record.kind == "benchmark"]
    later = [run for run in benchmarks if run.record.provenance.logged_at >= window.until]
    silent = [run for run in benchmarks if run not in later and speculates(run.record) is None]
    usable = [run for run in benchmarks if run not in later and run not in silent]
    chosen = None if baseline_run is None else _find_baseline(usable, baseline_run)
    rejected = [_note(run, "logged after the end of the window") for run in later]
    rejected += [_note(run, "whether the server speculated is not recorded; log it with --role") for run in silent]
    anchor = chosen or _anchor(usable, window)
    kept = []
    for run in usable:
        reason = None if anchor is None else difference(anchor, run)
        if reason is None:
            kept.append(run)
        else:
            rejected.append(_note(run, reason))
    return Selection(
        kept=tuple(kept),
        rejected=tuple(rejected),
        trainings=trainings,
        hardware=next((run.record.hardware for run in kept if run.record.hardware is not None), None),
        baseline_run_id=None if chosen is None else chosen.run_id,
    )


def is_news(run: StoredRun, window: Window) -> bool:
    """Return whether a run was logged inside the window."""
    return window.since <= run.record.provenance.logged_at < window.until


def difference(anchor: StoredRun, other: StoredRun) -> str | None:
    """Return why two runs must not be compared, in words, or None when they may."""
    first, second = anchor.record, other.record
    if _other_model(first.target, second.target):
        return f"another target: {_name(second.target)} instead of {_name(first.target)}"
    for name, fact in _FACTS:
        left, right = fact(first), fact(second)
        if left is not None and right is not None and left != right:
            return f"another {name}: {right} instead of {left}"
    return _prompt_difference(anchor, other)


def common_prompts(first: StoredRun, second: StoredRun) -> int:
    """Return the number of prompts both runs answered at one and the same load, at the best such load."""
    counts = []
    for load in {row.concurrency for row in first.requests}:
        counts.append(len(_keys(first, load) & _keys(second, load)))
    return max(counts, default=0)


def _keys(run: StoredRun, load: int | None) -> set[str]:
    return {row.prompt_key for row in run.requests if row.prompt_key is not None and row.concurrency == load}


def _prompt_difference(anchor: StoredRun, other: StoredRun) -> str | None:
    first, second = anchor.record.workload, other.record.workload
    if first is None or second is None:
        return None
    if first.prompt_set_digest is not None and second.prompt_set_digest is not None:
        same = first.prompt_set_digest == second.prompt_set_digest
    else:
        same = None in (first.prompt_set, second.prompt_set) or first.prompt_set == second.prompt_set
    if same or common_prompts(anchor, other) >= LEAST_COMMON_PROMPTS:
        return None
    named = second.prompt_set if second.prompt_set not in (None, first.prompt_set) else "another selection"
    return f"other prompts ({named}), fewer than {LEAST_COMMON_PROMPTS} in common"


def _other_model(first: Checkpoint | None, second: Checkpoint | None) -> bool:
    if first is None or second is None:
        return False
    for field in ("header_digest", "config_digest"):
        left, right = getattr(first, field), getattr(second, field)
        if left is not None and right is not None:
            return bool(left != right)
    return first.name.rstrip("/").rsplit("/", 1)[-1].lower() != second.name.rstrip("/").rsplit("/", 1)[-1].lower()


def _anchor(runs: Sequence[StoredRun], window: Window) -> StoredRun | None:
    fingerprints: dict[tuple[Any, ...], StoredRun] = {}
    for run in runs:
        fingerprints.setdefault(fingerprint(run.record), run)
    best: tuple[tuple[Any, ...], StoredRun] | None = None
    for anchor in fingerprints.values():
        group = [run for run in runs if difference(anchor, run) is None]
        kinds = {speculates(run.record) for run in group}
        latest = max(run.record.measured_at for run in group)
        score = (any(is_news(run, window) for run in group), len(kinds), len(group), latest, anchor.record.record_id)
        if best is None or score > best[0]:
            best = (score, anchor)
    return None if best is None else best[1]


def fingerprint(record: RunRecord) -> tuple[Any, ...]:
    """Return the facts that decide which comparison group a run is of."""
    workload = record.workload
    prompts = None if workload is None else (workload.prompt_set, workload.prompt_set_digest)
    target = None if record.target is None else (record.target.identity, record.target.name)
    return (target, prompts, *(fact(record) for _, fact in _FACTS))


def _find_baseline(runs: Sequence[StoredRun], wanted: str) -> StoredRun:
    found = [run for run in runs if wanted in (run.run_id, run.record.record_id, run.record.name)]
    if not found:
        found = [run for run in runs if len(wanted) >= 4 and run.run_id.startswith(wanted)]
    if len(found) != 1:
        what = "is not a benchmark of this campaign" if not found else f"names {len(found)} runs"
        raise InputError(f"the baseline {wanted!r} {what}", where="--baseline", hint="`tracker runs` lists run ids")
    if speculates(found[0].record):
        raise InputError(
            f"the baseline {wanted!r} speculates", where="--baseline", hint="Name a run of a server without speculation"
        )
    return found[0]


def _name(model: Checkpoint | None) -> str:
    return "an unnamed model" if model is None else model.name


def _note(run: StoredRun, reason: str) -> Note:
    return Note(topic="not compared", message=f"{run.record.name}: {reason}.", run_ids=(run.run_id,))
