"""A drafter made for another target."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracker.domain.checkpoint import Checkpoint
from tracker.domain.finding import Finding
from tracker.lint._subject import algorithm, drafter_name, is_speculative, target_name
from tracker.lint.base import Subject

_FAMILY = re.compile(
    r"(?i)(kimi[-_]?k|qwen|llama[-_]?|deepseek[-_]?(?:v|r)|glm[-_]?|minimax[-_]?m|mimo[-_]?v|gemma[-_]?|phi[-_]?|mistral[-_]?)"
    r"(\d+(?:\.\d+)?)(?![\d.]*[bB]\b)"
)
_TRAINED_WITH = frozenset({"eagle", "eagle3", "mtp", "dflash", "dspark", "medusa", "speculators", None})


class TargetMismatch:
    """The drafter was made for a target of other sizes, another vocabulary, or another generation.

    A drafter reads the hidden states of one very model. For another generation of it, a fine-tune or a model that
    happens to have the same width, the server starts and acceptance is low without a word. Sizes and vocabularies are
    compared where both checkpoints are described; generations are compared by name, which is a hint, not a proof.

    Sources: sgl-project/sglang issue 27829 (a K2.5 drafter healthy, its K2.6 sibling at 1.00); SpecForge issue 310;
    SGLang 0.5.23 refuses STANDALONE with another vocabulary.
    """

    codes = ("TARGET_HIDDEN_MISMATCH", "TARGET_VOCAB_MISMATCH", "TARGET_GENERATION_MISMATCH")

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield what does not fit."""
        drafter, target = subject.drafter, subject.target
        if drafter is not None and target is not None:
            yield from _sizes(subject, drafter, target)
        if is_speculative(subject) and algorithm(subject) not in ("STANDALONE", "DRAFT_MODEL"):
            yield from _generation(subject)


def _sizes(subject: Subject, drafter: Checkpoint, target: Checkpoint) -> Iterator[Finding]:
    standalone = algorithm(subject) in ("STANDALONE", "DRAFT_MODEL") or drafter.kind == "model"
    hidden = drafter.target_hidden_size or drafter.hidden_size
    known = hidden is not None and target.hidden_size is not None
    if known and hidden != target.hidden_size and not standalone and drafter.kind in _TRAINED_WITH:
        yield Finding(
            code="TARGET_HIDDEN_MISMATCH",
            severity="error",
            message=f"{drafter.name} expects hidden states of width {hidden}, {target.name} has {target.hidden_size}.",
            fix="Use a drafter trained for this target (another width needs target_hidden_size in its config).",
            confidence="high",
        )
    if drafter.vocab_size is not None and target.vocab_size is not None and drafter.vocab_size != target.vocab_size:
        yield Finding(
            code="TARGET_VOCAB_MISMATCH",
            severity="warning" if standalone else "error",
            message=f"{drafter.name} has a vocabulary of {drafter.vocab_size}, {target.name} of {target.vocab_size}.",
            fix="Use a drafter with the target's tokenizer.",
            confidence="medium" if standalone else "high",
            voids=() if standalone else ("acceptance",),
        )


def _generation(subject: Subject) -> Iterator[Finding]:
    drafter, target = drafter_name(subject), target_name(subject)
    if drafter is None or target is None:
        return
    drafted, served = _generations(drafter), _generations(target)
    for family in drafted.keys() & served.keys():
        if drafted[family] & served[family]:
            continue
        wanted, has = (" or ".join(sorted(found[family])) for found in (drafted, served))
        yield Finding(
            code="TARGET_GENERATION_MISMATCH",
            severity="warning",
            message=f"By its name {drafter} belongs to {family} {wanted}, the target {target} is {family} {has}.",
            fix="Check on which target the drafter was trained; a drafter of another generation accepts little.",
            confidence="medium",
        )


def _generations(name: str) -> dict[str, frozenset[str]]:
    """Return the model families in a name with their generations: `kimi-k2.5-eagle3` -> {kimi-k: {2.5}}."""
    found: dict[str, frozenset[str]] = {}
    for family, generation in _FAMILY.findall(name):
        key = family.lower().replace("_", "-").rstrip("-")
        number = generation.removesuffix(".0")
        found[key] = found.get(key, frozenset()) | {number}
    return found


RULE = TargetMismatch()
