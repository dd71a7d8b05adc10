"""What is particular to MLflow: what its UI shows, links, drafters, corrections, the cache."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.store import samples
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.record import Amendment, LoggedRun
from tracker.errors import RunNotFoundError, StoreError
from tracker.store.base import Query
from tracker.store.mlflow_open import open_store
from tracker.store.mlflow_store import MlflowStore

MakeRun = Callable[..., LoggedRun]


@pytest.fixture(params=["sqlite", "server", pytest.param("postgres", marks=pytest.mark.slow)])
def mlflow_store(request: pytest.FixtureRequest) -> MlflowStore:
    found: MlflowStore = request.getfixturevalue(f"{request.param}_store")
    return found


def client_of(store: MlflowStore) -> Any:
    """MLflow's own client, to look at what is there without our code."""
    from mlflow import MlflowClient

    return MlflowClient(tracking_uri=store.uri)


def test_mlflow_shows_name_times_parameters_curve_tags_and_files(mlflow_store: MlflowStore, make_run: MakeRun) -> None:
    run_id = mlflow_store.save(make_run(findings=(samples.finding(),)))

    client = client_of(mlflow_store)
    shown = client.get_run(run_id)

    assert shown.info.run_name == "EAGLE3 3-1-4, 100K samples"
    assert shown.info.status == "FINISHED"
    assert shown.info.start_time == round(1000 * (samples.LOGGED_AT - timedelta(hours=2)).timestamp())
    assert shown.data.params["speculation.algorithm"] == "EAGLE3"
    curve = client.get_metric_history(run_id, "bench/accept_length")
    assert [point.step for point in curve] == [1, 8, 32]
    tags = shown.data.tags
    assert tags["tracker.complete"] == "true"
    assert tags["finding.ALGO_MISMATCH_EAGLE_FOR_EAGLE3"] == "error"
    assert tags["user.owner"] == "maria"
    assert tags["mlflow.note.content"].startswith("**696.1 tok/s** at 1 stream")
    files = {item.path for item in client.list_artifacts(run_id)}
    assert files == {"README.md", "input", "measurements.csv", "record.json", "requests.parquet", "server"}


def test_a_long_parameter_reaches_mlflow_marked_and_the_artifact_holds_it_whole(
    mlflow_store: MlflowStore, make_run: MakeRun
) -> None:
    server = samples.ServerConfig(typed={"chat_template": "x" * 9000})

    run_id = mlflow_store.save(make_run(server=server))

    client = client_of(mlflow_store)
    assert "9000 characters" in client.get_run(run_id).data.params["server.chat_template"]
    path = client.download_artifacts(run_id, "server/server_args.json")
    assert json.loads(Path(path).read_text())["typed"]["chat_template"] == "x" * 9000


def test_prompt_and_training_sets_are_data_set_inputs_with_our_digest(
    mlflow_store: MlflowStore, make_run: MakeRun, experiment: str
) -> None:
    bench = mlflow_store.save(make_run())
    train = mlflow_store.save(samples.training_run(experiment=experiment, record_id=f"t-{experiment}"))

    client = client_of(mlflow_store)
    found = {name: client.get_run(run_id).inputs.dataset_inputs for name, run_id in (("b", bench), ("t", train))}

    assert [item.dataset.name for item in found["b"]] == ["python-19"]
    assert found["b"][0].dataset.digest == f"sha256-{samples.sha('prompts')[:28]}"
    assert found["t"][0].dataset.digest == f"sha256-{samples.sha('data')[:28]}"
    assert {item.tags[0].value for items in found.values() for item in items} == {"benchmark", "training"}


def test_a_drafter_is_one_page_with_the_numbers_of_every_run_that_served_it(
    mlflow_store: MlflowStore, make_run: MakeRun, experiment: str
) -> None:
    benches = [mlflow_store.save(make_run(f"bench {i}")) for i in range(2)]
    train = mlflow_store.save(samples.training_run(experiment=experiment, record_id=f"t-{experiment}"))

    client = client_of(mlflow_store)
    (model,) = client.search_logged_models([mlflow_store.experiment_id(experiment)])

    assert model.name == "drafter-d100000"
    assert str(model.status) in ("LoggedModelStatus.READY", "READY")
    assert model.params["samples"] == "100000"
    assert model.tags["tracker.config_sha256"] == samples.sha("config")
    assert {metric.run_id for metric in model.metrics if metric.key == "accept_length"} == set(benches)
    for run_id in benches:
        shown = client.get_run(run_id)
        assert [item.model_id for item in shown.inputs.model_inputs] == [model.model_id]
        assert shown.data.tags["drafter.model_id"] == model.model_id
    assert [item.model_id for item in client.get_run(train).outputs.model_outputs] == [model.model_id]


def test_a_drafter_retrained_in_its_folder_is_another_page(
    mlflow_store: MlflowStore, make_run: MakeRun, experiment: str
) -> None:
    first = Checkpoint(name="drafter", header_digest=samples.sha("one"))
    second = Checkpoint(name="drafter", header_digest=samples.sha("two"))
    less_known = Checkpoint(name="drafter")
    for index, drafter in enumerate((first, second, less_known)):
        mlflow_store.save(make_run(str(index), drafter=drafter))

    models = client_of(mlflow_store).search_logged_models([mlflow_store.experiment_id(experiment)])

    assert len(models) == 2


def test_same_shapes_trained_on_other_amounts_are_other_pages(
    mlflow_store: MlflowStore, make_run: MakeRun, experiment: str
) -> None:
    for samples_count in (1000, 10_000):
        training = samples.Training(samples=samples_count)
        mlflow_store.save(make_run(str(samples_count), training=training))

    models = client_of(mlflow_store).search_logged_models([mlflow_store.experiment_id(experiment)])

    assert sorted(model.params["samples"] for model in models) == ["1000", "10000"]


def test_an_amendment_changes_tags_name_and_description_and_leaves_parameters(
    mlflow_store: MlflowStore, make_run: MakeRun
) -> None:
    run_id = mlflow_store.save(make_run())
    client = client_of(mlflow_store)
    before = client.get_run(run_id).data
    changes = {"validity": "invalid", "name": "new name", "role": None, "tags.owner": None, "training.samples": 5}

    mlflow_store.amend(run_id, Amendment(at=samples.LOGGED_AT, by=None, changes=changes, reason="wrong flag"))

    after = client.get_run(run_id)
    assert after.info.run_name == "new name"
    assert after.data.params == before.params
    assert after.data.tags["validity"] == "invalid"
    assert after.data.tags["validity_reason"] == "wrong flag"
    assert "tracker.role" not in after.data.tags
    assert "user.owner" not in after.data.tags
    assert after.data.tags["mlflow.note.content"].startswith("**INVALID** (wrong flag)")
    assert after.data.metrics["train/samples"] == 5
    assert after.data.metrics["accept_length"] == before.metrics["accept_length"]


def test_links_open_the_interface_made_for_runs(server_store: MlflowStore, make_run: MakeRun, experiment: str) -> None:
    run_id = server_store.save(make_run())
    number = server_store.experiment_id(experiment)

    start = f"{server_store.uri}/?workflowType=machine_learning#/experiments/{number}/runs"
    end = "?workflowType=machine_learning"

    assert server_store.load(run_id).url == f"{start}/{run_id}{end}"
    assert server_store.experiment_url(experiment) == f"{start}{end}"
    assert server_store.experiment_url("unknown") is None


def test_an_embedded_store_has_no_links(sqlite_store: MlflowStore, make_run: MakeRun, experiment: str) -> None:
    run_id = sqlite_store.save(make_run())

    assert sqlite_store.load(run_id).url is None
    assert sqlite_store.experiment_url(experiment) is None


def test_artifacts_of_an_embedded_store_lie_beside_it_wherever_the_process_stands(
    sqlite_folder: Path, tmp_path: Path, make_run: MakeRun, experiment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    store = open_store(environ={}, data_dir=sqlite_folder, cache_dir=tmp_path / "cache")

    run_id = store.save(make_run())

    assert (sqlite_folder / "artifacts" / experiment / run_id / "artifacts" / "record.json").is_file()
    assert list(elsewhere.iterdir()) == []


def test_the_flat_values_follow_the_campaigns_decision_concurrency(
    mlflow_store: MlflowStore, make_run: MakeRun, experiment: str
) -> None:
    mlflow_store.save_campaign(samples.campaign(experiment, decision_concurrency=32))

    run_id = mlflow_store.save(make_run())

    shown = client_of(mlflow_store).get_run(run_id).data
    assert shown.tags["tracker.summary_concurrency"] == "32"
    assert shown.metrics["output_throughput_tok_s"] == pytest.approx(samples.cell(32).output_throughput_tok_s, rel=1e-5)


def test_an_amendment_by_somebody_else_is_seen_in_spite_of_the_cache(
    mlflow_store: MlflowStore, make_run: MakeRun, experiment: str
) -> None:
    run_id = mlflow_store.save(make_run())
    mlflow_store.query(Query(experiment=experiment))
    other = MlflowStore(mlflow_store.uri)

    other.amend(run_id, Amendment(at=samples.LOGGED_AT, by="x***", changes={"validity": "suspect"}, reason="r"))

    assert mlflow_store.query(Query(experiment=experiment))[0].record.validity == "suspect"


def test_runs_of_others_and_half_written_ones_are_not_ours(
    mlflow_store: MlflowStore, make_run: MakeRun, experiment: str
) -> None:
    mlflow_store.save(make_run())
    client = client_of(mlflow_store)
    foreign = client.create_run(mlflow_store.experiment_id(experiment), run_name="somebody's").info.run_id

    assert len(mlflow_store.query(Query(experiment=experiment))) == 1
    with pytest.raises(RunNotFoundError, match="not written by tracker, or not to its end"):
        mlflow_store.load(foreign)
    with pytest.raises(RunNotFoundError):
        mlflow_store.load("somebody's")


def test_a_deleted_run_is_told_with_how_to_restore_it(mlflow_store: MlflowStore, make_run: MakeRun) -> None:
    run_id = mlflow_store.save(make_run())
    client_of(mlflow_store).delete_run(run_id)

    with pytest.raises(RunNotFoundError, match=f"was deleted.*mlflow runs restore --run-id {run_id}"):
        mlflow_store.load(run_id)


def test_a_campaign_renamed_in_mlflow_is_read_under_its_new_name(
    mlflow_store: MlflowStore, make_run: MakeRun, experiment: str
) -> None:
    mlflow_store.save(make_run())
    renamed = f"{experiment}-renamed"
    client_of(mlflow_store).rename_experiment(mlflow_store.experiment_id(experiment), renamed)

    (run,) = mlflow_store.query(Query(experiment=renamed))

    assert run.record.experiment == renamed


def test_a_deleted_campaign_is_told_with_how_to_restore_it(
    mlflow_store: MlflowStore, make_run: MakeRun, experiment: str
) -> None:
    mlflow_store.save(make_run())
    client_of(mlflow_store).delete_experiment(mlflow_store.experiment_id(experiment))

    with pytest.raises(StoreError, match=r"was deleted, and holds its name.*tracker campaign restore"):
        mlflow_store.save(make_run("another"))


def test_missing_artifacts_are_told_with_where_they_should_be(
    sqlite_store: MlflowStore, sqlite_folder: Path, make_run: MakeRun
) -> None:
    run_id = sqlite_store.save(make_run())
    (sqlite_folder / "artifacts").rename(sqlite_folder / "moved")

    with pytest.raises(StoreError, match=r"has no artifact record.json.*moved") as caught:
        sqlite_store.load(run_id)

    assert caught.value.where is not None
    assert str(sqlite_folder / "artifacts") in caught.value.where


def test_a_campaign_opens_with_a_house_view(mlflow_store: MlflowStore, make_run: MakeRun, experiment: str) -> None:
    import base64
    import zlib

    mlflow_store.save(make_run())

    shown = client_of(mlflow_store).get_experiment(mlflow_store.experiment_id(experiment))
    view = json.loads(shown.tags["mlflow.sharedViewState.tracker-house-view"])
    state = json.loads(zlib.decompress(base64.b64decode(view["state"].removeprefix("deflate;"))))

    assert view["name"] == "tracker"
    assert "metrics.`accept_length`" in state["selectedColumns"]
    assert shown.tags["mlflow.experimentKind"] == "custom_model_development"


def written_beside(store: MlflowStore, run: LoggedRun, *, whole: bool = True) -> str:
    """Write a second copy of a run, as another machine does that looked before the first one was there."""
    from tracker.store import codec, mlflow_write

    client = client_of(store)
    experiment = client.get_experiment(store.experiment_id(run.record.experiment))
    prepared = mlflow_write.prepare(run, content_sha256=codec.content_digest(run), decision_concurrency=None)
    begun = mlflow_write.create_run(client, prepared, experiment.experiment_id)
    if whole:
        mlflow_write.write(client, prepared, begun, experiment, meanwhile=lambda: None)
    return str(begun.info.run_id)


def active_runs(store: MlflowStore, experiment: str) -> set[str]:
    found = client_of(store).search_runs([store.experiment_id(experiment)])
    return {run.info.run_id for run in found}


def test_of_several_whole_copies_the_one_with_the_smallest_id_stays(
    sqlite_store: MlflowStore, make_run: MakeRun, experiment: str
) -> None:
    run = make_run()
    ids = {sqlite_store.save(run), *(written_beside(sqlite_store, run) for _ in range(3))}

    kept = sqlite_store.save(run)

    assert kept == min(ids)
    assert active_runs(sqlite_store, experiment) == {kept}


def test_a_half_written_copy_beside_a_whole_one_is_removed(
    sqlite_store: MlflowStore, make_run: MakeRun, experiment: str
) -> None:
    run = make_run()
    run_id = sqlite_store.save(run)
    written_beside(sqlite_store, run, whole=False)

    assert sqlite_store.save(run) == run_id
    assert active_runs(sqlite_store, experiment) == {run_id}


def test_a_copy_that_is_finished_while_it_is_discarded_stays(
    sqlite_store: MlflowStore, make_run: MakeRun, experiment: str
) -> None:
    from tracker.store.mlflow_once import discard

    run = make_run()
    sqlite_store.save(make_run("makes the experiment"))
    run_id = written_beside(sqlite_store, run)

    assert discard(client_of(sqlite_store), run_id) is True
    assert run_id in active_runs(sqlite_store, experiment)


def test_of_two_whole_copies_with_other_content_a_writer_takes_back_its_own(
    sqlite_store: MlflowStore, make_run: MakeRun, experiment: str
) -> None:
    from tracker.store import codec
    from tracker.store.mlflow_once import settle

    theirs = sqlite_store.save(make_run())
    changed = make_run(role="baseline")
    own = written_beside(sqlite_store, changed)
    number = sqlite_store.experiment_id(experiment)

    left = settle(
        client_of(sqlite_store), changed.record.record_id, [number],
        content_sha256=codec.content_digest(changed), own=own,
    )  # fmt: skip

    assert left is not None
    assert left.info.run_id == theirs
    assert active_runs(sqlite_store, experiment) == {theirs}


def test_a_half_written_run_of_another_content_is_replaced(
    sqlite_store: MlflowStore, make_run: MakeRun, experiment: str
) -> None:
    sqlite_store.save(make_run("makes the experiment"))
    half = written_beside(sqlite_store, make_run(role="baseline"), whole=False)

    run_id = sqlite_store.save(make_run())

    assert half not in active_runs(sqlite_store, experiment)
    assert sqlite_store.load(run_id).record == make_run().record


def test_what_is_new_is_found_among_many_and_an_old_run_amended_since_is_not_new(
    sqlite_store: MlflowStore, make_run: MakeRun, experiment: str
) -> None:
    moments = [samples.LOGGED_AT + timedelta(hours=hour) for hour in range(7)]
    ids = [
        sqlite_store.save(make_run(f"hour {hour}", provenance=samples.provenance(logged_at=moment)))
        for hour, moment in enumerate(moments)
    ]
    sqlite_store.amend(ids[0], Amendment(at=moments[6], by=None, changes={"role": "baseline"}))

    found = sqlite_store.query(Query(experiment=experiment, logged_since=moments[4]))

    assert [run.record.name for run in found] == ["hour 4", "hour 5", "hour 6"]
