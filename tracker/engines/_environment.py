"""The environment variables that change how a server runs."""

from __future__ import annotations

from collections.abc import Mapping

from tracker.domain.redaction import REDACTED, is_secret_name, redact_text

PREFIXES = ("NCCL_", "SGLANG_", "VLLM_")
NAMES = frozenset({"CUDA_VISIBLE_DEVICES"})


def relevant_environment(environ: Mapping[str, object]) -> dict[str, str]:
    """Return the variables that belong into a record, sorted, secrets redacted."""
    return {
        name: REDACTED if is_secret_name(name) else redact_text(str(value))
        for name, value in sorted(environ.items())
        if (name.startswith(PREFIXES) or name in NAMES) and value is not None
    }
