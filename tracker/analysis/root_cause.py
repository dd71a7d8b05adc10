"""The misconfiguration that explains void results, and whether it has been fixed since."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from tracker.analysis.costs import length_estimate
from tracker.analysis.observations import Observation, urgency, voiding_finding
from tracker.analysis.priors import Priors
from tracker.analysis.results import RootCause, SharedFinding
from tracker.domain.estimate import Estimate
from tracker.domain.finding import Finding
from tracker.domain.record import RunRecord, StoredRun


def shared_findings(runs: Sequence[StoredRun]) -> tuple[SharedFinding, ...]:
    """Return all findings, errors first, each once with the runs that share it."""
    by_finding: dict[tuple[str, str, str | None], tuple[Finding, list[str]]] = {}
    for run in runs:
        for finding in run.record.findings:
            key = (finding.code, finding.message, finding.fix)
            by_finding.setdefault(key, (finding, []))[1].append(run.run_id)
    return by_urgency([SharedFinding(finding=finding, run_ids=tuple(ids)) for finding, ids in by_finding.values()])


def by_urgency(found: Sequence[SharedFinding]) -> tuple[SharedFinding, ...]:
    """Return findings, errors first."""
    return tuple(sorted(found, key=lambda item: urgency(item.finding)))


def root_cause(observations: Sequence[Observation], priors: Priors) -> RootCause | None:
    """Return the most urgent finding that voids acceptance, with the runs before and after; None without one."""
    affected: dict[str, list[Observation]] = defaultdict(list)
    findings: dict[str, Finding] = {}
    for item in observations:
        finding = voiding_finding(item.record)
        if finding is not None and finding.severity == "error" and "acceptance" in finding.voids:
            affected[finding.code].append(item)
            current = findings.get(finding.code)
            if current is None or urgency(finding) < urgency(current):
                findings[finding.code] = finding
    if not findings:
        return None
    code = min(findings, key=lambda name: (urgency(findings[name]), -len(affected[name]), name))
    finding, bad = findings[code], affected[code]
    healthy = _healthy(observations, bad, finding)
    after = Estimate(reason="no healthy run yet") if healthy is None else length_estimate(healthy, priors)
    return RootCause(
        finding=finding,
        run_ids=tuple(dict.fromkeys(item.run_id for item in bad)),
        fixed=healthy is not None,
        fixed_run_id=None if healthy is None else healthy.run_id,
        accept_length_before=length_estimate(bad[0], priors),
        accept_length_after=after,
    )


def _healthy(observations: Sequence[Observation], bad: Sequence[Observation], finding: Finding) -> Observation | None:
    """Return the fastest later run of the same drafter with the corrected flag."""
    first = min(item.record.measured_at for item in bad)
    loads = {item.concurrency for item in bad}
    fitting = [
        item
        for item in observations
        if item.speculative
        and item.excluded_reason is None
        and item.length is not None
        and item.record.measured_at >= first
        and any(_same_drafter(item.record, other.record) for other in bad)
        and _uses(item.record, finding.flag_after)
    ]
    same_load = [item for item in fitting if item.concurrency in loads] or fitting
    return max(same_load, key=lambda item: _closeness(item, bad[0]), default=None)


def _closeness(item: Observation, bad: Observation) -> tuple[bool, bool, float, str]:
    mine, theirs = item.configuration, bad.configuration
    same_shape = (mine.num_steps, mine.eagle_topk, mine.num_draft_tokens) == (
        theirs.num_steps,
        theirs.eagle_topk,
        theirs.num_draft_tokens,
    )
    speed = 0.0 if item.throughput is None else item.throughput.value
    return (
        same_shape and theirs.num_steps is not None,
        item.concurrency == bad.concurrency,
        speed,
        item.record.record_id,
    )


def _uses(record: RunRecord, flag: str | None) -> bool:
    """Return whether a run was started with `flag` (`--name value`); any healthy run will do where no flag is named."""
    if flag is None:
        return True
    name, _, value = flag.strip().lstrip("-").replace("=", " ").partition(" ")
    name, value = name.replace("-", "_"), value.strip()
    found = None if record.server is None else record.server.get(name)
    if found is None and record.speculation is not None:
        found = getattr(record.speculation, name.removeprefix("speculative_"), None)
    return found is not None and str(found).upper() == value.upper()


def _same_drafter(first: RunRecord, second: RunRecord) -> bool:
    """Return whether both served one checkpoint: by digest or by name, since one of them may carry no digest."""
    if first.drafter is None or second.drafter is None:
        return first.drafter is second.drafter
    return first.drafter.identity == second.drafter.identity or first.drafter.name == second.drafter.name
