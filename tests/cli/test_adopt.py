"""`tracker adopt`, and what later runs make of an adopted training, as a user goes about it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli
from tests.trainer_runs import SPECFORGE_0_2, SPECFORGE_POINTS, SPECULATORS_POINTS
from tracker.store.mlflow_open import sqlite_uri

SERVED = (
    "python -m sglang.launch_server --model-path moonshotai/Kimi-K2.5 --speculative-algorithm EAGLE3 "
    "--speculative-draft-model-path {drafter} --speculative-num-steps 3 --speculative-eagle-topk 1 "
    "--speculative-num-draft-tokens 4"
)
FOLDER = SPECFORGE_0_2["output_dir"]

Train = Callable[..., str]


@pytest.fixture
def train(cli: Cli, tmp_path: Path) -> Train:
    """Write a run to the embedded store as a trainer does."""

    def write(
        name: str = "kimi-eagle3-100k",
        *,
        params: Mapping[str, str] = SPECFORGE_0_2,
        series: Mapping[str, Mapping[int, float]] = SPECFORGE_POINTS,
        experiment: str = "drafters",
        status: str = "FINISHED",
        **changes: str,
    ) -> str:
        from mlflow import MlflowClient
        from mlflow.entities import Metric, Param

        client = MlflowClient(sqlite_uri(tmp_path / "data" / "mlflow.db"))
        found = client.get_experiment_by_name(experiment)
        number = (
            client.create_experiment(experiment, str(tmp_path / "theirs")) if found is None else found.experiment_id
        )
        run_id = str(client.create_run(number, run_name=name).info.run_id)
        given = dict(params) | changes
        client.log_batch(run_id, params=[Param(key, value) for key, value in given.items()])
        client.log_batch(
            run_id,
            metrics=[Metric(key, value, 0, step) for key, steps in series.items() for step, value in steps.items()],
        )
        if status != "RUNNING":
            client.set_terminated(run_id, status=status)
        return run_id

    return write


def _bench(cli: Cli, name: str, drafter: str = f"{FOLDER}/kimi-eagle3-100k-step400", *more: str) -> str:
    """Log a benchmark that served a drafter and return its run id."""
    outcome = cli(
        "log-run", "--metric", "output_throughput_tok_s=82.3", "--metric", "accept_length=2.1", "--concurrency", "1",
        "--name", name, "--experiment", "kimi", "--server-cmd", SERVED.format(drafter=drafter), *more,
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    return outcome.out.strip()


def _record(cli: Cli, run_id: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(cli("show", run_id, "--json").out)
    return record


def test_a_training_of_specforge_is_adopted_and_shown_like_any_other(cli: Cli, train: Train) -> None:
    run_id = train()

    outcome = cli("adopt", run_id)

    assert (outcome.code, outcome.out.strip()) == (0, run_id)
    assert "adopted: drafters / kimi-eagle3-100k: specforge, 400 optimizer steps, 2 epochs" in outcome.err
    training = _record(cli, run_id)["training"]
    assert (training["optimizer_steps"], training["epochs"], training["samples_seen"]) == (400, 2.0, 6400)


def test_benchmarks_before_and_after_learn_what_their_drafter_was_trained_on(cli: Cli, train: Train) -> None:
    before = _bench(cli, "before")
    run_id = train()

    outcome = cli("adopt", run_id, "--samples", "100000", "--tokens", "25600000")
    after = _bench(cli, "after", "/models/kimi-eagle3-100k")

    assert "connected: kimi / before served the drafter of kimi-eagle3-100k (by its folder)" in outcome.err
    for benchmark in (before, after):
        training = _record(cli, benchmark)["training"]
        assert (training["samples"], training["tokens"]) == (100_000, 25_600_000)
        assert training["trained_from"] == run_id
    assert "made by the training" in str(_record(cli, before)["amendments"])


def test_what_a_training_comes_to_tell_later_reaches_the_benchmarks_connected_before(cli: Cli, train: Train) -> None:
    benchmark = _bench(cli, "before")
    run_id = train()
    cli("adopt", run_id)
    assert _record(cli, benchmark)["training"]["samples"] is None

    first = cli("adopt", run_id, "--samples", "100000")
    second = cli("adopt", run_id, "--samples", "100000")

    assert "connected: kimi / before" in first.err
    assert "connected" not in second.err
    assert "present: " in second.err
    record = _record(cli, benchmark)
    assert (record["training"]["samples"], len(record["amendments"])) == (100_000, 2)


def test_what_a_benchmark_says_itself_stays_and_the_difference_is_named(cli: Cli, train: Train) -> None:
    benchmark = _bench(cli, "own words", FOLDER, "--samples", "90000")
    run_id = train()

    outcome = cli("adopt", run_id, "--samples", "100000")

    assert "samples: 90000 with the benchmark, 100000 by the training" in outcome.err
    assert _record(cli, benchmark)["training"]["samples"] == 90_000


def test_a_drafter_of_another_name_is_not_connected_until_it_is_named(cli: Cli, train: Train) -> None:
    benchmark = _bench(cli, "other", "/models/eagle3-final-v2")
    run_id = train()
    first = cli("adopt", run_id)

    second = cli("adopt", run_id, "--drafter", "/models/eagle3-final-v2")

    assert "connected" not in first.err
    assert "updated: drafters / kimi-eagle3-100k" in second.err
    assert "connected: kimi / other" in second.err
    assert _record(cli, benchmark)["training"]["trained_from"] == run_id


def test_a_drafter_of_two_trainings_is_not_guessed(cli: Cli, train: Train) -> None:
    benchmark = _bench(cli, "twice")
    first, second = train("first"), train("second")

    outcome = cli("adopt", "--experiment", "drafters")

    assert outcome.out.split() == [first, second]
    assert f"may be of several trainings ({first}, {second})" in outcome.err
    assert _record(cli, benchmark)["training"] is None


def test_a_whole_experiment_is_adopted_and_what_is_skipped_is_said(cli: Cli, train: Train) -> None:
    good = train()
    mtp = train("mtp", params={}, series=SPECULATORS_POINTS)
    train("running", status="RUNNING")
    train("other", params={"lr": "1"}, series={"loss": {0: 1.0}})

    outcome = cli("adopt", "--experiment", "drafters", "--json")

    assert outcome.code == 0
    found = {item["name"]: item for item in json.loads(outcome.out)}
    assert [found[name]["status"] for name in ("kimi-eagle3-100k", "mtp", "running", "other")] == [
        "adopted", "adopted", "skipped", "skipped",
    ]  # fmt: skip
    assert (found["mtp"]["trainer"], found["mtp"]["run_id"]) == ("speculators", mtp)
    assert "has not ended" in found["running"]["reason"]
    assert "written by no trainer" in found["other"]["reason"]
    assert {run["name"] for run in json.loads(cli("runs", "--json").out)} <= {"kimi-eagle3-100k", "mtp"}
    assert found["kimi-eagle3-100k"]["run_id"] == good


def test_adopting_again_changes_nothing_and_keeps_what_was_said_by_hand(cli: Cli, train: Train) -> None:
    run_id = train("mtp", params={}, series=SPECULATORS_POINTS)
    facts = ("--samples", "5000", "--target", "org/Qwen3-8B", "--drafter", "qwen-mtp")
    cli("adopt", run_id, *facts)

    outcome = cli("adopt", "--experiment", "drafters")

    assert "present: drafters / mtp: speculators, 5,000 samples" in outcome.err
    record = _record(cli, run_id)
    assert (record["training"]["samples"], record["target"]["name"], record["drafter"]["name"]) == (
        5000, "org/Qwen3-8B", "qwen-mtp",
    )  # fmt: skip
    assert record["findings"] == []


def test_an_unfinished_training_waits_or_is_taken_as_far_as_it_got(cli: Cli, train: Train) -> None:
    run_id = train(status="RUNNING")

    refused = cli("adopt", run_id)
    taken = cli("adopt", run_id, "--unfinished")

    assert refused.code == 1
    assert "has not ended (RUNNING)" in refused.err
    assert "--unfinished" in refused.err
    assert taken.code == 0
    record = _record(cli, run_id)
    assert (record["validity"], record["validity_reason"]) == ("partial", "the training had not ended (RUNNING)")


def test_a_failed_training_is_adopted_as_suspect(cli: Cli, train: Train) -> None:
    run_id = train(status="FAILED")

    cli("adopt", run_id)

    assert _record(cli, run_id)["validity_reason"] == "the training ended as FAILED"


def test_a_dry_run_adds_nothing(cli: Cli, train: Train) -> None:
    run_id = train()

    outcome = cli("adopt", run_id, "--dry-run")

    assert outcome.code == 0
    assert "dry run: drafters / kimi-eagle3-100k" in outcome.err
    assert cli("show", run_id).code == 1


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "nothing to adopt"),
        (("x", "--experiment", "y"), 2, "two things"),
        (("--experiment", "drafters", "--samples", "5"), 2, "--samples describe one training"),
        (("no-such-run",), 1, "no run has the id or name 'no-such-run'"),
        (("--experiment", "nothing"), 1, "there is no experiment 'nothing'"),
        (("kimi-eagle3-100k", "--as", "axolotl"), 1, "there is no trainer `axolotl`"),
        (("kimi-eagle3-100k", "--drafter", "/models/d", "--experiment", "drafters"), 2, "two things"),
    ],
)
def test_wrong_calls_are_answered_in_plain_words(
    cli: Cli, train: Train, arguments: tuple[str, ...], code: int, words: str
) -> None:
    train()

    outcome = cli("adopt", *arguments)

    assert outcome.code == code
    assert words in outcome.err
    assert "Traceback" not in outcome.err


def test_a_benchmark_can_name_its_training_by_run_id_or_name(cli: Cli, train: Train) -> None:
    run_id = train()
    cli("adopt", run_id, "--samples", "100000")

    first = _bench(cli, "by id", "/models/a", "--training", run_id)
    second = _bench(cli, "by name", "/models/b", "--training", "kimi-eagle3-100k")

    for benchmark in (first, second):
        record = _record(cli, benchmark)
        assert (record["training"]["samples"], record["training"]["trained_from"]) == (100_000, run_id)
        assert record["amendments"] == []


def test_a_training_that_is_neither_folder_nor_run_is_refused_before_anything_is_logged(cli: Cli) -> None:
    outcome = cli("log-run", "--metric", "accept_length=2.1", "--training", "nowhere")

    assert outcome.code == 1
    assert "neither a folder nor a training of the store" in outcome.err
    assert json.loads(cli("runs", "--json").out) == []


def test_a_benchmark_is_no_training(cli: Cli) -> None:
    benchmark = _bench(cli, "served")

    outcome = cli("log-run", "--metric", "accept_length=2.1", "--training", benchmark)

    assert outcome.code == 2
    assert "is a benchmark, not a training" in outcome.err


@pytest.mark.slow
def test_a_memo_shows_the_size_that_an_adopted_training_tells(cli: Cli, train: Train) -> None:
    run_id = train(experiment="kimi")
    cli("adopt", run_id, "--samples", "100000")
    _bench(cli, "served")
    cli(
        "log-run", "--metric", "output_throughput_tok_s=90", "--concurrency", "1", "--name", "plain", "--experiment",
        "kimi", "--server-cmd", "python -m sglang.launch_server --model-path moonshotai/Kimi-K2.5",
    )  # fmt: skip

    outcome = cli("report", "--experiment", "kimi", "--since", "7d", "--out", "memos", "--json")

    assert outcome.code == 0, outcome.err
    (memo,) = Path("memos").glob("*/memo.json")
    assert json.loads(memo.read_text())["scaling"]["sizes"][0]["samples"] == 100_000


def test_an_experiment_of_trainings_alone_gets_no_empty_memo(cli: Cli, train: Train) -> None:
    cli("adopt", train())

    outcome = cli("report", "--since", "7d", "--out", "memos")

    assert "Traceback" not in outcome.err
    assert not list(Path("memos").glob("*/memo.html"))


@pytest.mark.slow
def test_an_adoption_taken_back_leaves_the_benchmarks_as_they_were(cli: Cli, train: Train) -> None:
    benchmark = _bench(cli, "before")
    run_id = train()
    cli("adopt", run_id, "--samples", "100000")
    assert _record(cli, benchmark)["training"]["trained_from"] == run_id

    tried = cli("adopt", run_id, "--forget", "--dry-run")
    done = cli("adopt", run_id, "--forget")
    again = cli("adopt", run_id, "--forget")

    assert "would be disconnected: kimi / before" in tried.err
    assert (done.code, done.out.strip()) == (0, run_id)
    assert "disconnected: kimi / before" in done.err
    assert not any(_record(cli, benchmark)["training"].values())
    assert "was taken back" in str(_record(cli, benchmark)["amendments"])
    assert (again.code, "was not adopted" in again.err) == (1, True)
    assert cli("show", run_id).code == 1
    assert "connected: kimi / before" in cli("adopt", run_id, "--samples", "5000").err
    assert _record(cli, benchmark)["training"]["samples"] == 5000


def test_what_somebody_corrected_after_the_connection_stays(cli: Cli, train: Train) -> None:
    benchmark = _bench(cli, "before")
    run_id = train()
    cli("adopt", run_id, "--samples", "100000")
    cli("amend", benchmark, "--samples", "90000")

    cli("adopt", run_id, "--forget")

    training = _record(cli, benchmark)["training"]
    assert (training["samples"], training["trained_from"], training["optimizer_steps"]) == (90_000, None, None)


@pytest.mark.slow
def test_one_wrong_connection_is_taken_back_for_good_and_the_right_one_stays(cli: Cli, train: Train) -> None:
    right, wrong = _bench(cli, "right"), _bench(cli, "wrong")
    run_id = train()
    cli("adopt", run_id, "--samples", "100000")

    done = cli("adopt", wrong, "--forget")
    again = cli("adopt", run_id, "--samples", "200000")

    assert (done.code, done.out.strip()) == (0, wrong)
    assert "disconnected: kimi / wrong" in done.err
    assert "kimi / wrong" not in again.err
    assert _record(cli, wrong)["training"]["trained_from"] is None
    assert _record(cli, right)["training"]["trained_from"] == run_id
    refused = cli("adopt", wrong, "--forget")
    assert (refused.code, "is not connected with a training" in refused.err) == (1, True)


def test_a_benchmark_that_names_the_training_itself_keeps_it_and_is_told(cli: Cli, train: Train) -> None:
    run_id = train()
    cli("adopt", run_id, "--samples", "100000")
    benchmark = _bench(cli, "by hand", "/models/a", "--training", run_id)

    done = cli("adopt", run_id, "--forget")

    assert "left: kimi / by hand was logged with --training" in done.err
    assert _record(cli, benchmark)["training"]["trained_from"] == run_id


def test_forget_takes_one_run_and_nothing_beside(cli: Cli, train: Train) -> None:
    run_id = train()

    assert cli("adopt", "--forget", "--experiment", "drafters").code == 2
    assert cli("adopt", run_id, "--forget", "--samples", "5").code == 2
    refused = cli("adopt", run_id, "--forget")

    assert (refused.code, "was not adopted" in refused.err) == (1, True)


def test_a_campaign_that_is_the_trainers_own_is_not_deleted_unasked(cli: Cli, train: Train) -> None:
    cli("adopt", train())

    refused = cli("campaign", "delete", "drafters", "--yes")
    renamed = cli("campaign", "rename", "drafters", "kimi-drafters")
    asked = cli("campaign", "delete", "drafters", "--others-too")
    done = cli("campaign", "delete", "drafters", "--others-too", "--yes")

    assert (refused.code, renamed.code, asked.code, done.code) == (1, 1, 2, 0)
    assert "another program wrote 1 run; they would be deleted with it" in refused.err
    assert "`tracker adopt RUN --forget`" in refused.err
    assert "1 run of another program in it" in asked.err
    for command in ("campaign", "adopt"):
        assert "trainer's own MLflow experiment" in " ".join(cli(command, "--help").out.split())
