"""Try another speculative algorithm."""

from __future__ import annotations

from collections.abc import Iterable

from tracker.analysis.decision import Evidence, Valued
from tracker.analysis.results import OptionAssessment, Point
from tracker.analysis.words import listed
from tracker.options._pricing import benchmark_gpu_hours, price

# Algorithms that need neither a drafter nor a training, by engine, with the flag that starts them.
_FREE = {
    "sglang": ("NGRAM", "--speculative-algorithm NGRAM"),
    "vllm": ("NGRAM", '--speculative-config \'{"method": "ngram", "num_speculative_tokens": 4}\''),
}
# The target's own draft layers, where it has them.
_OWN = {
    "sglang": ("NEXTN", "--speculative-algorithm NEXTN"),
    "vllm": ("MTP", '--speculative-config \'{"method": "mtp", "num_speculative_tokens": 1}\''),
}


class OtherAlgorithm:
    """Draft in another way: from the prompt, or with the target's own draft layers."""

    key = "other_algorithm"

    def assess(self, evidence: Evidence) -> Iterable[OptionAssessment]:
        """Yield the test while no measured algorithm is plainly faster and a cheap one was not tried."""
        best, verdict = evidence.best, evidence.verdict
        if best is None or verdict is None or verdict.status == "faster":
            return
        tried = _tried(evidence)
        offered = _offered(evidence)
        cheap = [(name, flag) for name, flag in offered if name not in tried]
        if offered and not cheap:
            return
        names = listed([name for name, _ in cheap], last="or")
        flags = listed([f"{name} ({flag})" for name, flag in cheap], last="or")
        free = f" {flags} needs no drafter and no training." if flags else ""
        yield price(
            evidence,
            Valued(
                key=self.key,
                title=f"Try another algorithm: {names}" if names else "Try another algorithm",
                cost_gpu_hours=benchmark_gpu_hours(evidence, max(1, len(cheap))),
                evidence=(
                    f"{_measured(tried)} Accept length and break-even belong to an algorithm and do not carry over to "
                    f"another.{free}"
                ),
                would_change="One benchmark of it, the baseline before and after.",
            ),
            speedup=None,
            missing="no figure of another algorithm says what this one yields; only a run here does",
        )


def _offered(evidence: Evidence) -> list[tuple[str, str]]:
    """Return what this engine offers without a drafter of one's own: its target's draft layers, then n-grams."""
    engine = evidence.analysis.engine
    if engine not in _FREE:
        return []
    own = [_OWN[engine]] if evidence.analysis.target_drafts_itself else []
    return [*own, _FREE[engine]]


def _tried(evidence: Evidence) -> dict[str, Point]:
    """Return the fastest usable row of every algorithm measured at the decision load."""
    found: dict[str, Point] = {}
    for point in evidence.analysis.points:
        name = point.configuration.algorithm
        usable = point.excluded_reason is None and not point.step_time_only and point.speedup.value is not None
        if name is None or point.concurrency != evidence.load or not usable:
            continue
        if name not in found or _speed(point) > _speed(found[name]):
            found[name] = point
    return found


def _speed(point: Point) -> float:
    return 0.0 if point.speedup.value is None else point.speedup.value


def _measured(tried: dict[str, Point]) -> str:
    if not tried:
        return "No algorithm was measured against a baseline here."
    best = [f"{name} {_speed(point):.2f} times the baseline" for name, point in sorted(tried.items())]
    return f"Best here: {listed(best)}."


OPTION = OtherAlgorithm()
