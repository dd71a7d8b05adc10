"""A memo that cannot be mailed is written all the same, waits, and is sent later."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from tracker.resources import experiments_dir
from tracker.store import MemoryStore
from tracker.workflows.log_run import LogRequest, log_run
from tracker.workflows.post import resend
from tracker.workflows.report import ReportRequest, write_reports
from tracker.workflows.session import Session

NOW = datetime(2026, 11, 30, 7, tzinfo=UTC)


def test_unsent_memo_waits_and_is_resent(tmp_path: Path) -> None:
    environ = {"TRACKER_MAIL_FROM": "memo@tracker.example", "TRACKER_SENDMAIL": "/bin/false -i"}
    session = Session(now=NOW, environ=environ, cwd=tmp_path, folder=tmp_path / "data", _store=MemoryStore())
    log_run(LogRequest(inputs=(experiments_dir() / "kimi-k2.5-eagle3",)), session)
    session.now += timedelta(seconds=1)
    request = ReportRequest(since="1h", out=tmp_path / "reports", email_to=("lead@example.com",))

    (memo,) = write_reports(request, session).memos
    script = tmp_path / "sendmail"
    script.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/arguments\ncat > {tmp_path}/sent.eml\n')
    script.chmod(0o755)
    session.environ = environ | {"TRACKER_SENDMAIL": str(script)}
    (sent,) = resend(session)

    assert memo.path.is_file()
    assert memo.mailed_to == ()
    assert memo.mail_error is not None
    assert "tracker report --resend" in str(memo.mail_error.hint)
    assert sent.error is None
    assert (tmp_path / "arguments").read_text().strip() == "-- lead@example.com"
    assert "Subject: [kimi-k2.5-eagle3] Slower" in (tmp_path / "sent.eml").read_text()
    assert resend(session) == ()
