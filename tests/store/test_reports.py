"""Memos in every kind of store: kept, replaced, decided on, linked, and invisible to those who look for runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.store.conftest import MakeRun
from tracker.errors import RunNotFoundError, StoreError
from tracker.store.base import Query, ReportRun, RunStore
from tracker.store.mlflow_compared import NOT_COMPARED, VS_BASELINE
from tracker.store.mlflow_open import configure_mlflow
from tracker.store.mlflow_store import MlflowStore

MADE = datetime(2026, 11, 30, 7, 0, 0, 123456, tzinfo=UTC)


def memo(key: str = "2026-11-30-campaign", **changes: Any) -> ReportRun:
    given: dict[str, Any] = {
        "key": key,
        "generated_at": MADE,
        "verdict": "slower",
        "headline": "Go back to the plain server: 8.6 % slower",
        "files": {"memo.html": b"<h1>memo</h1>", "memo.json": b'{"memo_number": 1}', "memo.txt": b"memo"},
        "params": {"since": "2026-11-23T00:00:00+00:00"},
        "metrics": {"report/speedup": 0.914},
    }
    return ReportRun(**(given | changes))


def test_memo_is_read_back_as_it_was_written(store: RunStore, make_run: MakeRun, experiment: str) -> None:
    run_id = store.save(make_run())
    saved = store.save_report(experiment, memo(run_ids=(run_id,)))

    assert store.reports(experiment) == (saved,)
    assert store.report(saved.run_id) == saved
    assert (saved.key, saved.generated_at, saved.memo_json) == ("2026-11-30-campaign", MADE, b'{"memo_number": 1}')
    assert saved.decision_json is None


def test_memo_is_no_run(store: RunStore, make_run: MakeRun, experiment: str) -> None:
    run_id = store.save(make_run())
    saved = store.save_report(experiment, memo(run_ids=(run_id,)))

    assert [run.run_id for run in store.query(Query(experiment=experiment))] == [run_id]
    with pytest.raises(RunNotFoundError):
        store.load(saved.run_id)
    with pytest.raises(RunNotFoundError):
        store.report(run_id)


def test_same_key_replaces_the_memo_and_keeps_the_decision(store: RunStore, make_run: MakeRun, experiment: str) -> None:
    store.save(make_run())
    first = store.save_report(experiment, memo())
    store.save_decision(first.run_id, b'{"option": "keep_baseline"}')
    later = MADE + timedelta(hours=1)
    again = store.save_report(experiment, memo(generated_at=later, files={"memo.json": b"{}"}))

    assert again.run_id == first.run_id
    (found,) = store.reports(experiment)
    assert (found.generated_at, found.memo_json) == (later, b"{}")
    assert found.decision_json == b'{"option": "keep_baseline"}'


def test_memos_come_oldest_first_and_only_of_their_campaign(
    store: RunStore, make_run: MakeRun, experiment: str
) -> None:
    store.save(make_run())
    other = f"{experiment}-other"
    store.save(make_run("other", experiment=other))
    for day in (7, 0, 14):
        store.save_report(experiment, memo(f"memo {day}", generated_at=MADE + timedelta(days=day)))
    store.save_report(other, memo())

    assert [item.key for item in store.reports(experiment)] == ["memo 0", "memo 7", "memo 14"]
    assert store.reports("nobody knows this campaign") == ()


def test_memo_of_an_unknown_campaign_is_refused(store: RunStore) -> None:
    with pytest.raises(StoreError, match="campaign"):
        store.save_report("nobody-knows-this-campaign", memo())


def test_decision_on_what_is_no_memo_is_refused(store: RunStore) -> None:
    with pytest.raises(RunNotFoundError):
        store.save_decision("0" * 32, b"{}")


@pytest.mark.parametrize("kind", ["sqlite_store", "server_store"])
def test_runs_link_back_and_amending_keeps_the_link(
    request: pytest.FixtureRequest, kind: str, make_run: MakeRun, experiment: str
) -> None:
    import mlflow

    from tracker.domain.record import Amendment

    store: MlflowStore = request.getfixturevalue(kind)
    run_id = store.save(make_run())
    saved = store.save_report(experiment, memo(run_ids=(run_id,)))
    store.amend(run_id, Amendment(at=MADE, by="m***", changes={"note": "looked at again"}))
    configure_mlflow({})
    client = mlflow.MlflowClient(tracking_uri=store.uri)
    report = client.get_run(saved.run_id)

    assert client.get_run(run_id).data.tags["tracker.report"] == saved.run_id
    assert report.data.tags["tracker.kind"] == "report"
    assert report.data.tags["verdict"] == "slower"
    assert report.data.metrics == {"report/speedup": 0.914}
    assert report.info.status == "FINISHED"
    assert sorted(item.path for item in client.list_artifacts(saved.run_id)) == ["memo.html", "memo.json", "memo.txt"]
    assert (saved.url is None) == (kind == "sqlite_store")


def test_the_same_memo_again_tells_its_runs_nothing_new_and_another_one_tells_them_anew(
    sqlite_store: MlflowStore, make_run: MakeRun, experiment: str
) -> None:
    run_id = sqlite_store.save(make_run())
    first = sqlite_store.save_report(experiment, memo(run_ids=(run_id,)))
    sqlite_store.client.set_tag(run_id, VS_BASELINE, "somebody's own word")
    again = sqlite_store.save_report(experiment, memo(run_ids=(run_id,), files={"memo.json": b'{"memo_number": 2}'}))
    kept = sqlite_store.client.get_run(run_id).data.tags[VS_BASELINE]
    other = sqlite_store.save(make_run("other"))
    sqlite_store.save_report(experiment, memo(run_ids=(run_id, other)))

    assert again.run_id == first.run_id
    assert kept == "somebody's own word"
    for used in (run_id, other):
        assert sqlite_store.client.get_run(used).data.tags[VS_BASELINE] == NOT_COMPARED
