"""What reading all weights shows."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.checkpoint import Checkpoint
from tracker.domain.finding import Finding, Severity
from tracker.lint._subject import listed
from tracker.lint.base import Subject

_SHOWN = 4


class Weights:
    """The weights themselves are broken: NaN or infinity, matrices of zeros, embeddings or heads never trained.

    Found only where the weights were read (`--deep`). NaN logits accept everything or nothing. A matrix whose rows all
    have nearly the same length is a fresh initialisation that an exporter saved because the real one was left out.

    Sources: NVIDIA TensorRT-LLM pull request 5146; lightseekorg/TorchSpec issue 38; sgl-project/sglang issue 27829.
    """

    codes = ("WEIGHTS_NOT_FINITE", "WEIGHTS_ALL_ZERO", "WEIGHTS_LOOK_UNTRAINED")

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield what was seen in drafter and target."""
        for checkpoint in (subject.drafter, subject.target):
            if checkpoint is not None:
                yield from _seen(checkpoint)


def _seen(checkpoint: Checkpoint) -> Iterator[Finding]:
    kinds: tuple[tuple[str, Severity, tuple[str, ...], str], ...] = (
        ("WEIGHTS_NOT_FINITE", "error", checkpoint.not_finite_tensors, "NaN or infinity in"),
        ("WEIGHTS_ALL_ZERO", "warning", checkpoint.zero_tensors, "nothing but zeros in"),
        ("WEIGHTS_LOOK_UNTRAINED", "warning", checkpoint.untrained_tensors, "a fresh initialisation, it seems, in"),
    )
    for code, severity, names, what in kinds:
        if names:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            yield Finding(
                code=code,
                severity=severity,
                message=f"{checkpoint.name} holds {what} {listed(names[:_SHOWN])}{more}.",
                fix="Export the checkpoint again from the training state; compare the tensors the exporter skips.",
                confidence="certain" if severity == "error" else "medium",
                voids=("acceptance",) if severity == "error" else (),
            )


RULE = Weights()
