"""Campaigns renamed, deleted and brought back, on every kind of MLflow store: nothing is lost, nothing comes twice."""

from __future__ import annotations

import pytest

from tests.store import samples
from tests.store.conftest import MakeRun
from tests.store.test_reports import memo
from tracker.errors import InputError, RunNotFoundError, StoreError
from tracker.store import mlflow_campaigns as desk
from tracker.store.base import Query
from tracker.store.mlflow_store import MlflowStore


@pytest.fixture(params=["sqlite", "server", pytest.param("postgres", marks=pytest.mark.slow)])
def mlflow_store(request: pytest.FixtureRequest) -> MlflowStore:
    found: MlflowStore = request.getfixturevalue(f"{request.param}_store")
    return found


@pytest.fixture
def filled(mlflow_store: MlflowStore, make_run: MakeRun, experiment: str) -> MlflowStore:
    mlflow_store.save_campaign(samples.campaign(experiment))
    ids = mlflow_store.save_many([make_run("first"), make_run("second")])
    mlflow_store.save_report(experiment, memo(run_ids=ids))
    return mlflow_store


def test_a_renamed_campaign_keeps_runs_memos_and_facts_and_logging_again_is_the_same_run(
    filled: MlflowStore, make_run: MakeRun, experiment: str
) -> None:
    before = filled.query(Query(experiment=experiment))
    new = f"{experiment}-renamed"

    desk.rename(filled, experiment, new)

    after = filled.query(Query(experiment=new))
    assert [run.run_id for run in after] == [run.run_id for run in before]
    assert [run.record for run in after] == [run.record.replace(experiment=new) for run in before]
    assert [item.key for item in filled.reports(new)] == ["2026-11-30-campaign"]
    campaign = filled.load_campaign(new)
    assert campaign is not None
    assert campaign == samples.campaign(new)
    assert experiment not in filled.experiments()
    ids = {run.record.name: run.run_id for run in after}
    assert filled.save(make_run("first")) == filled.save(make_run("first", experiment=new)) == ids["first"]
    assert len(filled.query(Query(experiment=new))) == 2
    desk.rename(filled, new, experiment)
    assert filled.save(make_run("second")) == ids["second"]


def test_names_that_are_taken_unknown_or_unusable_are_told(
    filled: MlflowStore, make_run: MakeRun, experiment: str
) -> None:
    other = f"{experiment}-other"
    filled.save(make_run("other", experiment=other))

    with pytest.raises(StoreError, match="is taken"):
        desk.rename(filled, experiment, other)
    with pytest.raises(StoreError, match=f"Did you mean '{experiment}'"):
        desk.rename(filled, experiment.replace("campaign", "campain"), "new")
    with pytest.raises(InputError, match="cannot be a campaign's name"):
        desk.rename(filled, experiment, "a/b")
    with pytest.raises(StoreError, match="is called"):
        desk.rename(filled, experiment, experiment)
    with pytest.raises(StoreError, match="is not deleted"):
        desk.restore(filled, experiment)
    with pytest.raises(StoreError, match="there is no campaign"):
        desk.delete(filled, "nobody-knows-this-campaign")
    desk.delete(filled, other)
    with pytest.raises(StoreError, match=r"holds its name.*tracker campaign restore"):
        desk.rename(filled, experiment, other)
    assert [run.record.name for run in filled.query(Query(experiment=experiment))] == ["first", "second"]


def test_a_deleted_campaign_comes_back_with_exactly_what_it_had(
    filled: MlflowStore, make_run: MakeRun, experiment: str
) -> None:
    thrown_away = filled.save(make_run("thrown away"))
    filled.client.delete_run(thrown_away)
    before = filled.query(Query(experiment=experiment))

    desk.delete(filled, experiment)

    assert experiment not in filled.experiments()
    (listed,) = [item for item in desk.campaigns(filled) if item.name == experiment]
    assert (listed.state, listed.runs, listed.memos) == ("deleted", 2, 1)
    with pytest.raises(StoreError, match=r"holds its name.*tracker campaign restore"):
        filled.save(make_run("new", record_id="new"))
    with pytest.raises(StoreError, match="holds its name"):
        desk.delete(filled, experiment)
    restored = desk.restore(filled, experiment)
    assert (restored.state, restored.runs, restored.memos) == ("active", 2, 1)
    assert filled.query(Query(experiment=experiment)) == before
    assert len(filled.reports(experiment)) == 1
    with pytest.raises(RunNotFoundError, match="was deleted"):
        filled.load(thrown_away)


def test_a_restore_that_was_killed_half_way_is_finished_by_the_next(
    filled: MlflowStore, make_run: MakeRun, experiment: str
) -> None:
    thrown_away = filled.save(make_run("thrown away"))
    filled.client.delete_run(thrown_away)
    number = filled.experiment_id(experiment)
    desk.delete(filled, experiment)
    filled.client.restore_experiment(number)  # all that a killed process has done

    assert desk.restore(filled, experiment).runs == 2
    assert [run.record.name for run in filled.query(Query(experiment=experiment))] == ["first", "second"]


def test_half_runs_do_not_come_back_with_a_campaign_that_was_deleted_in_mlflow(
    filled: MlflowStore, make_run: MakeRun, experiment: str
) -> None:
    number = filled.experiment_id(experiment)
    half = filled.client.create_run(number, tags={"tracker.record_id": make_run("half").record.record_id})
    copied = filled.query(Query(experiment=experiment))[0]
    tags = filled.client.get_run(copied.run_id).data.tags
    copy = filled.client.create_run(number, tags=dict(tags))
    for run in (half, copy):
        filled.client.delete_run(run.info.run_id)
    filled.client.delete_experiment(number)

    desk.restore(filled, experiment)

    active = {run.info.run_id for run in filled.client.search_runs([number])}
    assert half.info.run_id not in active
    assert len(active & {copied.run_id, copy.info.run_id}) == 1
    assert len(active) == 3
    # The copy has no files, and other tests look at the newest run of the server.
    filled.client.delete_experiment(number)
