"""Prediction layers in another number format than the target they belong to."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.checkpoint import Checkpoint
from tracker.domain.finding import Finding
from tracker.lint._subject import algorithm, argument, is_speculative, mapping
from tracker.lint.base import Subject

_PLAIN = frozenset({"BF16", "F16", "F32"})


class MtpQuantization:
    """The target is quantized, its prediction layers (MTP) are not, and its config does not say so.

    A loader that takes the target's quantization for the whole file reads unquantized prediction layers wrongly, or
    leaves them at their initial values: the server runs, and acceptance is near nothing from the start. The config
    has to list the layers as left out (`ignore`, `modules_to_not_convert`), or they have to be quantized too.

    Sources: sgl-project/sglang pull request 23219 and issue 21138 (0.33 from the start); mratsim/sglang-qwen38fn-sm120
    issue 3 (0.23).
    """

    codes = ("MTP_HEAD_UNQUANTIZED_UNDER_QUANT_TARGET",)

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield the mixture where the tensors show it and the config is silent."""
        used = algorithm(subject)
        if not is_speculative(subject) or used is None or not (used in ("EAGLE", "NEXTN") or used.endswith("MTP")):
            return
        for checkpoint in (subject.drafter, subject.target):
            if checkpoint is None or not _is_plain(checkpoint) or not _target_is_quantized(subject):
                continue
            if _says_so(checkpoint) or (subject.target is not None and _says_so(subject.target)):
                continue
            types = checkpoint.config["mtp_weight_dtypes"]
            yield Finding(
                code=self.codes[0],
                severity="warning",
                message=f"The prediction layers of {checkpoint.name} are {' and '.join(types)}, the target is "
                "quantized, and its config does not leave them out.",
                fix="List the layers under the config's quantization ignore list, or take one that quantizes them.",
                confidence="medium",
            )
            return


def _is_plain(checkpoint: Checkpoint) -> bool:
    types = checkpoint.config.get("mtp_weight_dtypes")
    return isinstance(types, (list, tuple)) and bool(types) and set(types) <= _PLAIN


def _target_is_quantized(subject: Subject) -> bool:
    described = [checkpoint for checkpoint in (subject.target, subject.drafter) if checkpoint is not None]
    by_config = any(mapping(checkpoint.config.get("quantization_config")) for checkpoint in described)
    return by_config or argument(subject, "quantization") not in (None, "unquant")


def _says_so(checkpoint: Checkpoint) -> bool:
    """Return whether the quantization config names the prediction layers among what it leaves out."""
    quantization = mapping(checkpoint.config.get("quantization_config"))
    layers = checkpoint.num_hidden_layers
    left_out = [
        str(name)
        for key in ("ignore", "modules_to_not_convert", "exclude_modules")
        for name in quantization.get(key) or ()
    ]
    return any("mtp" in name.lower() or (layers is not None and f"layers.{layers}" in name) for name in left_out)


RULE = MtpQuantization()
