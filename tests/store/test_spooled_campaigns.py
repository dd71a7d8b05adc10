"""Campaigns' facts travel with the runs in a spool."""

from __future__ import annotations

import dataclasses
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.store import samples
from tracker.domain.campaign import Campaign, Costs
from tracker.errors import InputError
from tracker.store.base import RunStore
from tracker.store.memory import MemoryStore
from tracker.store.mlflow_open import open_store
from tracker.store.spool import Spool
from tracker.store.spooled_campaigns import pending_campaigns, put_campaign
from tracker.store.sync import sync
from tracker.workflows.session import Session
from tracker.workflows.sync import sync_spool

FACTS = Campaign(name="kimi eagle3", question="worth it?", decision_concurrency=8, costs=Costs(gpus=8, horizon_days=30))


def test_facts_reach_the_store_with_the_runs_and_leave_the_spool(store: RunStore, spool: Spool) -> None:
    put_campaign(FACTS, spool)
    run = samples.run("a run of the facts alone")
    spool.put(dataclasses.replace(run, record=run.record.replace(experiment=FACTS.name)))

    outcomes = sync(store, spool)

    assert [outcome.status for outcome in outcomes] == ["sent"]
    assert store.load_campaign(FACTS.name) == FACTS
    assert pending_campaigns(spool) == ()


def test_the_last_facts_of_a_campaign_are_the_ones_sent(spool: Spool) -> None:
    later = dataclasses.replace(FACTS, decision_concurrency=32)
    put_campaign(FACTS, spool)
    put_campaign(later, spool)
    put_campaign(dataclasses.replace(FACTS, name="kimi-eagle3"), spool)
    memory = MemoryStore()

    assert len(pending_campaigns(spool)) == 2
    assert sync(memory, spool) == ()
    assert memory.load_campaign(FACTS.name) == later


def test_facts_stay_while_the_store_is_down_and_are_told(tmp_path: Path, spool: Spool) -> None:
    path = put_campaign(FACTS, spool)
    spool.put(samples.run())
    down = open_store("http://127.0.0.1:9", environ={}, cache_dir=tmp_path / "cache")

    outcomes = sync(down, spool)

    assert [outcome.status for outcome in outcomes] == ["failed", "failed"]
    assert outcomes[0].path == path
    assert path.exists()


def test_damaged_facts_are_told_and_do_not_hold_up_the_runs(spool: Spool) -> None:
    path = put_campaign(FACTS, spool)
    path.write_text("{")
    spool.put(samples.run())

    facts, run = sync(MemoryStore(), spool)

    assert (facts.status, run.status) == ("failed", "sent")
    assert str(path) in str(facts.error)


def test_a_name_that_no_store_takes_is_refused_before_anything_is_kept(spool: Spool) -> None:
    with pytest.raises(InputError):
        put_campaign(dataclasses.replace(FACTS, name="a/b"), spool)

    assert pending_campaigns(spool) == ()


def test_facts_that_wait_alone_are_sent_too(tmp_path: Path, empty_database: Path) -> None:
    (tmp_path / "data").mkdir()
    shutil.copy(empty_database, tmp_path / "data" / "mlflow.db")
    session = Session(now=datetime(2026, 11, 30, tzinfo=UTC), environ={}, cwd=tmp_path, folder=tmp_path / "data")
    put_campaign(FACTS, session.spool)

    assert sync_spool(session) == ()

    assert session.store().load_campaign(FACTS.name) == FACTS
    assert pending_campaigns(session.spool) == ()
