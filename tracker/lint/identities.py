"""Figures that cannot all be true at once."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement
from tracker.lint._subject import MIN_VERIFY_STEPS, accept_length_is_forced, pooled
from tracker.lint.base import Subject

_SLACK = 1.05
_PERFECT = 0.999


class Identities:
    """A measured figure lies outside what the settings allow, or two figures contradict each other.

    One verify step yields at most steps + 1 tokens. Acceptance that is perfect at every position, or a length at its
    very maximum, is as suspicious as none at all: NaN logits accept everything. A client's output rate cannot exceed
    its streams times 1000 / TPOT, where that is the TPOT of all its answers and not of a streamed sample.

    Sources: a public consistency checker, re-derived; NVIDIA TensorRT-LLM pull request 5146 (NaN logits:
    1 or the maximum); vllm-ascend issue 12890 (26 tok/s at 45 ms per token on one stream).
    """

    codes = ("ACCEPT_LENGTH_ABOVE_MAXIMUM", "ACCEPT_LENGTH_AT_MAXIMUM", "THROUGHPUT_ABOVE_LATENCY_LIMIT")

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield each contradiction once, for the first cell that shows it."""
        most = subject.speculation.max_accept_length if subject.speculation is not None else None
        seen: set[str] = set()
        for cell in pooled(subject):
            for finding in (*_length(subject, cell, most), *_throughput(cell)):
                if finding.code not in seen:
                    seen.add(finding.code)
                    yield finding


def _length(subject: Subject, cell: Measurement, most: int | None) -> Iterator[Finding]:
    length = cell.accept_length
    if most is None or most < 2 or length is None or accept_length_is_forced(subject):
        return
    rounding = cell.reported_accept_length.half_width if cell.reported_accept_length is not None else None
    if length > most + (rounding or 0) + 0.01:
        yield Finding(
            code="ACCEPT_LENGTH_ABOVE_MAXIMUM",
            severity="error",
            message=f"Accept length {length:.3g} is above {most}, the most that {most - 1} steps can give.",
            fix="Check which server the figure belongs to, and whether it counts tokens per verify step.",
            confidence="high",
            voids=("acceptance",),
        )
    elif length >= most - 0.001 * (most - 1) and (cell.verify_steps or 0) >= MIN_VERIFY_STEPS:
        yield Finding(
            code="ACCEPT_LENGTH_AT_MAXIMUM",
            severity="warning",
            message=f"Accept length {length:.4g} is the very maximum of {most}: every draft was accepted.",
            fix="Look at the answers: NaN logits or a repeating text accept everything.",
            confidence="medium",
            voids=("acceptance",),
        )


def _throughput(cell: Measurement) -> Iterator[Finding]:
    rate, tpot = cell.output_throughput_tok_s, cell.tpot_ms
    slowest = None if tpot is None else (tpot.mean_ms if tpot.mean_ms is not None else tpot.median_ms)
    if rate is None or not slowest or cell.concurrency is None or _is_sample(cell):
        return
    limit = cell.concurrency * 1000 / slowest
    if rate > _SLACK * limit:
        yield Finding(
            code="THROUGHPUT_ABOVE_LATENCY_LIMIT",
            severity="warning",
            message=f"{rate:.4g} tok/s at {cell.concurrency} streams contradicts {slowest:.4g} ms per token, "
            f"which allow {limit:.4g}.",
            fix="Ask how the throughput was computed, and how many streams really ran.",
            confidence="medium",
        )


def _is_sample(cell: Measurement) -> bool:
    """Return whether latencies are those of a streamed sample: its pace bounds nothing that all answers did."""
    return cell.extra.get("streamed_requests", math.inf) < (cell.requests_completed or 0)


RULE = Identities()
