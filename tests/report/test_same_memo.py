"""The same campaign in two stores gives the same memo: ids that a store makes up decide nothing."""

from __future__ import annotations

import dataclasses
import functools
import random
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracker import analysis, options
from tracker.analysis.results import Window
from tracker.analysis.thinning import thin
from tracker.domain.campaign import Campaign
from tracker.domain.record import StoredRun
from tracker.report import MemoContext, build, render_json, render_text
from tracker.report.explain import explain
from tracker.resources import experiments_dir
from tracker.store import MemoryStore
from tracker.store.base import Query
from tracker.workflows.log_run import LogRequest, log_run
from tracker.workflows.session import Session

NOW = datetime(2026, 11, 30, 6, 0, tzinfo=UTC)
WINDOW = Window(since=NOW - timedelta(days=1), until=NOW + timedelta(days=1))
NAMES = (
    "kimi-k2.5-eagle3",
    "h200-tiny-llama-contaminated",
    pytest.param("h200-tiny-llama", marks=pytest.mark.slow),
    pytest.param("h200-llama-8b-simulated", marks=pytest.mark.slow),
)


@functools.cache
def logged(name: str) -> tuple[Campaign, tuple[StoredRun, ...]]:
    with tempfile.TemporaryDirectory() as place:
        folder, store = Path(place), MemoryStore()
        session = Session(now=NOW, environ={}, cwd=folder, folder=folder, _store=store)
        log_run(LogRequest(inputs=(experiments_dir() / name,)), session)
        runs = store.query(Query(experiment=name))
        rows = store.requests_many(runs)
        campaign = store.load_campaign(name)
    assert campaign is not None
    return campaign, tuple(dataclasses.replace(run, requests=rows[run.run_id]) for run in runs)


def memo(campaign: Campaign, runs: tuple[StoredRun, ...]) -> str:
    """Return memo.txt, explain.txt and memo.json in one text, with the record's id for each of the store's."""
    result = analysis.analyse(runs, campaign=campaign, window=WINDOW)
    decision = options.decide(analysis.gather(result))
    view = build(result, decision, MemoContext(generated_at=NOW, memo_number=1))
    text = render_text(view) + explain(result, decision) + render_json(view)
    for run in runs:
        text = text.replace(run.run_id, f"<{run.record.record_id}>")
    return text


def in_another_store(runs: tuple[StoredRun, ...], seed: int) -> tuple[StoredRun, ...]:
    """Return the runs as a store with other ids lists them, in another order."""
    order = random.Random(seed)
    ids = [f"{order.getrandbits(128):032x}" for _ in runs]
    renamed = [dataclasses.replace(run, run_id=run_id) for run, run_id in zip(runs, ids, strict=True)]
    order.shuffle(renamed)
    return tuple(renamed)


@pytest.mark.parametrize("name", NAMES)
def test_another_store_gives_the_same_memo_word_for_word(name: str) -> None:
    campaign, runs = logged(name)

    assert memo(campaign, in_another_store(runs, 1)) == memo(campaign, runs)


@functools.cache
def tied() -> tuple[tuple[StoredRun, ...], str]:
    """Return the founding runs and a twin of each, equal but for its identity, so that everything is a tie."""
    _, runs = logged(NAMES[0])
    twins = tuple(
        dataclasses.replace(
            run, run_id=f"{run.run_id[::-1]}", record=run.record.replace(record_id=f"{run.record.record_id}-twin")
        )
        for run in runs
    )
    return (*runs, *twins), memo(logged(NAMES[0])[0], (*runs, *twins))


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_ties_between_equal_runs_are_decided_alike_in_every_store(seed: int) -> None:
    runs, expected = tied()

    assert memo(logged(NAMES[0])[0], in_another_store(runs, seed)) == expected


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**9), most=st.integers(4, 14))
def test_thinning_keeps_the_same_records_in_every_store(seed: int, most: int) -> None:
    runs, _ = tied()
    kept = {run.record.record_id for run in thin(runs, always=(), most=most).kept}

    assert {run.record.record_id for run in thin(in_another_store(runs, seed), always=(), most=most).kept} == kept
