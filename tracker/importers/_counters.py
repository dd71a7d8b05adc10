"""Prometheus text as servers print it under `/metrics`: counters summed over ranks, growth between two readings."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tracker.errors import InputError
from tracker.importers import _source

_ENGINE_METRIC = re.compile(rb"^(?:# (?:HELP|TYPE) )?(sglang|vllm):[a-z_]+", re.M)
_COMMENT = re.compile(rb"^# (HELP|TYPE) ", re.M)
# A reading that was filtered by name, `curl .../metrics | grep spec_decode`, has lost its comments.
_SAMPLE = re.compile(rb"^(sglang|vllm):[a-z_]+(?:\{[^}\n]*\})? [0-9.e+]+\s*$", re.M)


def looks_like(head: bytes) -> bool:
    """Return whether this is Prometheus text of an inference server."""
    return (bool(_COMMENT.search(head)) and bool(_ENGINE_METRIC.search(head))) or bool(_SAMPLE.search(head))


def cut(path: Path) -> str | None:
    """Return what a reading lacks whose last line is cut, in words; None for a whole one."""
    return None if _source.read_text(path).endswith("\n") else "the last line is cut; it was left out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One counter of one label set."""

    name: str
    """Name with its `_total`."""
    labels: Mapping[str, str]
    """Labels."""
    value: float
    """Count."""


def samples(path: Path) -> tuple[Sample, ...]:
    """Return every counter of a metrics file, one a label set.

    Raises:
        InputError: The text is no Prometheus exposition.
    """
    from prometheus_client.parser import text_string_to_metric_families

    text = _source.read_text(path)
    if not text.endswith("\n"):
        # A last line without its line break may be cut inside the number.
        text = text[: text.rfind("\n") + 1]
    try:
        return tuple(
            Sample(name=sample.name, labels=sample.labels, value=sample.value)
            for family in text_string_to_metric_families(text)
            if family.type in ("counter", "unknown")
            for sample in family.samples
            if not sample.name.endswith("_created") and _is_finite(sample.value)
        )
    except (ValueError, KeyError, IndexError, AttributeError) as error:
        raise InputError("the metrics text is damaged", where=str(path), hint="Fetch `/metrics` again.") from error


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # the parser returns whole numbers of any length
        return False


def read(path: Path) -> Mapping[str, float]:
    """Return every counter of a metrics file, summed over its label sets.

    Raises:
        InputError: The text is no Prometheus exposition.
    """
    totals: dict[str, float] = {}
    for sample in samples(path):
        totals[sample.name] = totals.get(sample.name, 0.0) + sample.value
    return totals


def growth(first: Mapping[str, float], second: Mapping[str, float]) -> Mapping[str, float]:
    """Return by how much each counter grew between two readings, whichever came first.

    A counter only grows, so the reading with the larger sum is the later one; one that is absent before was 0.
    """
    later, earlier = (second, first) if sum(second.values()) >= sum(first.values()) else (first, second)
    return {name: value - earlier.get(name, 0.0) for name, value in later.items() if value >= earlier.get(name, 0.0)}
