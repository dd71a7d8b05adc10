"""Sending through a real server: plain, STARTTLS, TLS, log-in, and everything a server may refuse."""

from __future__ import annotations

import socket
from collections.abc import Callable
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest

from tests.delivery.conftest import PASSWORD, USER, Server
from tests.report.examples import MEMOS
from tracker.delivery import SmtpSettings, send, sender_from, settings_from
from tracker.errors import DeliveryError
from tracker.report import compose, render_html

# aiosmtpd 1.4 warns that a log-in without TLS is unsafe; on loopback that is what one test is about.
pytestmark = pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS:UserWarning")

Serve = Callable[..., Server]


def memo_mail() -> EmailMessage:
    view = MEMOS["founding"]()
    return compose(
        view,
        sender="Tracker <memo@tracker.example>",
        recipients=["lead@example.com", "ops@example.com"],
        memo_html=render_html(view),
        date=datetime(2026, 11, 30, 8, tzinfo=UTC),
        message_id_domain="tracker.example",
    )


def short_mail() -> EmailMessage:
    message = EmailMessage(policy=policy.SMTP)
    message["Subject"], message["From"], message["To"] = "short", "a@tracker.example", "b@example.com, c@example.com"
    message.set_content("one line")
    return message


def settings(server: Server, security: str = "none", **changes: object) -> SmtpSettings:
    values: dict[str, object] = {
        "host": "localhost",
        "port": server.port,
        "security": security,
        "ca_file": server.ca_file,
        "timeout_s": 5.0,
    }
    return SmtpSettings(**(values | changes))  # type: ignore[arg-type]


def test_memo_arrives_whole_and_parses_back(serve: Serve) -> None:
    server = serve()
    message = memo_mail()

    send(message, settings(server))

    parsed = message_from_bytes(server.inbox.contents[0], policy=policy.default)
    assert server.inbox.recipients == [["lead@example.com", "ops@example.com"]]
    assert parsed["Subject"] == message["Subject"]
    assert [part.get_content_type() for part in parsed.walk()] == [part.get_content_type() for part in message.walk()]
    pictures = [part.get_content() for part in parsed.walk() if part.get_content_type() == "image/png"]
    assert [picture[:8] for picture in pictures] == [b"\x89PNG\r\n\x1a\n"] * 2
    attached = next(parsed.iter_attachments())
    assert attached.get_content().splitlines() == render_html(MEMOS["founding"]()).splitlines()


@pytest.mark.parametrize("security", ["starttls", "tls"])
@pytest.mark.parametrize("login", [False, True])
def test_encrypted_delivery_with_and_without_log_in(serve: Serve, security: str, login: bool) -> None:
    server = serve(security=security, login=login)
    credentials = {"username": USER, "password": PASSWORD} if login else {}

    send(short_mail(), settings(server, security, **credentials))

    assert server.inbox.encrypted == [True]
    assert server.inbox.recipients == [["b@example.com", "c@example.com"]]


def test_log_in_without_encryption_works_where_the_server_allows_it(serve: Serve) -> None:
    server = serve(login=True)

    send(short_mail(), settings(server, username=USER, password=PASSWORD))

    assert server.inbox.encrypted == [False]


def test_refused_log_in_names_the_user_and_never_the_password(serve: Serve) -> None:
    server = serve(security="starttls", login=True)

    with pytest.raises(DeliveryError, match="refuses the log-in of 'memo'") as caught:
        send(short_mail(), settings(server, "starttls", username=USER, password="wrong-secret"))

    assert "wrong-secret" not in f"{caught.value} {caught.value.hint} {caught.value!r}"
    assert caught.value.hint == "check TRACKER_SMTP_USERNAME and TRACKER_SMTP_PASSWORD"
    assert server.inbox.contents == []


def test_untrusted_certificate_is_refused(serve: Serve) -> None:
    server = serve(security="starttls")

    with pytest.raises(DeliveryError, match="certificate is not trusted") as caught:
        send(short_mail(), settings(server, "starttls", ca_file=None))

    assert "TRACKER_SMTP_CA_FILE" in str(caught.value.hint)
    assert server.inbox.contents == []


def test_certificate_of_another_host_is_refused(serve: Serve) -> None:
    server = serve(security="tls")

    with pytest.raises(DeliveryError, match="certificate is not trusted"):
        send(short_mail(), settings(server, "tls", host="127.0.0.1"))


def test_server_without_starttls_gets_nothing(serve: Serve) -> None:
    server = serve()

    with pytest.raises(DeliveryError, match="cannot do this") as caught:
        send(short_mail(), settings(server, "starttls"))

    assert "TRACKER_SMTP_SECURITY" in str(caught.value.hint)
    assert server.inbox.contents == []


def test_one_refused_recipient_is_named_and_the_others_are_served(serve: Serve) -> None:
    server = serve()
    server.inbox.refuse = frozenset({"c@example.com"})

    with pytest.raises(DeliveryError, match=r"c@example\.com \(550 no such mailbox here\)"):
        send(short_mail(), settings(server))

    assert server.inbox.recipients == [["b@example.com"]]


def test_all_recipients_refused(serve: Serve) -> None:
    server = serve()
    server.inbox.refuse = frozenset({"b@example.com", "c@example.com"})

    with pytest.raises(DeliveryError, match=r"refuses these recipients: b@example\.com .*; c@example\.com"):
        send(short_mail(), settings(server))


def test_refused_message_gives_the_servers_words(serve: Serve) -> None:
    server = serve()
    server.inbox.answer = "552 message too large for this mailbox"

    with pytest.raises(DeliveryError, match="552 message too large for this mailbox"):
        send(short_mail(), settings(server))


def test_unreachable_server_says_where_and_what_next() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    with pytest.raises(DeliveryError, match="cannot be reached") as caught:
        send(short_mail(), SmtpSettings(host="127.0.0.1", port=port, security="none", timeout_s=2))

    assert caught.value.where == f"127.0.0.1:{port}"
    assert "outbox" in str(caught.value.hint)


def test_silent_server_does_not_hold_us_up() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(1)
        port = silent.getsockname()[1]

        with pytest.raises(DeliveryError, match="did not answer in time"):
            send(short_mail(), SmtpSettings(host="127.0.0.1", port=port, security="none", timeout_s=0.3))


def test_settings_come_from_the_environment() -> None:
    found = settings_from(
        {
            "TRACKER_SMTP_HOST": "mail.example",
            "TRACKER_SMTP_SECURITY": "TLS",
            "TRACKER_SMTP_USERNAME": "u",
            "TRACKER_SMTP_PASSWORD": "secret-word",
            "TRACKER_SMTP_TIMEOUT_S": "7",
        }
    )

    expected = SmtpSettings(
        host="mail.example", port=465, security="tls", username="u", password="secret-word", timeout_s=7.0
    )
    assert expected == found
    assert "secret-word" not in repr(found)


@pytest.mark.parametrize(("security", "port"), [("none", 25), ("starttls", 587), ("tls", 465)])
def test_port_follows_the_security(security: str, port: int) -> None:
    found = settings_from({"TRACKER_SMTP_HOST": "h", "TRACKER_SMTP_SECURITY": security})

    assert port == found.port


@pytest.mark.parametrize(
    ("environ", "where"),
    [
        ({}, "TRACKER_SMTP_HOST"),
        ({"TRACKER_SMTP_HOST": " "}, "TRACKER_SMTP_HOST"),
        ({"TRACKER_SMTP_HOST": "h", "TRACKER_SMTP_SECURITY": "ssl"}, "TRACKER_SMTP_SECURITY"),
        ({"TRACKER_SMTP_HOST": "h", "TRACKER_SMTP_PORT": "smtp"}, "TRACKER_SMTP_PORT"),
        ({"TRACKER_SMTP_HOST": "h", "TRACKER_SMTP_PORT": "70000"}, "TRACKER_SMTP_PORT"),
        ({"TRACKER_SMTP_HOST": "h", "TRACKER_SMTP_TIMEOUT_S": "soon"}, "TRACKER_SMTP_TIMEOUT_S"),
        ({"TRACKER_SMTP_HOST": "h", "TRACKER_SMTP_TIMEOUT_S": "-1"}, "TRACKER_SMTP_TIMEOUT_S"),
    ],
)
def test_meaningless_setting_is_named(environ: dict[str, str], where: str) -> None:
    with pytest.raises(DeliveryError) as caught:
        settings_from(environ)

    assert where == caught.value.where


def test_sender_is_required() -> None:
    assert sender_from({"TRACKER_MAIL_FROM": "memo@host"}) == "memo@host"
    with pytest.raises(DeliveryError, match="no sender is set"):
        sender_from({})
