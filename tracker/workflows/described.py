"""What was measured held against how the server is said to have run, wherever that was said.

SGLang puts `spec_verify_ct` into every answer as soon as it speculates (0.4.5 to 0.5.23), and a drafter of the EAGLE
family proposes the same number of drafts at every step unless it is told to adapt.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tracker.domain.finding import Finding
from tracker.domain.measurement import RequestRow
from tracker.domain.record import LoggedRun, RunRecord

DRAFTS_TOLERANCE_FRACTION = 0.02
_FIXED_WIDTH = ("EAGLE", "MTP", "NEXTN")
_ANOTHER = "Log the results with the description, the log and the readings of the server that gave them."


def held_against_description(run: LoggedRun, *, engine: str | None) -> LoggedRun:
    """Return the run with a finding for each contradiction between its results and the description of its server.

    Args:
        run: The run, its server known.
        engine: Engine that the results themselves show.
    """
    record = run.record
    if record.kind != "benchmark" or record.speculation is None or not record.speculation.enabled:
        return run
    found = [*_no_steps(record, run.requests, engine), *_other_width(record)]
    if not found:
        return run
    return dataclasses.replace(run, record=record.replace(findings=(*found, *record.findings)))


def _no_steps(record: RunRecord, requests: Sequence[RequestRow], engine: str | None) -> list[Finding]:
    """Return a finding where SGLang's answers carry no verify steps and the server is said to speculate."""
    code = "SPECULATION_SOURCES_DISAGREE"
    answers = [row for row in requests if row.error is None and row.finish_reason is not None]
    if engine != "sglang" or not answers or any(row.verify_steps is not None for row in answers):
        return []
    if any(finding.code == code for finding in record.findings):
        return []
    algorithm = record.speculation.algorithm if record.speculation else None
    return [
        Finding(
            code=code,
            severity="error",
            message=f"None of the {len(answers)} answers carries verify steps, but the server is described as one that "
            f"speculates ({algorithm or 'no algorithm named'}): the description is of another server.",
            fix=_ANOTHER,
        )
    ]


def _other_width(record: RunRecord) -> list[Finding]:
    """Return a finding where the results propose another number of drafts a step than the description says."""
    spec, server = record.speculation, record.server
    said = None if spec is None else spec.proposed_per_step
    algorithm = (spec.algorithm if spec is not None else None) or ""
    if (
        server is None
        or not said
        or not algorithm.upper().startswith(_FIXED_WIDTH)
        or server.get("speculative_adaptive")
    ):
        return []
    for cell in record.measurements:
        if cell.category is not None or not cell.verify_steps or not cell.proposed_drafts:
            continue
        counted = cell.proposed_drafts / cell.verify_steps
        if abs(counted - said) > DRAFTS_TOLERANCE_FRACTION * max(counted, said):
            return [
                Finding(
                    code="DRAFTS_SOURCES_DISAGREE",
                    severity="error",
                    message=f"The results hold {cell.proposed_drafts} drafts over {cell.verify_steps} verify steps, "
                    f"{counted:.2f} a step, but the server is described as one that proposes {said}: the description "
                    "is of another server.",
                    fix=_ANOTHER,
                )
            ]
    return []
