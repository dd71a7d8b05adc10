"""A campaign exported, imported elsewhere and exported again: the same bytes, and the same memo made of it."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.store import samples
from tracker.domain.record import Amendment
from tracker.errors import InputError, RecordConflictError, StoreError
from tracker.resources import experiments_dir
from tracker.store.base import Query
from tracker.store.mlflow_campaigns import rename
from tracker.workflows.amend import AmendRequest, amend_run
from tracker.workflows.campaign_files import default_folder, export_campaign, import_campaign
from tracker.workflows.decide import DecideRequest, decide
from tracker.workflows.log_run import LogRequest, log_run
from tracker.workflows.report import ReportRequest, write_reports
from tracker.workflows.session import Session

NAME = "kimi-k2.5-eagle3"
# In the past of whoever runs this: the store notes when it is told of a change, by the real clock.
NOW = datetime(2026, 6, 1, 8, 0, tzinfo=UTC)


def session_in(folder: Path, empty_database: Path, uri: str | None = None) -> Session:
    folder.mkdir()
    shutil.copy(empty_database, folder / "mlflow.db")
    return Session(now=NOW, environ={"USER": "maria"}, cwd=folder, folder=folder, tracking_uri=uri)


def later(session: Session, days: int) -> Session:
    return dataclasses.replace(session, now=NOW + timedelta(days=days))


def exported(session: Session, folder: Path, name: str = NAME) -> dict[str, bytes]:
    """Export and return every file by its path."""
    names = list(export_campaign(session, name, folder).names)
    assert names
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def statuses(session: Session, folder: Path, **options: object) -> dict[str, str]:
    return {outcome.name: outcome.status for outcome in import_campaign(session, folder, **options)}  # type: ignore[arg-type]


def fill(folder: Path, empty_database: Path) -> Session:
    """Return a store with the founding campaign, a memo, the decision on it, corrections, and tags given in MLflow."""
    session = session_in(folder / "first", empty_database)
    log_run(LogRequest(inputs=(experiments_dir() / NAME,)), session)
    memo = write_reports(ReportRequest(since="7d", out=folder / "reports"), later(session, 1)).memos[0]
    decide(DecideRequest(memo=str(memo.path), option="A", by="A. Lead"), later(session, 2))
    runs = session.store().query(Query())
    amend_run(AmendRequest(run=runs[0].run_id, note="Ü looked at again"), later(session, 2))
    amend_run(AmendRequest(run=runs[1].run_id, tags={"change": "driver 580"}), later(session, 2))
    amend_run(AmendRequest(run=runs[1].run_id, name="renamed run"), later(session, 3))
    store = session.mlflow_store()
    store.client.set_tag(runs[0].run_id, "team", "serving")
    store.client.set_experiment_tag(store.experiment_id(NAME), "owner", "maria")
    moment = samples.provenance(logged_at=NOW + timedelta(days=3))
    for number, make in enumerate((samples.run, samples.training_run)):
        store.save(make(f"with rows or files: {number}", experiment=NAME, record_id=f"{number}", provenance=moment))
    return session


@pytest.fixture
def filled(tmp_path: Path, empty_database: Path) -> Session:
    return fill(tmp_path, empty_database)


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory, empty_database: Path) -> Session:
    """Return a store filled like that, which no test may write to."""
    return fill(tmp_path_factory.mktemp("unchanged"), empty_database)


@pytest.fixture(scope="module")
def intact(unchanged: Session, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an export of it, which no test may write to."""
    folder = tmp_path_factory.mktemp("intact")
    exported(unchanged, folder / "export")
    return folder / "export"


@pytest.fixture(
    params=["sqlite", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("mlflow_server", "postgres_server"))]
)
def second(request: pytest.FixtureRequest, tmp_path: Path, empty_database: Path) -> Iterator[Session]:
    """Another store; on the shared server the campaign is removed for good by another name."""
    uri = None if request.param == "sqlite" else request.getfixturevalue(request.param)
    session = session_in(tmp_path / "second", empty_database, uri)
    yield session
    if uri is not None and NAME in session.store().experiments():
        store = session.mlflow_store()
        for run in store.client.search_runs([store.experiment_id(NAME)]):
            store.client.delete_run(run.info.run_id)
        rename(store, NAME, f"used-{datetime.now(UTC):%H%M%S%f}")


def test_export_import_export_gives_the_same_bytes(unchanged: Session, second: Session, tmp_path: Path) -> None:
    before = exported(unchanged, tmp_path / "one")
    first = statuses(second, tmp_path / "one")
    again = statuses(second, tmp_path / "one")
    after = exported(second, tmp_path / "two")

    assert set(first.values()) == {"copied"}
    assert set(again.values()) == {"present"}
    assert before == after
    runs = len(unchanged.store().query(Query()))
    assert sum(path.endswith("/record.json") for path in before) == runs
    assert sum(path.endswith("/requests.parquet") for path in before) == 1
    assert sum("/files/input/" in path for path in before) > 0
    assert sum(path.endswith("/memo.html") for path in before) == 1
    assert sum(path.endswith("/decision.json") for path in before) == 1
    corrections = [len(json.loads(before[path])["amendments"]) for path in before if path.endswith("/record.json")]
    assert sorted(corrections)[-2:] == [1, 2]
    assert b'"owner": "maria"' in before["campaign.json"]


@pytest.mark.slow
def test_the_memo_made_of_an_imported_campaign_is_the_memo_made_of_the_original(
    filled: Session, tmp_path: Path, empty_database: Path
) -> None:
    second = session_in(tmp_path / "second", empty_database)
    exported(filled, tmp_path / "one")
    statuses(second, tmp_path / "one")

    made = {}
    for name, session in (("first", filled), ("second", second)):
        request = ReportRequest(since="30d", out=tmp_path / "made" / name)
        path = write_reports(request, later(session, 5)).memos[0].path
        made[name] = {file.name: file.read_bytes() for file in path.parent.iterdir()}

    assert {"memo.html", "memo.json", "memo.txt", "explore.html"} <= made["first"].keys()
    assert b'"memo_number": 2' in made["second"]["memo.json"]
    # The ids that MLflow gives are all that differs.
    ids = {run.earlier_ids[0]: run.run_id for run in second.store().query(Query())}
    ids |= dict(zip(*(sorted_reports(session) for session in (filled, second)), strict=True))
    for name, content in made["first"].items():
        expected = content
        for old, new in ids.items():
            expected = expected.replace(old.encode(), new.encode()).replace(old[:8].encode(), new[:8].encode())
        assert made["second"][name] == expected, name


def sorted_reports(session: Session) -> list[str]:
    return [memo.run_id for memo in session.store().reports(NAME)]


def test_an_import_that_broke_off_goes_on(unchanged: Session, tmp_path: Path, empty_database: Path) -> None:
    second = session_in(tmp_path / "second", empty_database)
    before = exported(unchanged, tmp_path / "one")
    outcomes = import_campaign(second, tmp_path / "one")
    for _ in range(3):
        next(outcomes)
    outcomes.close()  # type: ignore[attr-defined]

    rest = statuses(second, tmp_path / "one")

    assert sorted(set(rest.values())) == ["copied", "present"]
    assert exported(second, tmp_path / "two") == before


def test_an_export_that_broke_off_is_refused_until_it_is_finished(unchanged: Session, tmp_path: Path) -> None:
    exporting = export_campaign(unchanged, NAME, tmp_path / "one")
    next(exporting.names)
    exporting.names.close()  # type: ignore[attr-defined]

    with pytest.raises(InputError, match=r"not finished.*export. again"):
        statuses(unchanged, tmp_path / "one")
    (tmp_path / "one" / "my notes.txt").write_text("mine")
    whole = exported(unchanged, tmp_path / "one")
    assert whole.pop("my notes.txt") == b"mine"
    assert whole == exported(unchanged, tmp_path / "two")


def test_an_export_is_brought_up_to_date(filled: Session, tmp_path: Path) -> None:
    first = exported(filled, tmp_path / "one")
    run = filled.store().query(Query())[2]
    amend_run(AmendRequest(run=run.run_id, name="another name"), later(filled, 4))

    second = exported(filled, tmp_path / "one")

    assert second != first
    assert any("another-name" in path for path in second)
    assert second == exported(filled, tmp_path / "fresh")


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda folder: next(folder.rglob("record.json")).write_text("{}"), "is not what was exported"),
        (lambda folder: next(folder.rglob("memo.html")).unlink(), "a file of the export is missing"),
        (lambda folder: (folder / "manifest.json").write_text("{}"), "this is no exported campaign"),
        (lambda folder: (folder / "manifest.json").unlink(), "no exported campaign"),
        (lambda folder: newer(folder), "Upgrade tracker"),
        (lambda folder: outside(folder), "outside the export"),
    ],
)
def test_a_damaged_export_is_refused_before_anything_is_stored(
    spoil: object, told: str, intact: Path, tmp_path: Path, empty_database: Path
) -> None:
    second = session_in(tmp_path / "second", empty_database)
    shutil.copytree(intact, tmp_path / "one")
    spoil(tmp_path / "one")  # type: ignore[operator]

    with pytest.raises(InputError, match=told):
        statuses(second, tmp_path / "one")

    assert second.store().experiments() == ()


def newer(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"schema_version": 99}))


def outside(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"][0]["path"] = "../secret"
    (folder / "manifest.json").write_text(json.dumps(manifest))


def test_a_name_taken_by_other_runs_is_refused_unless_asked_for(
    unchanged: Session, tmp_path: Path, empty_database: Path
) -> None:
    second = session_in(tmp_path / "second", empty_database)
    second.store().save(samples.run("mine", experiment=NAME, record_id="mine"))
    exported(unchanged, tmp_path / "one")

    with pytest.raises(StoreError, match="taken by a campaign with other runs"):
        statuses(second, tmp_path / "one")
    assert set(statuses(second, tmp_path / "one", name="other").values()) == {"copied"}
    assert len(second.store().query(Query(experiment="other"))) == len(unchanged.store().query(Query()))
    told = list(import_campaign(second, tmp_path / "one", merge=True))
    conflicts = [outcome for outcome in told if isinstance(outcome.error, RecordConflictError)]
    assert "in the campaign 'other' there already" in str(conflicts[0].error)
    assert len(second.store().query(Query(experiment=NAME))) == 1


@pytest.mark.slow
def test_a_campaign_imported_under_another_name_takes_its_input_once_more_as_the_same_run(
    unchanged: Session, tmp_path: Path, empty_database: Path
) -> None:
    second = session_in(tmp_path / "second", empty_database)
    exported(unchanged, tmp_path / "one")
    statuses(second, tmp_path / "one", name="other")

    again = log_run(LogRequest(inputs=(experiments_dir() / NAME,), experiment="other"), second)

    known = {run.run_id for run in second.store().query(Query(experiment="other"))}
    assert {item.run_id for item in again.outcomes} < known
    assert len(known) == len(unchanged.store().query(Query()))


@pytest.mark.slow
def test_corrections_made_after_an_import_follow_with_the_next(
    filled: Session, tmp_path: Path, empty_database: Path
) -> None:
    second = session_in(tmp_path / "second", empty_database)
    exported(filled, tmp_path / "one")
    statuses(second, tmp_path / "one")
    run = filled.store().query(Query())[0]
    filled.store().amend(run.run_id, Amendment(at=NOW, by="m***", changes={"validity": "invalid"}, reason="throttled"))

    exported(filled, tmp_path / "one")
    again = statuses(second, tmp_path / "one")

    assert again[run.record.name] == "amended"
    assert exported(second, tmp_path / "two") == exported(filled, tmp_path / "three")


def test_a_folder_with_something_else_is_left_alone(unchanged: Session, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_bytes(b"cat")

    with pytest.raises(InputError, match="something else than an export"):
        list(export_campaign(unchanged, NAME, tmp_path / "photos").names)
    with pytest.raises(InputError, match="a file, not a folder"):
        default_folder(NAME, tmp_path / "photos" / "cat.jpg")
    with pytest.raises(StoreError, match=f"Did you mean '{NAME}'"):
        export_campaign(unchanged, "kimi-eagle3", tmp_path / "new")

    assert [path.name for path in (tmp_path / "photos").iterdir()] == ["cat.jpg"]
