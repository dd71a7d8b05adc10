"""A drafter measured on the prompts it was trained on."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracker.domain.finding import Finding
from tracker.lint._subject import is_speculative
from tracker.lint.base import Subject

# Names that say nothing about whose prompts they are.
_VAGUE = frozenset(
    {"custom", "default", "data", "dataset", "train", "test", "prompts", "random", "mixed", "mix", "all"}
)
_SPLIT = re.compile(r"[+,;&\s]+")
_ENDING = re.compile(r"\.(?:jsonl?|csv|parquet|txt)$")


class EvalOverlap:
    """The benchmark's prompts are, by digest or by name, those of the drafter's training data.

    Acceptance on seen prompts is higher than it will be on new ones, and grows with epochs instead of with data. Equal
    digests are proof; equal names may be different splits of one data set, which is worth a look.

    Sources: NickL77/BaldEagle issue 17 (the test set was taken from the training set); SafeAILab/EAGLE issue 276.
    """

    codes = ("EVAL_OVERLAPS_TRAINING",)

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield the overlap."""
        training, workload = subject.training, subject.workload
        if training is None or workload is None or not is_speculative(subject):
            return
        same = training.data_digest is not None and training.data_digest == workload.prompt_set_digest
        shared = sorted(_parts(training.data_name) & _parts(workload.prompt_set))
        if not same and not shared:
            return
        yield Finding(
            code=self.codes[0],
            severity="warning",
            message="The prompts are the drafter's training data, by digest: acceptance on new prompts will be lower."
            if same
            else f"Prompts and training data are both named {shared[0]}: acceptance may be of prompts already seen.",
            fix="Measure on prompts that were held out of the training, and record their digest.",
            confidence="certain" if same else "low",
            voids=("acceptance",) if same else (),
        )


def _parts(name: str | None) -> frozenset[str]:
    """Return the data sets in a name, `ShareGPT+UltraChat` -> {sharegpt, ultrachat}; vague words left out."""
    if name is None:
        return frozenset()
    words = (_ENDING.sub("", part.rsplit("/", 1)[-1].lower()) for part in _SPLIT.split(name))
    return frozenset(word for word in words if len(word) > 2) - _VAGUE


RULE = EvalOverlap()
