"""Number formats that the drafter inherits from the target."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.finding import Finding
from tracker.lint._fix import with_command
from tracker.lint._subject import argument, is_speculative, known_unset, runs_on
from tracker.lint.base import Subject

_FOUR_BIT = frozenset({"nvfp4", "fp4", "fp4_e2m1", "mxfp4", "int4"})


class InheritedFormats:
    """The drafter takes over the target's KV cache type or quantization, which it was not made for.

    Unless told otherwise SGLang gives the drafter the target's `--kv-cache-dtype` and `--quantization`. A one-layer
    drafter does not survive a 4-bit KV cache (accept length 1.1 to 1.25 against 2.9 with fp8), and unquantized drafter
    weights under the target's quantization fail to load or, worse, load wrongly.

    Sources: public troubleshooting note on a patched SGLang (accept rates 0.10-0.25 against 0.95-1.00);
    sgl-project/sglang pull requests 28196 and 22588; flag `--speculative-draft-kv-cache-dtype` of 0.5.23.
    """

    codes = ("DRAFT_KV_DTYPE_INHERITED_LOW_PRECISION", "DRAFT_QUANTIZATION_INHERITED")

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield what the drafter inherits to its harm."""
        if not is_speculative(subject) or not runs_on(subject, "sglang") or subject.server is None:
            return
        cache = argument(subject, "kv_cache_dtype")
        own = argument(subject, "speculative_draft_kv_cache_dtype")
        if isinstance(cache, str) and cache.lower() in _FOUR_BIT and own in (None, cache):
            yield Finding(
                code="DRAFT_KV_DTYPE_INHERITED_LOW_PRECISION",
                severity="warning",
                message=f"The drafter inherits the target's KV cache of {cache}, which costs it nearly all acceptance.",
                fix=with_command(
                    subject.server,
                    "Give the drafter a cache of its own (probe: a repetitive prompt at temperature 0 must be accepted "
                    "almost wholly), --speculative-draft-kv-cache-dtype fp8_e4m3.",
                    sets={"--speculative-draft-kv-cache-dtype": "fp8_e4m3"},
                ),
                confidence="medium",
            )
        quantization = argument(subject, "quantization")
        drafter = subject.drafter
        unset = known_unset(subject.server, "speculative_draft_model_quantization")
        plain = drafter is not None and "config.json" in drafter.sources and "quantization_config" not in drafter.config
        separate = subject.speculation is not None and subject.speculation.draft_model_path is not None
        if isinstance(quantization, str) and unset and plain and separate and drafter is not None:
            yield Finding(
                code="DRAFT_QUANTIZATION_INHERITED",
                severity="warning",
                message=f"{drafter.name} is not quantized but inherits --quantization {quantization} from the target.",
                fix=with_command(
                    subject.server,
                    "Add --speculative-draft-model-quantization unquant.",
                    sets={"--speculative-draft-model-quantization": "unquant"},
                ),
                confidence="medium",
            )


RULE = InheritedFormats()
