"""Whether the baseline differs from the candidates in more than speculation (BASELINE_FLAGS_DIFFER)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from tracker.analysis.baselines import Reference
from tracker.analysis.configurations import SPEED_FLAGS
from tracker.analysis.facts import LOAD_FLAGS
from tracker.analysis.observations import Observation
from tracker.analysis.results import SharedFinding
from tracker.analysis.words import count, listed
from tracker.domain.finding import Finding
from tracker.domain.record import RunRecord

CODE = "BASELINE_FLAGS_DIFFER"

# What SGLang changes by itself when it speculates: nobody chose it, so only a typed value counts.
_FORCED = frozenset(
    {
        "disable_overlap_schedule",
        "max_running_requests",
        "enable_mixed_chunk",
        "page_size",
        "cuda_graph_max_bs",
        "chunked_prefill_size",
        "disable_cuda_graph",
    }
)


def baseline_flag_findings(
    observations: Sequence[Observation], references: Mapping[int | None, Reference]
) -> tuple[SharedFinding, ...]:
    """Return one finding per baseline and set of differing flags, with all runs it concerns.

    A baseline that is simply faster may differ: it is still the one to beat. But then the gap is not what speculation
    cost, and the finding says which run, or which measurement, would tell.
    """
    groups: dict[tuple[str, tuple[str, ...]], list[Observation]] = defaultdict(list)
    for item in observations:
        reference = references.get(item.concurrency)
        if reference is None or not item.speculative or not item.contends:
            continue
        found = flag_differences(reference.baseline.record, item.record)
        if found:
            groups[(reference.baseline.run_id, found)].append(item)
    return tuple(_finding(members, references, found) for (_, found), members in sorted(groups.items()))


def flag_differences(baseline: RunRecord, candidate: RunRecord) -> tuple[str, ...]:
    """Return flags of both that differ besides speculation, each in words; unknown on one side is no difference."""
    found = []
    if None not in (baseline.cuda_graph, candidate.cuda_graph) and baseline.cuda_graph != candidate.cuda_graph:
        found.append(f"CUDA graph {_switch(baseline.cuda_graph)} against {_switch(candidate.cuda_graph)}")
    first, second = baseline.server, candidate.server
    if first is None or second is None:
        return tuple(found)
    for name in (*SPEED_FLAGS, *LOAD_FLAGS):
        before, after = first.get(name), second.get(name)
        chosen = name in first.typed or name in second.typed
        if before is None or after is None or str(before) == str(after) or name.startswith("speculative"):
            continue
        if chosen or name not in _FORCED:
            found.append(f"--{name.replace('_', '-')} {before} against {after}")
    for name in sorted(first.environment.keys() & second.environment.keys()):
        if "SPEC" not in name and first.environment[name] != second.environment[name]:
            found.append(f"{name} {first.environment[name]} against {second.environment[name]}")
    return tuple(found)


def _switch(on: bool | None) -> str:
    return "on" if on else "off"


def _finding(
    members: Sequence[Observation], references: Mapping[int | None, Reference], found: tuple[str, ...]
) -> SharedFinding:
    baseline = references[members[0].concurrency].baseline
    names = list(dict.fromkeys(item.record.name for item in members))
    who = names[0] if len(names) == 1 else count(len(names), "candidate")
    twin = _twin(members, references)
    fix = (
        "Measure a plain server with the candidates' other flags."
        if twin is None
        else f"Read what speculation itself cost against {twin.record.name}, which shares the candidates' flags."
    )
    finding = Finding(
        code=CODE,
        severity="warning" if twin is None else "info",
        message=(
            f"The baseline {baseline.record.name} and {who} differ in more than speculation: {listed(found)}. "
            "Part of the gap between them is not speculation's."
        ),
        fix=fix,
        confidence="certain",
    )
    ids = dict.fromkeys([*(item.run_id for item in members), baseline.run_id])
    return SharedFinding(finding=finding, run_ids=tuple(ids))


def _twin(members: Sequence[Observation], references: Mapping[int | None, Reference]) -> Observation | None:
    """Return another plain run at a member's load that shares its flags."""
    for item in members:
        for other in references[item.concurrency].others:
            if not flag_differences(other.record, item.record):
                return other
    return None
