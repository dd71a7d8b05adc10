"""From one memo to the next: what is kept in the store, what was decided, what came of it, one mail thread."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any

import pytest

from tracker.errors import InputError, RunNotFoundError, StoreError, UsageError
from tracker.resources import experiments_dir
from tracker.store import MemoryStore, ReportRun, StoredReport
from tracker.workflows.amend import AmendRequest, amend_run
from tracker.workflows.decide import DecideRequest, decide
from tracker.workflows.log_run import LogRequest, log_run
from tracker.workflows.report import Memo, ReportRequest, write_reports
from tracker.workflows.session import Session

FIRST = datetime(2026, 11, 23, 7, tzinfo=UTC)
CAMPAIGN = "kimi-k2.5-eagle3"
CHAIN_OF_3 = (
    "config,speculative_algorithm,drafter,cuda_graph,num_draft_tokens,num_steps,eagle_topk,output_throughput_tok_s,"
    "accept_length,measured_at\n"
    "EAGLE3 chain of 3,EAGLE3,own-10k,yes,4,3,1,91.4,1.98,2026-11-26T10:00:00Z\n"
)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """A store that holds the founding campaign, on the Monday after it was measured."""
    found = Session(
        now=FIRST, environ={"USER": "somebody"}, cwd=tmp_path, folder=tmp_path / "data", _store=MemoryStore()
    )
    assert log_run(LogRequest(inputs=(experiments_dir() / CAMPAIGN,)), found).store_error is None
    found.now = FIRST + timedelta(minutes=1)
    return found


def memo(session: Session, out: Path, **changes: Any) -> Memo:
    (found,) = write_reports(ReportRequest(**({"since": "7d", "out": out} | changes)), session).memos
    return found


def a_week_later(session: Session, tmp_path: Path, table: str = CHAIN_OF_3) -> None:
    """Log one more run and turn the clock on."""
    folder = tmp_path / "later"
    folder.mkdir(exist_ok=True)
    shutil.copy(experiments_dir() / CAMPAIGN / "campaign.toml", folder)
    (folder / "benchmarks.csv").write_text(table)
    session.now = FIRST + timedelta(days=4)
    assert log_run(LogRequest(inputs=(folder,)), session).store_error is None
    session.now = FIRST + timedelta(days=7)


def test_memo_is_kept_in_the_store_and_names_its_run(session: Session, tmp_path: Path) -> None:
    written = memo(session, tmp_path / "reports")

    (kept,) = session.store().reports(CAMPAIGN)
    assert written.kept is not None
    assert written.content["report_run"] == {"run_id": kept.run_id, "url": None}
    assert json.loads(written.path.with_name("memo.json").read_text()) == written.content
    assert json.loads(kept.memo_json)["headline"] == written.content["headline"]


def test_same_day_again_replaces_the_memo(session: Session, tmp_path: Path) -> None:
    first = memo(session, tmp_path / "reports")
    session.now += timedelta(hours=2)
    again = memo(session, tmp_path / "reports")

    assert first.content["memo_number"] == again.content["memo_number"] == 1
    assert len(session.store().reports(CAMPAIGN)) == 1


def test_store_that_keeps_no_memo_costs_only_the_link(session: Session, tmp_path: Path) -> None:
    class ReadOnly(MemoryStore):
        def save_report(self, experiment: str, memo: ReportRun) -> StoredReport:
            raise StoreError("the store is read-only", where="memory:")

    refusing = ReadOnly()
    session._store = refusing
    log_run(LogRequest(inputs=(experiments_dir() / CAMPAIGN,)), session)
    session.now += timedelta(seconds=1)
    written = memo(session, tmp_path / "reports")

    assert written.path.is_file()
    assert written.content["report_run"] is None
    assert "read-only" in str(written.keep_error)


@pytest.mark.parametrize("same_folder", [True, False])
def test_decision_is_shown_with_what_came_of_it(session: Session, tmp_path: Path, same_folder: bool) -> None:
    first = memo(session, tmp_path / "reports")
    request = DecideRequest(memo=str(first.path), option="tune_configuration_3_1_4", by="A. Lead", note="cheap first")
    decide(request, session)
    a_week_later(session, tmp_path)
    second = memo(session, tmp_path / "reports" if same_folder else tmp_path / "elsewhere")

    (decided,) = second.content["decisions"]
    assert (decided["by"], decided["note"]) == ("A. Lead", "cheap first")
    assert decided["outcome"]["expected"]["value"] == pytest.approx(88.0, abs=1.5)
    assert decided["outcome"]["measured"] == pytest.approx(91.4)
    assert decided["outcome"]["inside"] is True
    assert second.content["memo_number"] == 2
    assert second.content["calibration"]["intervals_checked"] == 1
    chance = decided["outcome"]["p_beats_baseline"]
    assert second.content["calibration"]["brier_score"] == pytest.approx((chance - 1) ** 2)
    text = " ".join(second.path.with_suffix(".txt").read_text().split())
    assert "DECIDED Tune to 3 steps, top-k 1, 4 draft tokens: 91.4 tok/s measured" in text
    assert "FORECASTS CHECKED The one forecast tested so far held" in text


def test_undecided_option_stays_open_until_a_run_says_it_tests_it(session: Session, tmp_path: Path) -> None:
    first = memo(session, tmp_path / "reports")
    decide(DecideRequest(memo=str(first.path.parent), option="reduce_overhead"), session)
    a_week_later(session, tmp_path)
    open_still = memo(session, tmp_path / "reports")

    assert open_still.content["decisions"][0]["outcome"]["measured"] is None
    assert "decided, not yet measured" in open_still.path.with_suffix(".txt").read_text()
    amend_run(AmendRequest(run="EAGLE3 chain of 3", tags={"option": "reduce_overhead"}), session)
    session.now += timedelta(days=1)
    tested = memo(session, tmp_path / "reports", since="9d")

    assert tested.content["decisions"][0]["outcome"]["measured"] == pytest.approx(91.4)


def test_letter_names_the_same_option_as_its_key(session: Session, tmp_path: Path) -> None:
    first = memo(session, tmp_path / "reports")
    options = [option["key"] for option in first.content["options"]]

    by_letter = decide(DecideRequest(memo=str(first.path), option="b"), session)

    assert by_letter.decision["option"] == options[1]
    assert by_letter.decision["by"] != "somebody"  # masked
    assert by_letter.path == first.path.with_name("decision.json")
    assert session.store().reports(CAMPAIGN)[0].decision_json == by_letter.path.read_bytes()


def test_decision_by_run_id_is_kept_in_the_store(session: Session, tmp_path: Path) -> None:
    first = memo(session, tmp_path / "reports")
    run_id = first.content["report_run"]["run_id"]

    result = decide(DecideRequest(memo=run_id, option="keep_baseline", by="A. Lead"), session)

    assert result.path is None
    kept = session.store().report(run_id).decision_json
    assert kept is not None
    assert json.loads(kept)["title"] == "Keep the baseline"


def test_what_cannot_be_decided_on_is_said_with_the_way_out(session: Session, tmp_path: Path) -> None:
    first = memo(session, tmp_path / "reports")

    with pytest.raises(UsageError, match="no option 'buy_gpus'") as unknown:
        decide(DecideRequest(memo=str(first.path), option="buy_gpus"), session)
    with pytest.raises(InputError, match="no memo here"):
        decide(DecideRequest(memo=str(tmp_path / "nowhere" / "memo.html"), option="A"), session)
    with pytest.raises(RunNotFoundError, match="neither the path of a memo nor the run"):
        decide(DecideRequest(memo="0" * 32, option="A"), session)

    assert "keep_baseline" in str(unknown.value.hint)
    assert not first.path.with_name("decision.json").exists()


def test_secrets_in_a_note_are_not_kept(session: Session, tmp_path: Path) -> None:
    first = memo(session, tmp_path / "reports")
    note = "approved, token hf_abcdefghijklmnopqrstuvwxyz123456"

    result = decide(DecideRequest(memo=str(first.path), option="A", note=note), session)

    assert "hf_abcdefghijklmnop" not in str(result.decision)


def test_since_last_report_finds_the_memo_in_the_store(session: Session, tmp_path: Path) -> None:
    memo(session, tmp_path / "reports")
    a_week_later(session, tmp_path)

    result = write_reports(ReportRequest(since="last-report", out=tmp_path / "elsewhere"), session)

    assert result.window.since == FIRST + timedelta(minutes=1)
    assert [point["is_news"] for point in result.memos[0].content["evidence"]].count(True) == 1


def test_weekly_mails_are_one_conversation(session: Session, tmp_path: Path) -> None:
    mails = []
    for week in range(2):
        if week:
            a_week_later(session, tmp_path)
        written = memo(session, tmp_path / "reports", email_to=("lead@example.com", "ops@example.com"), eml=True)
        mails.append(message_from_bytes(written.path.with_name("memo.eml").read_bytes(), policy=policy.default))
    first, second = mails

    assert first["Message-ID"] != second["Message-ID"]
    assert first["References"] == second["References"] == first["In-Reply-To"] == second["In-Reply-To"]
    assert first["List-Id"] == second["List-Id"]
    assert first["Date"].datetime < second["Date"].datetime
    assert str(first["To"]) == "lead@example.com, ops@example.com"
