"""Random tokens taken for prompts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracker.domain.finding import Finding
from tracker.lint._subject import is_speculative
from tracker.lint.base import Subject

_RANDOM = re.compile(r"(?i)random([-_ ]?(ids?|tokens?|mm))?")


class RandomDataset:
    """Acceptance was measured, or is to be, on random prompts.

    Random tokens say nothing about acceptance, in either direction: they understate it where the target answers noise
    with noise, and overstate it where the answer becomes a loop of two tokens (accept length 3.93 of 4). With
    `ignore_eos` the answers run on past their end, which adds to it. Step times are not affected.

    Sources: vllm-project/vllm issues 33497 and 52536; lightseekorg/tokenspeed issue 1305; SGLang's own help of
    bench_serving.
    """

    codes = ("RANDOM_DATASET_FOR_ACCEPTANCE",)

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield the random prompt set of a speculative run."""
        name = subject.workload.prompt_set if subject.workload is not None else None
        if name is None or not is_speculative(subject) or not _RANDOM.fullmatch(name.strip()):
            return
        on = " with ignore_eos" if subject.workload is not None and subject.workload.ignore_eos else ""
        yield Finding(
            code=self.codes[0],
            severity="warning",
            message=f"The prompts are random ({name}{on}): acceptance on them means nothing, in either direction.",
            fix="Measure acceptance on prompts like those served; keep this run for its step time.",
            confidence="high",
            voids=("acceptance",),
        )


RULE = RandomDataset()
