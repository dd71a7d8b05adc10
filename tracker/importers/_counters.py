"""Prometheus text as servers print it under `/metrics`: counters summed over ranks, growth between two readings."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path

from tracker.errors import InputError
from tracker.importers import _source

_ENGINE_METRIC = re.compile(rb"^(?:# (?:HELP|TYPE) )?(sglang|vllm):[a-z_]+", re.M)
_COMMENT = re.compile(rb"^# (HELP|TYPE) ", re.M)


def looks_like(head: bytes) -> bool:
    """Return whether this is Prometheus text of an inference server."""
    return bool(_COMMENT.search(head)) and bool(_ENGINE_METRIC.search(head))


def read(path: Path) -> Mapping[str, float]:
    """Return every counter of a metrics file, summed over its label sets.

    Raises:
        InputError: The text is no Prometheus exposition.
    """
    from prometheus_client.parser import text_string_to_metric_families

    text = _source.read_text(path)
    if not text.endswith("\n"):
        # A last line without its line break may be cut inside the number.
        text = text[: text.rfind("\n") + 1]
    totals: dict[str, float] = {}
    try:
        for family in text_string_to_metric_families(text):
            if family.type not in ("counter", "unknown"):
                continue
            for sample in family.samples:
                if not sample.name.endswith("_created") and math.isfinite(sample.value):
                    totals[sample.name] = totals.get(sample.name, 0.0) + sample.value
    except (ValueError, KeyError, IndexError, AttributeError) as error:
        raise InputError(
            f"the metrics text is damaged ({error})", where=str(path), hint="Fetch `/metrics` again."
        ) from error
    return totals


def growth(first: Mapping[str, float], second: Mapping[str, float]) -> Mapping[str, float]:
    """Return by how much each counter grew between two readings, whichever came first.

    A counter only grows, so the reading with the larger sum is the later one; one that is absent before was 0.
    """
    later, earlier = (second, first) if sum(second.values()) >= sum(first.values()) else (first, second)
    return {name: value - earlier.get(name, 0.0) for name, value in later.items() if value >= earlier.get(name, 0.0)}
