"""Drafter files in a layout that this server or this version cannot load."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.finding import Finding
from tracker.lint._subject import algorithm, is_speculative, version
from tracker.lint.base import Subject

# First sampled SGLang release that has it; the real change may be a release earlier.
_ALGORITHM_SINCE = {
    "STANDALONE": (0, 5, 2),
    "NGRAM": (0, 5, 3),
    "DFLASH": (0, 5, 11),
    "DSPARK": (0, 5, 18),
    "UNO": (0, 5, 20),
}
_BEFORE = {
    # last sampled release without it
    "STANDALONE": (0, 4, 9),
    "NGRAM": (0, 5, 2),
    "DFLASH": (0, 5, 10),
    "DSPARK": (0, 5, 15),
    "UNO": (0, 5, 18),
}
_ARCHITECTURE_BEFORE = {"Eagle3DeepseekV2ForCausalLM": ((0, 5, 11), (0, 5, 12))}


class DraftLayout:
    """The server has no loader for this drafter.

    The speculators layout of EAGLE-3 loads in vLLM and has to be converted for SGLang. Algorithms and drafter classes
    came with versions: the MLA drafter of Kimi with 0.5.12, DFLASH with 0.5.11, DSPARK with 0.5.18. A drafter of more
    than one layer needs 0.5.12. Original EAGLE-3 releases call themselves LlamaForCausalLM, which makes SGLang build
    a plain model.

    Sources: wheels of SGLang 0.4.5 to 0.5.23; sgl-project/sglang issues 8229 and 25673; SpecForge's exporter notes.
    """

    codes = ("DRAFT_LAYOUT_SPECULATORS", "DRAFT_ARCHITECTURE_NAME", "NOT_IN_THIS_VERSION")

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield what cannot be loaded."""
        if not is_speculative(subject) or subject.server is None or subject.server.engine != "sglang":
            return
        yield from _version(subject)
        drafter = subject.drafter
        if drafter is None:
            return
        if drafter.kind == "speculators" and drafter.config.get("speculators_algorithm") in (None, "eagle3", "eagle"):
            yield Finding(
                code="DRAFT_LAYOUT_SPECULATORS",
                severity="error",
                message=f"{drafter.name} is in the layout of vLLM's speculators, which SGLang does not load.",
                fix="Convert it to an EAGLE-3 checkpoint (LlamaForCausalLMEagle3), or serve it with vLLM.",
                confidence="high",
            )
        if drafter.kind == "eagle3" and drafter.architecture == "LlamaForCausalLM" and algorithm(subject) == "EAGLE3":
            yield Finding(
                code="DRAFT_ARCHITECTURE_NAME",
                severity="warning",
                message=f"{drafter.name} is EAGLE-3 but calls itself LlamaForCausalLM: SGLang builds a plain model.",
                fix='Write "architectures": ["LlamaForCausalLMEagle3"] into the drafter\'s config.json.',
                confidence="medium",
            )


def _version(subject: Subject) -> Iterator[Finding]:
    running = version(subject.server)
    if running is None:
        return
    used = algorithm(subject)
    if used in _BEFORE and running <= _BEFORE[used]:
        yield _too_old(f"the algorithm {used}", running, _ALGORITHM_SINCE[used])
    architecture = subject.drafter.architecture if subject.drafter is not None else None
    if architecture in _ARCHITECTURE_BEFORE and running <= _ARCHITECTURE_BEFORE[architecture][0]:
        yield _too_old(f"drafters of the class {architecture}", running, _ARCHITECTURE_BEFORE[architecture][1])


def _too_old(what: str, running: tuple[int, ...], needed: tuple[int, ...]) -> Finding:
    has, needs = (".".join(str(part) for part in numbers) for numbers in (running, needed))
    return Finding(
        code="NOT_IN_THIS_VERSION",
        severity="error",
        message=f"SGLang {has} does not know {what}.",
        fix=f"Use SGLang {needs} or newer.",
        confidence="high",
    )


RULE = DraftLayout()
