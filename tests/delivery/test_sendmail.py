"""A local command takes the message on its standard input."""

from __future__ import annotations

import sys
from email import policy
from email.message import EmailMessage
from pathlib import Path

import pytest

from tracker.delivery import sendmail
from tracker.errors import DeliveryError

SCRIPT = """
import pathlib, sys
pathlib.Path(sys.argv[1]).write_bytes(" ".join(sys.argv[2:]).encode() + b"\\n" + sys.stdin.buffer.read())
"""


def message(to: str = "b@host.example, C <c@host.example>") -> EmailMessage:
    mail = EmailMessage(policy=policy.SMTP)
    mail["Subject"], mail["From"], mail["To"] = "memo", "a@host.example", to
    mail.set_content("body")
    return mail


def test_command_gets_recipients_and_message(tmp_path: Path) -> None:
    out = tmp_path / "out"

    sendmail.send(message(), [sys.executable, "-c", SCRIPT, str(out)])

    arguments, text = out.read_text().split("\n", 1)
    assert arguments == "-- b@host.example c@host.example"
    assert "Subject: memo" in text
    assert "\r" not in text


def test_recipient_is_never_taken_for_an_option(tmp_path: Path) -> None:
    out = tmp_path / "out"

    sendmail.send(message("-oQ/etc@host.example"), [sys.executable, "-c", SCRIPT, str(out)])

    assert out.read_text().startswith("-- -oQ/etc@host.example\n")


def test_failing_command_gives_its_last_words() -> None:
    code = "import sys; sys.stdin.read(); print('queue full', file=sys.stderr); sys.exit(75)"

    with pytest.raises(DeliveryError, match="ended with code 75: queue full"):
        sendmail.send(message(), [sys.executable, "-c", code])


def test_missing_command_is_named(tmp_path: Path) -> None:
    with pytest.raises(DeliveryError, match="does not exist") as caught:
        sendmail.send(message(), [str(tmp_path / "sendmail")])

    assert caught.value.where == str(tmp_path / "sendmail")


def test_hanging_command_is_given_up() -> None:
    with pytest.raises(DeliveryError, match="did not finish"):
        sendmail.send(message(), [sys.executable, "-c", "import time; time.sleep(30)"], timeout_s=0.5)


def test_empty_command_is_an_error() -> None:
    with pytest.raises(DeliveryError, match="no mail command"):
        sendmail.send(message(), [])


def test_what_a_command_says_cannot_steer_a_terminal() -> None:
    code = "import sys; sys.stdin.read(); print('\\x1b]0;x\\x07full', file=sys.stderr); sys.exit(75)"

    with pytest.raises(DeliveryError, match="full") as caught:
        sendmail.send(message(), [sys.executable, "-c", code])

    assert str(caught.value).isprintable()
