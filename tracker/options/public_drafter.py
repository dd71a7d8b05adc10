"""Try a drafter that others published for the same target."""

from __future__ import annotations

from collections.abc import Iterable

from tracker.analysis.decision import Evidence, Valued
from tracker.analysis.results import OptionAssessment
from tracker.options._pricing import benchmark_gpu_hours, price


class PublicDrafter:
    """Benchmark somebody else's checkpoint before paying for one's own."""

    key = "public_drafter"

    def assess(self, evidence: Evidence) -> Iterable[OptionAssessment]:
        """Yield the test where campaign.toml cites a published accept length."""
        cited = [
            (item.accept_length, item.source) for item in evidence.campaign.references if item.accept_length is not None
        ]
        if not cited:
            return
        lowest, highest = min(length for length, _ in cited), max(length for length, _ in cited)
        span = f"{lowest:.2f}" if lowest == highest else f"{lowest:.2f} to {highest:.2f}"
        bar = evidence.analysis.scaling.break_even
        against = "" if bar is None else f"; break-even here is {bar.value:.2f}"
        yield price(
            evidence,
            Valued(
                key=self.key,
                title="Try a public drafter of the same target",
                configuration=evidence.configuration_label,
                cost_gpu_hours=benchmark_gpu_hours(evidence),
                evidence=f"Published accept length {span}, on other prompts and builds{against}. {cited[0][1]}",
                would_change="One benchmark of it on these prompts.",
            ),
            speedup=None,
            missing=(
                "published accept lengths come from other prompts, flags and builds; only a run here says "
                "what it yields"
            ),
        )


OPTION = PublicDrafter()
