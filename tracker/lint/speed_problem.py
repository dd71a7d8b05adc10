"""Healthy acceptance, poor speed: where not to look."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement
from tracker.lint._subject import accept_length_is_forced, is_speculative, pooled
from tracker.lint.base import Subject
from tracker.lint.slow_path import graphs_are_off

# Half of the drafts of a chain accepted is what published drafters reach on ordinary text.
_HEALTHY_FRACTION = 0.5
_SLOWER = 0.97


class SpeedProblem:
    """Acceptance is healthy and the server is slower than its baseline: a speed problem, not an acceptance problem.

    Better drafters do not help then: a step costs more than its tokens are worth. What to compare, in this order: CUDA
    graphs and their largest batch against the load, the overlap scheduler, the number of draft tokens verified, the
    attention backend, `max_running_requests`, the drafter's size; and whether verification is worth it at this load.

    Sources: sgl-project/sglang issues 11948 and 6949; SpecForge issue 339 (accept length 1.86 to 3.2 at the same
    speed); ggml-org/llama.cpp pull request 10455 (accept length 6.4 and slower).
    """

    codes = ("SPEED_NOT_ACCEPTANCE",)

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield the load where the contrast is largest."""
        if not is_speculative(subject) or accept_length_is_forced(subject) or subject.speculation is None:
            return
        most = subject.speculation.max_accept_length
        if most is None or most < 2:
            return
        slow = [
            (ratio, cell)
            for cell in pooled(subject)
            if cell.accept_length is not None and (cell.accept_length - 1) / (most - 1) >= _HEALTHY_FRACTION
            if (ratio := _ratio(cell)) is not None and ratio < _SLOWER
        ]
        if not slow:
            return
        ratio, cell = min(slow, key=lambda pair: pair[0])
        first = "CUDA graphs, which are off here" if graphs_are_off(subject) else "CUDA graphs against the load"
        yield Finding(
            code=self.codes[0],
            severity="info",
            message=f"A speed problem, not an acceptance problem: accept length {cell.accept_length:.3g} of at most "
            f"{most}, and {ratio:.2f} times the baseline's speed at {cell.concurrency} streams. "
            f"A step costs {(cell.accept_length or 0) / ratio:.2f} plain ones.",
            fix=f"Compare {first}, the overlap scheduler, fewer draft tokens, the attention backend and "
            "max_running_requests before any further training.",
            confidence="high" if ratio < 0.9 else "medium",
        )


def _ratio(cell: Measurement) -> float | None:
    """Return speed over the mean of the baseline's right before and after, as a sweep measures it; None without one."""
    ours = cell.output_throughput_tok_s
    around = [cell.extra.get(f"baseline_{when}_output_throughput_tok_s") for when in ("before", "after")]
    known = [speed for speed in around if speed]
    return None if ours is None or cell.concurrency is None or not known else ours * len(known) / sum(known)


RULE = SpeedProblem()
