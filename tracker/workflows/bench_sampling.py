"""Whether the streamed sample speaks for the answers that came whole."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from tracker.domain.finding import Finding
from tracker.load.answers import Answer
from tracker.workflows.bench_measured import Measured
from tracker.workflows.bench_plan import Load

# Fewer of either kind tell nothing.
MIN_ANSWERS = 10
# A difference that matters, and how surely it must be one: three standard errors.
MIN_DIFFERENCE_FRACTION = 0.03
STANDARD_ERRORS = 3.0


def findings(measured: Measured) -> list[Finding]:
    """Return a finding for each load at which streamed answers took another time a token than whole ones.

    Throughput is that of the mix; a server that streams at a cost is faster here than where every answer is streamed.
    """
    found = []
    for load in dict.fromkeys(item.load for item in measured.kept):
        answers = [answer for item in measured.kept if item.load == load for answer in item.result.answers]
        difference = slower_fraction(answers)
        if difference is not None:
            found.append(_finding(load, difference))
    return found


def slower_fraction(answers: Sequence[Answer]) -> float | None:
    """Return by which fraction streamed answers took longer a token, negative for less; None when no difference shows.

    Both are timed by the client, from sending to the last byte; compared are the means of the logarithm.
    """
    streamed = [math.log(value) for answer in answers if answer.first_token_s is not None for value in _pace(answer)]
    whole = [math.log(value) for answer in answers if answer.first_token_s is None for value in _pace(answer)]
    if min(len(streamed), len(whole)) < MIN_ANSWERS:
        return None
    difference = statistics.fmean(streamed) - statistics.fmean(whole)
    error = math.sqrt(statistics.variance(streamed) / len(streamed) + statistics.variance(whole) / len(whole))
    if abs(difference) <= max(MIN_DIFFERENCE_FRACTION, STANDARD_ERRORS * error):
        return None
    return math.exp(difference) - 1


def _pace(answer: Answer) -> list[float]:
    """Return seconds a token, where the answer has them."""
    tokens = None if answer.counts is None else answer.counts.output_tokens
    return [answer.latency_s / tokens] if tokens and answer.latency_s > 0 else []


def _finding(load: Load, difference: float) -> Finding:
    return Finding(
        code="STREAMING_COSTS",
        severity="info",
        message=f"At {load}, streamed answers took {abs(difference):.0%} {'longer' if difference > 0 else 'less'} a "
        "token than those that came whole: the throughput is that of the mix.",
        fix="Where every client streams, measure with --streamed 100.",
    )
