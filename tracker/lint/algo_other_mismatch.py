"""Drafters under an algorithm that was made for another kind."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.checkpoint import CheckpointKind
from tracker.domain.finding import Finding
from tracker.lint._fix import corrected_command
from tracker.lint._subject import algorithm, listed, runs_on
from tracker.lint.base import Subject

# What SGLang 0.5.23 can serve each kind with; kinds that are left out are not judged.
_SGLANG: dict[CheckpointKind, tuple[str, ...]] = {
    "eagle": ("EAGLE", "NEXTN"),
    "eagle3": ("EAGLE3", "EAGLE", "NEXTN"),  # the last two are a rule of their own
    "mtp": ("NEXTN", "EAGLE", "FROZEN_KV_MTP"),
    "dflash": ("DFLASH",),
    "dspark": ("DSPARK",),
    "model": ("STANDALONE", "NEXTN", "EAGLE", "UNO"),  # EAGLE: a target that carries its prediction layers
}
_VLLM: dict[CheckpointKind, tuple[str, ...]] = {
    "eagle": ("EAGLE",),
    "eagle3": ("EAGLE3", "EAGLE"),
    "medusa": ("MEDUSA",),
    "dflash": ("DFLASH",),
}


class AlgoOtherMismatch:
    """The algorithm was made for another kind of drafter than the one given.

    EAGLE3 with an EAGLE-1 drafter, DFLASH with an EAGLE-3 drafter, vLLM's `draft_model` with a drafter that is no
    language model: some of these fail while loading, after minutes, others run and accept nothing. EAGLE for an
    EAGLE-3 drafter, the silent one, has a rule of its own. A Gemma-4 assistant takes NEXTN or EAGLE only.

    Sources: SGLang 0.5.23 speculative_hook.py and model registry; vLLM 0.24 speculative configuration.
    """

    codes = ("ALGO_MISMATCH", "METHOD_DRAFT_MODEL_FOR_EAGLE3")

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield the mismatch and the algorithm that fits."""
        used, drafter = algorithm(subject), subject.drafter
        if used is None or drafter is None or drafter.kind is None:
            return
        on_vllm = runs_on(subject, "vllm")
        if not on_vllm and not runs_on(subject, "sglang"):
            return
        if used in ("DRAFT_MODEL", "STANDALONE") and drafter.kind == "eagle3":
            right = "EAGLE3"
            code = "METHOD_DRAFT_MODEL_FOR_EAGLE3"
        else:
            fitting = (_VLLM if on_vllm else _SGLANG).get(drafter.kind)
            if fitting is None or used in fitting or (on_vllm and used.endswith("MTP")):
                return
            right, code = fitting[0], "ALGO_MISMATCH"
        flag = "--speculative-algorithm"
        seen = listed(drafter.kind_evidence) or f"its kind is {drafter.kind}"
        yield Finding(
            code=code,
            severity="error",
            message=f"The server is to run {drafter.name} with {used}, which does not serve this kind ({seen}).",
            fix=f'Set "method": "{right.lower()}" in --speculative-config.'
            if on_vllm
            else corrected_command(subject.server, flag, right),
            confidence="high",
            voids=("acceptance", "speed"),
            flag_before=f'"method": "{used.lower()}"' if on_vllm else f"{flag} {used}",
            flag_after=f'"method": "{right.lower()}"' if on_vllm else f"{flag} {right}",
        )


RULE = AlgoOtherMismatch()
