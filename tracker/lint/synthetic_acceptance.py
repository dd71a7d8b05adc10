"""Acceptance that was forced, not earned."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.finding import Finding
from tracker.lint._subject import argument, is_speculative, runs_on
from tracker.lint.base import Subject


class SyntheticAcceptance:
    """Acceptance is simulated, or the drafter's weights are random.

    SGLang's SGLANG_SIMULATE_ACC_LEN and vLLM's synthetic rejection sampling force the accept length, and `--load-format
    dummy` gives target and drafter random weights. Such a run measures the time of a step, which is the honest way to a
    break-even curve; its accept length, its throughput and its text say nothing about the drafter.

    Sources: SGLang 0.5.23 environ.py; vllm-project/vllm pull request 39359; vllm-project/recipes pull request 626,
    where a synthetic length was left in a published recipe.
    """

    codes = ("SYNTHETIC_ACCEPTANCE", "DRAFT_WEIGHTS_DUMMY", "TARGET_WEIGHTS_DUMMY")

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield what makes acceptance meaningless."""
        speculation = subject.speculation
        if speculation is not None and speculation.simulated_accept_length is not None:
            how = "synthetic_acceptance_length" if runs_on(subject, "vllm") else "SGLANG_SIMULATE_ACC_LEN"
            yield Finding(
                code="SYNTHETIC_ACCEPTANCE",
                severity="error",
                message=f"Acceptance is simulated ({how} {speculation.simulated_accept_length:g}): "
                "the run gives the time of a step, and nothing about the drafter.",
                fix=f"Remove {how} for a run that is to judge the drafter; keep the run for its step time.",
                confidence="certain",
                voids=("acceptance",),
            )
        formats = [argument(subject, name) for name in ("speculative_draft_load_format", "load_format")]
        if is_speculative(subject) and "dummy" in formats[: 1 if formats[0] else 2]:
            yield Finding(
                code="DRAFT_WEIGHTS_DUMMY",
                severity="error",
                message="The drafter has random weights (load format dummy): nothing it proposes can be accepted.",
                fix="Load the real weights: remove the dummy load format.",
                confidence="certain",
                voids=("acceptance",),
            )
        if formats[1] == "dummy":
            yield Finding(
                code="TARGET_WEIGHTS_DUMMY",
                severity="info",
                message="The target has random weights (load format dummy): the run gives the times of a model of this "
                "shape, and its text means nothing.",
                fix="Load the real weights for a run that is to judge answers or acceptance.",
                confidence="certain",
            )


RULE = SyntheticAcceptance()
