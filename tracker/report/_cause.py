"""The root cause, directly beneath the verdict."""

from __future__ import annotations

import re

from tracker.analysis.results import RootCause
from tracker.domain.estimate import Estimate
from tracker.report import format as fmt
from tracker.report import numbers as num
from tracker.report.reading import Reading
from tracker.report.spans import Part, Rich, code, number, quote, rich, sentence
from tracker.report.view_parts import CauseView

_LENGTH = "1 + accepted drafts / verify steps"
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
MAX_SENTENCES = 2
_USELESS = 1.05  # below this, nothing worth the name is accepted


def cause(reading: Reading) -> CauseView | None:
    """Return the root cause with its exact fix; None when there is none."""
    found = reading.analysis.root_cause
    if found is None:
        return None
    finding = found.finding
    before, after = finding.flag_before, finding.flag_after
    shared = _shared(before or "", after or "")
    return CauseView(
        label="Root cause",
        heading=_heading(found, shared),
        text=rich(
            sentence(quote(_explained(finding.message), f"findings[{finding.code}].message", found.run_ids)),
            " ",
            _effect(reading, found),
        ),
        flag_before=before,
        flag_after=after,
        shared_prefix=shared,
        note=_note(reading, found),
        mail=_mail(found),
        fixed=found.fixed,
    )


def _explained(message: str) -> str:
    """Return the first two sentences of a finding; memo.json has all of it."""
    return " ".join(_SENTENCE.split(message)[:MAX_SENTENCES])


def _shared(first: str, second: str) -> int:
    """Return how many characters two flags share at their start."""
    pairs = zip(first, second, strict=False)
    return next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))


def _heading(found: RootCause, shared: int) -> Rich:
    what = _what(found, shared)
    useless = found.accept_length_before.value is not None and found.accept_length_before.value < _USELESS
    effect = "made the drafter useless" if useless else "took most of the drafter's acceptance"
    return rich(f"{what} {effect}; ", "it is fixed" if found.fixed else "it is not fixed yet")


def _what(found: RootCause, shared: int) -> str:
    before, after = found.finding.flag_before, found.finding.flag_after
    if not before or not after:
        return "A misconfiguration"
    if before == after[:shared] and len(after) - shared == 1:
        return "One missing character in a flag"
    return "A wrong flag"


def _effect(reading: Reading, found: RootCause) -> Rich:
    parts: list[Part] = []
    before = _length(found.accept_length_before, found.run_ids)
    if before:
        parts += ["Accept length with it: ", before, " (", reading.names.runs(found.run_ids), ")"]
    after = _length(found.accept_length_after, (found.fixed_run_id or "",))
    if after and found.fixed_run_id:
        parts += [
            "; corrected: " if before else "Accept length corrected: ",
            after,
            " (",
            reading.names.run(found.fixed_run_id),
            ")",
        ]
    if not found.fixed:
        parts += [". " if parts else "", "No later run shows the corrected flag with this drafter"]
    return rich(*parts, ".") if parts else Rich()


def _length(estimate: Estimate, runs: tuple[str, ...]) -> Rich:
    """Return `about 1.0`, or `2.1, 2.08–2.13`."""
    if estimate.value is None:
        return Rich()
    if estimate.low is None or estimate.high is None:
        return rich("about ", number(fmt.fixed(estimate.value, 1), estimate.value, _LENGTH, runs, kind="measured"))
    decimals = max(1, fmt.decimals_for(estimate.half_width, 2))
    shown = number(fmt.fixed(estimate.value, decimals), estimate.value, _LENGTH, runs, kind="measured")
    ends = num.interval(estimate, decimals, f"80 % interval of {_LENGTH}", runs)
    return rich(shown, ", 80 % interval ", ends) if ends else rich(shown)


def _note(reading: Reading, found: RootCause) -> Rich:
    finding = found.finding
    plural = len(found.run_ids) > 1
    leaves = " leave every fit and stay in the table." if plural else " leaves every fit and stays in the table."
    return rich(
        "Finding ",
        code(finding.code),
        f", severity {finding.severity}, confidence {finding.confidence}. ",
        reading.names.runs(found.run_ids),
        leaves,
        " ",
        code("tracker check"),
        " before a start stops this.",
    )


def _mail(found: RootCause) -> Rich:
    """Return what the mail adds to the flags it shows: the effect, or the finding where no flag is known."""
    finding = found.finding
    before, after = found.accept_length_before.value, found.accept_length_after.value
    parts: list[Part] = []
    if not finding.flag_before or not finding.flag_after:
        parts += [sentence(quote(finding.message, f"findings[{finding.code}].message", found.run_ids)), " "]
    if before is not None and after is not None:
        parts += [
            "Accept length rose from about ",
            number(fmt.fixed(before, 1), before, _LENGTH, found.run_ids, kind="measured"),
            " to ",
            number(fmt.fixed(after, 1), after, _LENGTH, (found.fixed_run_id or "",), kind="measured"),
            ".",
        ]
    elif before is not None:
        shown = number(fmt.fixed(before, 1), before, _LENGTH, found.run_ids, kind="measured")
        parts += ["Accept length with it: about ", shown, "."]
    return rich(*parts)
