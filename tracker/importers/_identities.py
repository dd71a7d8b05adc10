"""Identities every measurement must meet; a violated one is the cheapest bug detector there is.

Sources: vllm-project/speculators issue 1095; case C59 (TPOT = ITL / accept length, counters, positions).
"""

from __future__ import annotations

from collections.abc import Sequence

from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement, Reported
from tracker.importers import _normalise

# How far two printings of one quantity may lie apart beyond their rounding.
TOLERANCE_FRACTION = 0.02
# ITL is averaged per chunk and TPOT per request, so their quotient is looser than a counter (C59: 3 %).
ITL_TOLERANCE_FRACTION = 0.03
SATURATED_RATE = 0.999
MAX_SHOWN_WHERE = 3


def check(
    cell: Measurement, *, num_steps: int | None = None, position_rates: Sequence[float] | None = None
) -> tuple[Finding, ...]:
    """Return the identities this cell violates.

    Args:
        cell: The measurement.
        num_steps: Draft steps; the accept length cannot exceed it by more than the bonus token.
        position_rates: Unconditional rates per position as printed, where the source prints them.
    """
    found = [
        _histogram(cell),
        _length_from_counts(cell),
        _length_in_range(cell, num_steps),
        _positions(cell, position_rates),
        _saturated(position_rates),
        _throughput(cell),
        _throughput_within_concurrency(cell),
        _itl_over_tpot(cell),
    ]
    return tuple(finding for finding in found if finding is not None)


def merge(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings with repeats of one code joined into the first, so that 40 cells do not say it 40 times."""
    merged: dict[str, list[Finding]] = {}
    for finding in findings:
        group = merged.setdefault(finding.code, [])
        if finding not in group:
            group.append(finding)
    return tuple(_joined(group) for group in merged.values())


def _joined(group: list[Finding]) -> Finding:
    """Return one finding for a group of the same code."""
    first = group[0]
    if len(group) == 1:
        return first
    shown = " ".join(finding.message for finding in group[:MAX_SHOWN_WHERE])
    rest = len(group) - MAX_SHOWN_WHERE
    return Finding(
        code=first.code,
        severity=first.severity,
        message=shown if rest <= 0 else f"{shown} And {rest} more of this kind.",
        fix=first.fix,
        confidence=first.confidence,
        voids=tuple(dict.fromkeys(part for finding in group for part in finding.voids)),
    )


def violated(code: str, message: str, fix: str | None = None) -> Finding:
    """Return the finding for an identity that does not hold."""
    return Finding(code=code, severity="warning", message=message, fix=fix, confidence="high")


def differ(first: float, second: float, *, tolerance_fraction: float, slack: float = 0.0) -> bool:
    """Return whether two numbers disagree beyond a relative tolerance and an absolute slack."""
    return abs(first - second) > tolerance_fraction * max(abs(first), abs(second)) + slack


def where(cell: Measurement) -> str:
    """Return which cell this is, for a message: ` at concurrency 8`."""
    parts = [
        "" if cell.concurrency is None else f" at concurrency {cell.concurrency}",
        "" if cell.repeat is None else f", repeat {cell.repeat}",
        "" if cell.category is None else f", category {cell.category}",
    ]
    return "".join(parts)


def _half(value: Reported | None) -> float:
    return 0.0 if value is None or value.half_width is None else value.half_width


def _histogram(cell: Measurement) -> Finding | None:
    """Sum of the histogram = verify steps; sum of index x count = accepted drafts."""
    counts = cell.accepted_histogram
    if not counts:
        return None
    steps, accepted = sum(counts), sum(index * count for index, count in enumerate(counts))
    if cell.verify_steps is not None and steps != cell.verify_steps:
        return violated(
            "IDENTITY_HISTOGRAM",
            f"The histogram of accepted drafts counts {steps} steps, the counter {cell.verify_steps}{where(cell)}.",
        )
    if cell.accepted_drafts is not None and accepted != cell.accepted_drafts:
        return violated(
            "IDENTITY_HISTOGRAM",
            f"The histogram holds {accepted} accepted drafts, the counter {cell.accepted_drafts}{where(cell)}.",
        )
    return None


def _length_from_counts(cell: Measurement) -> Finding | None:
    """Accept length = 1 + accepted / steps."""
    printed = cell.reported_accept_length
    if printed is None or not cell.verify_steps or cell.accepted_drafts is None:
        return None
    counted = 1 + cell.accepted_drafts / cell.verify_steps
    if not differ(counted, printed.value, tolerance_fraction=TOLERANCE_FRACTION, slack=_half(printed)):
        return None
    return violated(
        "IDENTITY_ACCEPT_LENGTH",
        f"Accept length {printed.value:g} is printed, but {cell.accepted_drafts} accepted drafts over "
        f"{cell.verify_steps} steps give {counted:.3f}{where(cell)}.",
        "The counts are used; check whether the printed value leaves out the bonus token or covers other traffic.",
    )


def _length_in_range(cell: Measurement, num_steps: int | None) -> Finding | None:
    """1 <= accept length <= num_steps + 1."""
    length = cell.accept_length
    if length is None:
        return None
    slack = _half(cell.reported_accept_length) + 0.01
    if length < 1 - slack:
        return violated(
            "IDENTITY_ACCEPT_LENGTH",
            f"Accept length {length:g} lies below 1{where(cell)}: with the bonus token it cannot.",
            "The source probably leaves out the bonus token; name the column accordingly.",
        )
    if num_steps is not None and num_steps > 0 and length > num_steps + 1 + slack:
        return violated(
            "IDENTITY_ACCEPT_LENGTH",
            f"Accept length {length:g} exceeds num_steps + 1 = {num_steps + 1}{where(cell)}.",
            "Check num_steps: the number belongs to another configuration.",
        )
    return None


def _positions(cell: Measurement, rates: Sequence[float] | None) -> Finding | None:
    """Accept length = 1 + sum of unconditional per-position rates."""
    length = cell.accept_length
    if not rates or length is None:
        return None
    summed = 1 + sum(rates)
    slack = 0.005 * len(rates) + _half(cell.reported_accept_length)
    if not differ(summed, length, tolerance_fraction=TOLERANCE_FRACTION, slack=slack):
        return None
    conditional = 1 + sum(_normalise.unconditional_rates(rates))
    hint = None
    if not differ(conditional, length, tolerance_fraction=TOLERANCE_FRACTION, slack=slack):
        hint = "The rates are conditional on the position before; their products agree with the accept length."
    return violated(
        "IDENTITY_POSITION_RATES",
        f"Per-position acceptance adds up to an accept length of {summed:.3f}, "
        f"but {length:.3f} is measured{where(cell)}.",
        hint,
    )


def _saturated(rates: Sequence[float] | None) -> Finding | None:
    """All drafts accepted everywhere is as suspicious as none (C12: NaN logits)."""
    if not rates or not all(rate >= SATURATED_RATE for rate in rates):
        return None
    return violated(
        "ACCEPTANCE_SATURATED",
        f"Every one of {len(rates)} draft positions is accepted at least {SATURATED_RATE:.1%} of the time.",
        "Look at the answers: NaN logits, repeated tokens or simulated acceptance do this.",
    )


def _throughput(cell: Measurement) -> Finding | None:
    """Printed output throughput = output tokens / wall time."""
    printed = cell.reported_throughput_tok_s
    if printed is None or cell.output_tokens is None or not cell.wall_s:
        return None
    counted = cell.output_tokens / cell.wall_s
    if not differ(counted, printed.value, tolerance_fraction=TOLERANCE_FRACTION, slack=_half(printed)):
        return None
    return violated(
        "IDENTITY_THROUGHPUT",
        f"{printed.value:g} tok/s is printed, but {cell.output_tokens} tokens in {cell.wall_s:g} s give "
        f"{counted:.2f} tok/s{where(cell)}.",
    )


def _throughput_within_concurrency(cell: Measurement) -> Finding | None:
    """Output throughput <= concurrency x 1000 / mean TPOT (C78)."""
    tpot = None if cell.tpot_ms is None else cell.tpot_ms.mean_ms
    throughput = cell.output_throughput_tok_s
    if cell.concurrency is None or not tpot or throughput is None:
        return None
    # A request's mean TPOT is averaged over requests, not tokens, so long answers may run a little faster.
    most = cell.concurrency * 1000 / tpot * 1.1
    if throughput <= most + _half(cell.reported_throughput_tok_s):
        return None
    return violated(
        "IDENTITY_THROUGHPUT",
        f"{throughput:.2f} tok/s cannot come from {cell.concurrency} streams at {tpot:g} ms per token{where(cell)}.",
        "Ask how the throughput was computed.",
    )


def _itl_over_tpot(cell: Measurement) -> Finding | None:
    """ITL / TPOT = accept length while every chunk carries one verify step."""
    itl = None if cell.itl_ms is None else cell.itl_ms.mean_ms
    tpot = None if cell.tpot_ms is None else cell.tpot_ms.mean_ms
    length = cell.accept_length
    if not itl or not tpot or length is None or length < 1.2:
        return None
    if not differ(itl / tpot, length, tolerance_fraction=ITL_TOLERANCE_FRACTION):
        return None
    message = f"ITL {itl:g} ms over TPOT {tpot:g} ms is {itl / tpot:.2f}, but the accept length is {length:.2f}"
    if not differ(itl, tpot, tolerance_fraction=ITL_TOLERANCE_FRACTION):
        return Finding(
            code="IDENTITY_ITL_TPOT",
            severity="info",
            message=f"{message}{where(cell)}: either the tool divides ITL by the tokens of a chunk, or one is wrong.",
            fix="Use TPOT; check the accept length against the server's counters.",
            confidence="medium",
        )
    return violated(
        "IDENTITY_ITL_TPOT",
        f"{message}{where(cell)}.",
        "Chunks were merged (`--stream-interval`), or the accept length covers other traffic than this run.",
    )
