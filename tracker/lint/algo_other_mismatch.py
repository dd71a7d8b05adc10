"""Drafters under an algorithm that was made for another kind."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.checkpoint import CheckpointKind
from tracker.domain.finding import Finding
from tracker.lint._fix import corrected_command, with_json
from tracker.lint._subject import NAMED_EAGLE3, algorithm, drafter_name, listed, runs_on
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
        used = algorithm(subject)
        on_vllm = runs_on(subject, "vllm")
        if used is None or not (on_vllm or runs_on(subject, "sglang")):
            return
        judged = _judge(subject, used, on_vllm=on_vllm)
        if judged is None:
            return
        code, right, seen = judged
        flag = "--speculative-algorithm"
        words = ('"method": "{}"', right.lower()) if on_vllm else (f"{flag} {{}}", right)
        yield Finding(
            code=code,
            severity="error",
            message=f"The server runs {drafter_name(subject)} with {used}, which does not serve this kind ({seen}).",
            fix=with_json(subject.server, "--speculative-config", "method", right.lower())
            or f"Set {words[0].format(words[1])} in --speculative-config."
            if on_vllm
            else corrected_command(subject.server, flag, right),
            confidence="high" if subject.drafter is not None and subject.drafter.kind is not None else "medium",
            voids=("acceptance", "speed"),
            flag_before=words[0].format(used.lower() if on_vllm else used),
            flag_after=words[0].format(words[1]),
        )


def _judge(subject: Subject, used: str, *, on_vllm: bool) -> tuple[str, str, str] | None:
    """Return code, fitting algorithm and evidence of a mismatch; None when the two fit or nothing is known."""
    kind = subject.drafter.kind if subject.drafter is not None else None
    evidence = subject.drafter.kind_evidence if subject.drafter is not None else ()
    if used in ("DRAFT_MODEL", "STANDALONE"):
        name = drafter_name(subject) or ""
        named = kind is None and NAMED_EAGLE3.search(name) is not None
        seen = "its name says EAGLE-3" if named else listed(evidence) or "it is described as EAGLE-3"
        if named or kind == "eagle3":
            return "METHOD_DRAFT_MODEL_FOR_EAGLE3", "EAGLE3", seen
    fitting = (_VLLM if on_vllm else _SGLANG).get(kind) if kind is not None else None
    if fitting is None or used in fitting or (on_vllm and used.endswith("MTP")):
        return None
    return "ALGO_MISMATCH", fitting[0], listed(evidence) or f"its kind is {kind}"


RULE = AlgoOtherMismatch()
