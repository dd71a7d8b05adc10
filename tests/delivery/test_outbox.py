"""A message that could not be sent is kept whole and leaves only once it is sent."""

from __future__ import annotations

from email import policy
from email.message import EmailMessage
from pathlib import Path

import pytest

from tracker.delivery import keep, resend, waiting
from tracker.errors import DeliveryError


def message(number: int) -> EmailMessage:
    mail = EmailMessage(policy=policy.SMTP)
    mail["Subject"], mail["From"], mail["To"] = f"memo {number}", "a@host.example", "b@host.example"
    mail["Message-ID"] = f"<memo-{number}@host.example>"
    mail.set_content(f"body {number} – 8.6 %")
    return mail


def test_kept_message_reads_back(tmp_path: Path) -> None:
    keep(message(1), tmp_path / "outbox")

    (found,) = waiting(tmp_path / "outbox")
    assert found.message["Subject"] == "memo 1"
    assert found.message.get_content().strip() == "body 1 – 8.6 %"
    assert found.path.suffix == ".eml"


def test_same_message_is_kept_once(tmp_path: Path) -> None:
    assert keep(message(1), tmp_path) == keep(message(1), tmp_path)
    assert len(waiting(tmp_path)) == 1


def test_nothing_half_written_is_left(tmp_path: Path) -> None:
    keep(message(1), tmp_path)

    assert [path.suffix for path in tmp_path.iterdir()] == [".eml"]


def test_missing_outbox_is_empty(tmp_path: Path) -> None:
    assert waiting(tmp_path / "none") == ()
    assert resend(tmp_path / "none", lambda mail: None) == ()


def test_sent_messages_leave_and_refused_ones_stay(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        keep(message(number), tmp_path)
    sent: list[str] = []

    def send(mail: EmailMessage) -> None:
        if mail["Subject"] == "memo 2":
            raise DeliveryError("the mail server cannot be reached")
        sent.append(str(mail["Subject"]))

    results = resend(tmp_path, send)

    assert {result.subject: result.error is None for result in results} == {
        "memo 1": True,
        "memo 2": False,
        "memo 3": True,
    }
    assert sorted(sent) == ["memo 1", "memo 3"]
    assert [item.message["Subject"] for item in waiting(tmp_path)] == ["memo 2"]


def test_unwritable_outbox_is_an_error_with_advice(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")

    with pytest.raises(DeliveryError, match="cannot be kept") as caught:
        keep(message(1), blocked / "outbox")

    assert caught.value.hint is not None
