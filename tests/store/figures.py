"""What a proof against loss found, in the same words everywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from tracker.store.mlflow_store import MlflowStore


def assert_nothing_lost(what: str, *, faults: int, expected: Iterable[str], stored: Iterable[str]) -> None:
    """Print the figures and hold them against what was to be stored.

    Args:
        what: The fault and the store.
        faults: How often it was injected.
        expected: Record ids that had to be stored.
        stored: Record id of every run that MLflow shows, copies included.
    """
    wanted, found = set(expected), Counter(stored)
    lost, doubled = wanted - found.keys(), sum(found.values()) - len(found)
    print(  # noqa: T201 - the figures that the proof is about
        f"{what}: faults injected {faults}, runs stored {len(found)}, runs lost {len(lost)}, duplicates {doubled}"
    )
    assert faults > 0
    assert (lost, doubled) == (set(), 0)
    assert found.keys() == wanted


def shown_record_ids(store: MlflowStore, experiment: str) -> list[str]:
    """Return the record id of every active run that MLflow itself shows, half-written ones and copies included."""
    found: list[Any] = []
    token = None
    while True:
        page = store.client.search_runs([store.experiment_id(experiment)], max_results=1000, page_token=token)
        found += page
        token = page.token
        if not token:
            break
    return [run.data.tags["tracker.record_id"] for run in found if run.data.tags.get("tracker.kind") != "report"]
