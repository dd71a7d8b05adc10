"""An adoption taken back: the run is as its trainer left it, and what people added since is there too."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.store import samples
from tests.store.conftest import MakeRun
from tests.store.test_adopt import AT, adopted, all_of, client_of, write_trainer_run
from tracker.domain.record import Amendment
from tracker.errors import InputError, StoreError
from tracker.store import mlflow_campaigns as desk
from tracker.store.base import Query
from tracker.store.mlflow_adopt import Adoption
from tracker.store.mlflow_forget import disconnect, find_adopted, forget
from tracker.store.mlflow_store import MlflowStore


@pytest.fixture(
    params=["sqlite", pytest.param("server", marks=pytest.mark.slow), pytest.param("postgres", marks=pytest.mark.slow)]
)
def mlflow(request: pytest.FixtureRequest) -> MlflowStore:
    found: MlflowStore = request.getfixturevalue(f"{request.param}_store")
    return found


def experiment_tags(store: MlflowStore, name: str) -> dict[str, str]:
    with client_of(store) as client:
        return dict(client.get_experiment_by_name(name).tags)


def test_a_forgotten_run_is_as_its_trainer_left_it(mlflow: MlflowStore, experiment: str) -> None:
    run_id = write_trainer_run(mlflow, experiment, engine="our own word", **{"finding.mine": "yes"})
    before, tags_before = all_of(mlflow, run_id), experiment_tags(mlflow, experiment)
    adopted(mlflow, run_id, findings=(samples.finding(),))
    changes = {"validity": "suspect", "training.samples": 90_000, "tags.owner": "ben"}
    mlflow.amend(run_id, Amendment(at=AT + timedelta(hours=1), by="b***", changes=changes, reason="recounted"))
    assert len(mlflow.query(Query(experiment=experiment))) == 1

    assert forget(mlflow, run_id) is None

    assert all_of(mlflow, run_id) == before
    assert experiment_tags(mlflow, experiment) == tags_before
    assert mlflow.query(Query(experiment=experiment)) == ()
    with client_of(mlflow) as client:
        number = client.get_experiment_by_name(experiment).experiment_id
        assert list(client.search_logged_models([number])) == []
    with pytest.raises(InputError, match="was not adopted"):
        find_adopted(mlflow, run_id)


def test_what_people_gave_the_run_since_stays(mlflow: MlflowStore, experiment: str) -> None:
    run_id = write_trainer_run(mlflow, experiment)
    adopted(mlflow, run_id)
    with client_of(mlflow) as client:
        client.set_tag(run_id, "team", "serving")
        client.set_tag(run_id, "mlflow.note.content", "the good one")
        client.log_text(run_id, "seen", "notes.txt")

    forget(mlflow, run_id)

    after = all_of(mlflow, run_id)
    assert (after["tags"]["team"], after["tags"]["mlflow.note.content"]) == ("serving", "the good one")
    assert {"config/config.yaml", "notes.txt"} == after["artifacts"].keys()


def test_a_forgotten_run_can_be_adopted_again(mlflow: MlflowStore, experiment: str) -> None:
    run_id = write_trainer_run(mlflow, experiment)
    adopted(mlflow, run_id)
    first = mlflow.load(run_id).record
    forget(mlflow, run_id)

    assert adopted(mlflow, run_id) == "adopted"

    assert mlflow.load(run_id).record == first
    assert [run.run_id for run in mlflow.query(Query(experiment=experiment))] == [run_id]


def test_a_campaign_and_a_drafters_page_that_others_use_stay(
    mlflow: MlflowStore, experiment: str, make_run: MakeRun
) -> None:
    mlflow.save_campaign(samples.campaign(experiment))
    run_id = write_trainer_run(mlflow, experiment)
    adopted(mlflow, run_id)
    benchmark = mlflow.save(make_run())
    tags = experiment_tags(mlflow, experiment)

    forget(mlflow, run_id)

    assert experiment_tags(mlflow, experiment) == tags
    assert [run.run_id for run in mlflow.query(Query(experiment=experiment))] == [benchmark]
    with client_of(mlflow) as client:
        served = client.get_run(benchmark).data.tags["drafter.model_id"]
        number = client.get_experiment_by_name(experiment).experiment_id
        assert [model.model_id for model in client.search_logged_models([number])] == [served]


def test_a_drafters_page_names_the_training_and_forgets_it_with_the_last_benchmark(
    mlflow: MlflowStore, experiment: str, make_run: MakeRun
) -> None:
    first, second = mlflow.save(make_run("one", training=None)), mlflow.save(make_run("two", training=None))
    run_id = write_trainer_run(mlflow, f"{experiment}-drafters")
    adopted(mlflow, run_id)
    with client_of(mlflow) as client:
        (model,) = client.search_logged_models([mlflow.experiment_id(experiment)])
    before = model.tags

    def tags() -> dict[str, str]:
        with client_of(mlflow) as client:
            return dict(client.get_logged_model(model.model_id).tags)

    for benchmark in (first, second):
        Adoption(mlflow).connect(mlflow.load(run_id), benchmark)
    assert tags()["drafter.trained_by"] == run_id
    note = tags()["mlflow.note.content"]
    assert "trained on 100,000 samples, 25,600,000 tokens" in note
    assert f"/runs/{run_id}?" in note

    disconnect(mlflow, first, run_id)
    assert tags()["drafter.trained_by"] == run_id
    disconnect(mlflow, second, run_id)
    assert tags() == before


CALLS = ("delete_tag", "delete_experiment_tag", "delete_logged_model", "list_artifacts", "get_experiment")


@pytest.mark.parametrize("killed_at", CALLS)
@pytest.mark.parametrize("number", [0, 1, 5])
def test_a_crash_leaves_a_run_that_the_next_call_finishes(
    sqlite_store: MlflowStore, experiment: str, killed_at: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlflow import MlflowClient

    run_id = write_trainer_run(sqlite_store, experiment, validity="great")
    before, tags_before = all_of(sqlite_store, run_id), experiment_tags(sqlite_store, experiment)
    adopted(sqlite_store, run_id)
    real, left = getattr(MlflowClient, killed_at), [number]

    def killed(*given: object, **named: object) -> object:
        if left[0] == 0:
            raise KeyboardInterrupt
        left[0] -= 1
        return real(*given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, killed_at, killed)
        try:
            forget(sqlite_store, run_id)
        except KeyboardInterrupt:
            is_before_anything = (killed_at, number) == ("delete_tag", 0)
            assert len(sqlite_store.query(Query(experiment=experiment))) == is_before_anything
            assert find_adopted(sqlite_store, run_id) == run_id

    if find_is_adopted(sqlite_store, run_id):
        forget(sqlite_store, run_id)

    assert all_of(sqlite_store, run_id) == before
    assert experiment_tags(sqlite_store, experiment) == tags_before


def find_is_adopted(store: MlflowStore, run_id: str) -> bool:
    try:
        return find_adopted(store, run_id) is not None
    except InputError:
        return False


def test_a_trainers_own_experiment_is_neither_renamed_nor_deleted_unasked(
    mlflow: MlflowStore, experiment: str, make_run: MakeRun
) -> None:
    run_id = write_trainer_run(mlflow, experiment)
    write_trainer_run(mlflow, experiment)
    adopted(mlflow, run_id)

    with pytest.raises(StoreError, match=r"another program wrote 2 runs; they would be deleted with it.*--forget"):
        desk.delete(mlflow, experiment)
    with pytest.raises(StoreError, match=r"they would go on writing to the old name.*--others-too"):
        desk.rename(mlflow, experiment, f"{experiment}-new")

    assert desk.campaign(mlflow, experiment).others == 2
    assert Adoption(mlflow).find(run_id).experiment == experiment
    desk.rename(mlflow, experiment, f"{experiment}-new", others_too=True)
    desk.delete(mlflow, f"{experiment}-new", others_too=True)
    desk.restore(mlflow, f"{experiment}-new")
    assert desk.campaign(mlflow, f"{experiment}-new").others == 2
