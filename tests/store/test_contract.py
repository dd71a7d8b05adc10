"""What every store promises, proved on memory, embedded SQLite and real MLflow servers on SQLite and PostgreSQL."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import timedelta

import pytest

from tests.store import samples
from tracker.domain.provenance import InputFile
from tracker.domain.record import Amendment, LoggedRun
from tracker.domain.server import ServerConfig
from tracker.errors import InputError, RecordConflictError, RunNotFoundError, StoreError
from tracker.store.base import Query, RunStore

MakeRun = Callable[..., LoggedRun]


def test_a_record_comes_back_as_it_was(store: RunStore, make_run: MakeRun) -> None:
    run = make_run(findings=(samples.finding(),))

    stored = store.load(store.save(run))

    assert stored.record == run.record


def test_a_training_run_comes_back_as_it_was(store: RunStore, experiment: str) -> None:
    run = samples.training_run(experiment=experiment, record_id=uuid.uuid4().hex)

    stored = store.load(store.save(run))

    assert stored.record == run.record


def test_a_record_with_hardly_anything_comes_back_as_it_was(store: RunStore, make_run: MakeRun) -> None:
    nothing = dict.fromkeys(("server", "speculation", "target", "drafter", "hardware", "workload", "training", "role"))
    run = make_run(
        **nothing, cuda_graph=None, measurements=(), tags={}, note=None, request_count=0,
        provenance=samples.provenance(measured_at=None, command=None, inputs=(), importer=None),
    )  # fmt: skip

    stored = store.load(store.save(run))

    assert stored.record == run.record
    assert store.requests(stored.run_id) == ()


def test_per_request_rows_come_back_as_they_were(store: RunStore, make_run: MakeRun) -> None:
    run = make_run(request_count=300)

    run_id = store.save(run)

    assert store.requests(run_id) == run.requests


def test_the_rows_of_several_runs_come_at_once_first_and_again(store: RunStore, make_run: MakeRun) -> None:
    runs = [make_run("with rows"), make_run("other rows", request_count=3), make_run("none", request_count=0)]
    stored = [store.load(store.save(run)) for run in runs]

    for _ in range(2):
        found = store.requests_many(stored)
        assert found == {one.run_id: run.requests for one, run in zip(stored, runs, strict=True)}
    assert store.requests_many([]) == {}


def test_the_same_record_again_is_the_same_run(store: RunStore, make_run: MakeRun, experiment: str) -> None:
    first = store.save(make_run())
    second = store.save(make_run())

    assert first == second
    assert len(store.query(Query(experiment=experiment))) == 1


def test_logging_later_with_a_newer_tracker_that_finds_more_is_the_same_run(store: RunStore, make_run: MakeRun) -> None:
    first = store.save(make_run())
    later = samples.provenance(
        logged_at=samples.LOGGED_AT + timedelta(days=3), tracker_version="9.9.9", git_commit="f" * 40, host="other-*"
    )

    second = store.save(make_run(provenance=later, findings=(samples.finding("DRAFT_LM_HEAD_MISSING"),)))

    assert first == second


def test_the_same_input_with_other_metadata_is_refused_and_names_amend(store: RunStore, make_run: MakeRun) -> None:
    run_id = store.save(make_run())

    with pytest.raises(RecordConflictError, match=r"other content: role.*tracker amend") as caught:
        store.save(make_run(role="baseline"))

    assert run_id in str(caught.value)
    assert store.load(run_id).record.role == "candidate"


def test_logging_again_after_an_amendment_is_still_the_same_run(store: RunStore, make_run: MakeRun) -> None:
    run_id = store.save(make_run())
    store.amend(run_id, Amendment(at=samples.LOGGED_AT, by="m***", changes={"role": "baseline"}))

    assert store.save(make_run()) == run_id
    assert store.load(run_id).record.role == "baseline"


def test_an_amendment_changes_the_record_and_stays_in_its_history(store: RunStore, make_run: MakeRun) -> None:
    run_id = store.save(make_run())
    changes = {
        "validity": "suspect", "name": "renamed <b>", "role": None, "note": None, "supersedes": "abc",
        "training.samples": 12_345, "tags.owner": None, "tags.ticket": "T-1",
    }  # fmt: skip
    amendment = Amendment(at=samples.LOGGED_AT + timedelta(days=1), by="m***", changes=changes, reason="GPU was shared")

    amended = store.amend(run_id, amendment)

    record = amended.record
    assert (record.validity, record.validity_reason) == ("suspect", "GPU was shared")
    assert (record.name, record.role, record.note, record.supersedes) == ("renamed <b>", None, None, "abc")
    assert record.training is not None
    assert record.training.samples == 12_345
    assert record.tags == {"ticket": "T-1"}
    assert record.amendments == (amendment,)
    assert store.load(run_id).record == record
    assert store.load("renamed <b>").run_id == run_id


def test_a_second_amendment_keeps_the_first(store: RunStore, make_run: MakeRun) -> None:
    run_id = store.save(make_run())
    first = Amendment(at=samples.LOGGED_AT, by=None, changes={"validity": "invalid"}, reason="wrong flag")
    second = Amendment(at=samples.LOGGED_AT, by=None, changes={"validity": "ok"})

    store.amend(run_id, first)
    record = store.amend(run_id, second).record

    assert (record.validity, record.validity_reason) == ("ok", None)
    assert record.amendments == (first, second)


def test_an_amendment_of_anything_else_is_refused_and_lists_what_can_be(store: RunStore, make_run: MakeRun) -> None:
    run_id = store.save(make_run())

    with pytest.raises(InputError, match=r"record_id cannot be amended.*validity"):
        store.amend(run_id, Amendment(at=samples.LOGGED_AT, by=None, changes={"record_id": "x"}))

    assert store.load(run_id).record.amendments == ()


@pytest.mark.parametrize("by", ["run id", "prefix", "record id", "name"])
def test_a_run_is_found_by(store: RunStore, make_run: MakeRun, experiment: str, by: str) -> None:
    name = f'it\'s "quoted" \\ 100 % <b>ü</b> {experiment}'
    run = make_run(name)
    run_id = store.save(run)
    store.save(make_run(f"another {experiment}"))

    wanted = {"run id": run_id, "prefix": run_id[:12], "record id": run.record.record_id, "name": name}[by]

    assert store.load(wanted).run_id == run_id


def test_an_unknown_run_is_an_error_that_says_what_was_looked_for(store: RunStore, make_run: MakeRun) -> None:
    store.save(make_run())

    for wanted in ("no such run", "f" * 32, "'; --", "12345678"):
        with pytest.raises(RunNotFoundError) as caught:
            store.load(wanted)
        assert wanted in str(caught.value)


def test_an_unknown_campaign_is_an_error_that_lists_those_there_are(
    store: RunStore, make_run: MakeRun, experiment: str
) -> None:
    store.save(make_run())

    with pytest.raises(StoreError, match=f"there is no campaign 'other'.*{experiment}"):
        store.experiment_id("other")
    assert store.experiment_id(experiment)


def test_requests_of_an_unknown_run_are_an_error(store: RunStore) -> None:
    with pytest.raises(RunNotFoundError):
        store.requests("f" * 32)


def test_a_name_of_two_runs_is_an_error_that_lists_both(store: RunStore, make_run: MakeRun, experiment: str) -> None:
    name = f"twin {experiment}"
    ids = {store.save(make_run(name, record_id=uuid.uuid4().hex)) for _ in range(2)}

    with pytest.raises(RunNotFoundError, match="2 runs match") as caught:
        store.load(name)

    assert all(run_id in str(caught.value) for run_id in ids)


def test_a_query_selects_by_experiment_kind_and_time_of_logging(
    store: RunStore, make_run: MakeRun, experiment: str
) -> None:
    moments = [samples.LOGGED_AT + timedelta(days=day) for day in range(4)]
    for day, moment in enumerate(moments):
        store.save(make_run(f"day {day}", provenance=samples.provenance(logged_at=moment)))
    store.save(samples.training_run(experiment=experiment, record_id=uuid.uuid4().hex))

    def names(**changes: object) -> list[str]:
        query = Query(experiment=experiment, **changes)  # type: ignore[arg-type]
        return [run.record.name for run in store.query(query)]

    assert names(kind="benchmark") == ["day 0", "day 1", "day 2", "day 3"]
    assert names(kind="training") == ["train d100000"]
    assert names(kind="benchmark", logged_since=moments[1], logged_until=moments[3]) == ["day 1", "day 2"]
    assert names(logged_since=moments[3] + timedelta(microseconds=1)) == []
    assert store.query(Query(experiment=f"{experiment}-not")) == ()


def test_runs_come_oldest_first_and_rows_of_one_table_in_their_order(
    store: RunStore, make_run: MakeRun, experiment: str
) -> None:
    def row(index: int) -> LoggedRun:
        file = InputFile(name="table.csv", sha256="0" * 64, size_bytes=1, row=index)
        return make_run(f"row {9 - index}", provenance=samples.provenance(inputs=(file,)))

    early = samples.provenance(measured_at=samples.LOGGED_AT - timedelta(days=30))
    saved = [row(2), row(0), row(1), make_run("early", provenance=early)]
    store.save_many(saved)

    found = [run.record.name for run in store.query(Query(experiment=experiment))]

    assert found == ["early", "row 9", "row 8", "row 7"]


def test_a_campaign_comes_back_as_it_was(store: RunStore, experiment: str) -> None:
    campaign = samples.campaign(experiment, question="Ü <b> \"'\\ 中文?")

    store.save_campaign(campaign)
    store.save_campaign(campaign)

    assert store.load_campaign(experiment) == campaign
    assert experiment in store.experiments()


def test_a_campaign_too_long_for_one_tag_comes_back_whole(store: RunStore, experiment: str) -> None:
    campaign = samples.campaign(experiment, untested=tuple(f"not tested: {i} " + "ü" * 90 for i in range(700)))

    store.save_campaign(campaign)

    assert store.load_campaign(experiment) == campaign


def test_a_changed_campaign_replaces_the_old_facts(store: RunStore, experiment: str) -> None:
    store.save_campaign(samples.campaign(experiment, untested=tuple("x" * 100 for _ in range(500))))
    store.save_campaign(samples.campaign(experiment, deployed="the baseline"))

    assert store.load_campaign(experiment) == samples.campaign(experiment, deployed="the baseline")


def test_a_campaign_without_facts_is_listed_and_has_none(store: RunStore, make_run: MakeRun, experiment: str) -> None:
    store.save(make_run())

    assert experiment in store.experiments()
    assert store.load_campaign(experiment) is None
    assert store.load_campaign(f"{experiment}-unknown") is None


def test_facts_given_after_the_first_run_are_kept(store: RunStore, make_run: MakeRun, experiment: str) -> None:
    store.save(make_run())
    store.save_campaign(samples.campaign(experiment))

    assert store.load_campaign(experiment) == samples.campaign(experiment)
    assert len(store.query(Query(experiment=experiment))) == 1


@pytest.mark.parametrize("name", ["a/b", "", "../up", "x" * 200, "a\nb", "<script>"])
def test_a_campaign_name_that_breaks_pages_or_folders_is_refused(store: RunStore, make_run: MakeRun, name: str) -> None:
    with pytest.raises(InputError, match="cannot be a campaign's name"):
        store.save(make_run(experiment=name))


def test_unicode_and_nasty_names_come_back_as_they_were(store: RunStore, make_run: MakeRun) -> None:
    extra = {"TTFT (ms)": 1.5, "TTFT ms": 2.5, "accept@1": 0.5, "AR@100": 1.0, "timing(s)/gen": 3.0, "中文": 4.0,
             "vllm:spec_decode": 5.0, "../x": 6.0, "%": 7.0, "": 8.0, "k" * 400: 9.0}  # fmt: skip
    run = make_run(
        "<script>alert(1)</script> ``` | 🚀 \u202e",
        measurements=(samples.cell(8, extra=extra), samples.cell(8, "a/b, <c> 'd'")),
        tags={"<b>": "`x`", "k=v,[w]": "", "K=V,[W]": "other", "long": "v" * 9000, "q" * 300: "1"},
        note="# heading\n\n| table |\n\x00\u2028",
    )

    stored = store.load(store.save(run))

    assert stored.record == run.record


def test_300_parameters_and_2000_metrics_come_back_as_they_were(store: RunStore, make_run: MakeRun) -> None:
    arguments = {f"flag_{i}": "x" * 7000 if i == 7 else [i, {"a": None}] for i in range(300)}
    extra = {f"metric {i}": i / 7 for i in range(2000)}
    run = make_run(
        server=ServerConfig(engine="sglang", typed=arguments, arguments=arguments),
        measurements=(samples.cell(1, extra=extra), samples.cell(8)),
    )

    stored = store.load(store.save(run))

    assert stored.record == run.record
