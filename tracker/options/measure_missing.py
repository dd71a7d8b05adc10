"""Gather a named missing measurement before deciding."""

from __future__ import annotations

from collections.abc import Iterable

from tracker.analysis.decision import Evidence, Valued
from tracker.analysis.results import OptionAssessment
from tracker.analysis.words import count, listed, percent, size, streams
from tracker.analysis.words import loads as in_words
from tracker.options._pricing import benchmark_gpu_hours, price

REPEATS = 5


class MeasureMissing:
    """The measurement without which a number in the memo rests on an assumption."""

    key = "measure_missing"

    def assess(self, evidence: Evidence) -> Iterable[OptionAssessment]:
        """Yield a baseline where there is none, repeats where a load is undecided, and flags nobody recorded."""
        yield from self._baseline(evidence)
        yield from self._repeats(evidence)
        yield from self._traffic(evidence)
        yield from self._flags(evidence)
        yield from self._acceptance(evidence)
        yield from self._unserved(evidence)

    def _baseline(self, evidence: Evidence) -> Iterable[OptionAssessment]:
        loads = [item.concurrency for item in evidence.analysis.verdict.by_concurrency if item.baseline_run_id is None]
        if loads:
            yield self._option(
                evidence,
                "baseline",
                f"Measure the baseline at {in_words(loads)}",
                passes=len(loads),
                why="Without a plain server on the same workload there is no verdict and no break-even.",
            )
            return
        drifts = [cost for cost in evidence.analysis.data_quality if cost.topic == "baseline"]
        if drifts:
            yield self._option(
                evidence,
                "baseline_before_and_after",
                "Measure the baseline before and after the next candidate",
                passes=2,
                why=" ".join(note.message for note in drifts),
            )

    def _repeats(self, evidence: Evidence) -> Iterable[OptionAssessment]:
        for item in evidence.analysis.verdict.by_concurrency:
            if item.status == "undecided" and item.best_run_id is not None and item.baseline_run_id is not None:
                yield self._option(
                    evidence,
                    f"repeats_{item.concurrency}",
                    f"Repeat {streams(item.concurrency)} {REPEATS} times, each on a fresh server, baseline in between",
                    passes=2 * REPEATS,
                    load=item.concurrency,
                    why=item.reason or "The interval contains 1.",
                )

    def _traffic(self, evidence: Evidence) -> Iterable[OptionAssessment]:
        """Loads that serve traffic and that no candidate was compared at."""
        compared = {
            item.concurrency
            for item in evidence.analysis.verdict.by_concurrency
            if item.best_run_id is not None and item.baseline_run_id is not None
        }
        shares = evidence.campaign.traffic.by_concurrency
        blind = sorted(load for load, share in shares.items() if share > 0 and load not in compared)
        if blind:
            share = percent(sum(shares[load] for load in blind))
            yield self._option(
                evidence,
                "traffic",
                f"Measure {in_words(blind)}, the baseline beside it",
                passes=2 * len(blind),
                why=f"{share} of the time is served there, and nothing is known of it.",
            )

    def _flags(self, evidence: Evidence) -> Iterable[OptionAssessment]:
        unknown = [
            point.run_id
            for point in evidence.analysis.points
            if point.configuration.speculative and point.configuration.num_steps is None
        ]
        if unknown:
            runs = count(len(dict.fromkeys(unknown)), "run")
            yield self._option(
                evidence,
                "num_steps",
                f"Record draft steps and top-k of {runs}",
                passes=0,
                why=(
                    "Whether break-even can be reached at all, and how the step splits, rests on an assumed "
                    "number of steps."
                ),
            )

    def _acceptance(self, evidence: Evidence) -> Iterable[OptionAssessment]:
        """A configuration known only from simulated acceptance has a step time and no speed."""
        rows = [point for point in evidence.analysis.points if point.excluded_reason is None]
        real = {point.configuration.label for point in rows if not point.step_time_only}
        forced = [point for point in rows if point.step_time_only and point.configuration.label not in real]
        if forced:
            labels = listed(list(dict.fromkeys(point.configuration.label for point in forced)))
            yield self._option(
                evidence,
                "real_acceptance",
                f"Measure {labels} without simulated acceptance",
                passes=len({point.configuration.label for point in forced}),
                why="With simulated acceptance its accept length was set, not measured: only its step time counts.",
            )

    def _unserved(self, evidence: Evidence) -> Iterable[OptionAssessment]:
        sizes = evidence.analysis.scaling.unserved
        if sizes:
            yield self._option(
                evidence,
                "unserved",
                f"Serve the drafters trained on {listed([size(samples) for samples in sizes])} samples",
                passes=len(sizes),
                why="They are trained and paid for; only served acceptance places them on the curve.",
            )

    def _option(
        self, evidence: Evidence, part: str, title: str, *, passes: int, why: str, load: int | None = None
    ) -> OptionAssessment:
        return price(
            evidence,
            Valued(
                key=f"{self.key}_{part}",
                title=title,
                cost_gpu_hours=benchmark_gpu_hours(evidence, passes, load=load),
                evidence=why,
                would_change="The measurement itself.",
            ),
            speedup=None,
            missing="a measurement changes what is known, not how fast it is",
        )


OPTION = MeasureMissing()
