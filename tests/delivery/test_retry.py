"""Trying again with growing waits, giving up, and never sending the same memo twice to the same reader."""

from __future__ import annotations

import socket
from collections.abc import Callable
from email import message_from_bytes, policy
from pathlib import Path

import pytest

from tests.delivery.conftest import Server
from tests.delivery.test_smtp import settings, short_mail
from tracker.delivery import (
    PartlyDeliveredError,
    PassingDeliveryError,
    SmtpSettings,
    keep,
    only_to,
    resend,
    send,
    waiting,
    with_retries,
)
from tracker.errors import DeliveryError

Serve = Callable[..., Server]
BUSY = "451 try again later"


@pytest.mark.parametrize("failures", [1, 3])
def test_busy_server_gets_the_message_at_a_later_try(serve: Serve, failures: int) -> None:
    server = serve()
    server.inbox.first_answers = [BUSY] * failures
    waits: list[float] = []

    with_retries(lambda message: send(message, settings(server)), sleep=waits.append)(short_mail())

    assert len(server.inbox.contents) == 1
    assert waits == [2.0, 8.0, 30.0][:failures]


def test_server_that_stays_busy_is_given_up_with_its_own_words(serve: Serve) -> None:
    server = serve()
    server.inbox.answer = BUSY
    waits: list[float] = []

    with pytest.raises(PassingDeliveryError, match=BUSY):
        with_retries(lambda message: send(message, settings(server)), sleep=waits.append)(short_mail())

    assert waits == [2.0, 8.0, 30.0]
    assert server.inbox.contents == []


def test_refusal_for_good_is_not_tried_again(serve: Serve) -> None:
    server = serve()
    server.inbox.answer = "552 message too large for this mailbox"
    waits: list[float] = []

    with pytest.raises(DeliveryError, match="552"):
        with_retries(lambda message: send(message, settings(server)), sleep=waits.append)(short_mail())

    assert waits == []


def test_silent_server_is_tried_again() -> None:
    waits: list[float] = []
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(8)
        quiet = SmtpSettings(host="127.0.0.1", port=silent.getsockname()[1], security="none", timeout_s=0.2)

        with pytest.raises(PassingDeliveryError, match="did not answer in time"):
            with_retries(lambda message: send(message, quiet), sleep=waits.append, delays_s=(1.0,))(short_mail())

    assert waits == [1.0]


def test_resending_reaches_only_whom_the_first_try_missed(serve: Serve, tmp_path: Path) -> None:
    server = serve()
    server.inbox.refuse = frozenset({"c@example.com"})
    message = short_mail()
    with pytest.raises(PartlyDeliveredError) as caught:
        send(message, settings(server))
    only_to(message, caught.value.refused)
    keep(message, tmp_path)
    server.inbox.refuse = frozenset()

    resend(tmp_path, lambda waiting_message: send(waiting_message, settings(server)))

    assert server.inbox.recipients == [["b@example.com"], ["c@example.com"]]
    late = message_from_bytes(server.inbox.contents[1], policy=policy.default)
    assert str(late["To"]) == "b@example.com, c@example.com"
    assert "X-Tracker-Undelivered" not in late
    assert waiting(tmp_path) == ()


def test_outbox_remembers_who_is_still_missing_after_a_partial_resend(serve: Serve, tmp_path: Path) -> None:
    server = serve()
    keep(short_mail(), tmp_path)
    server.inbox.refuse = frozenset({"c@example.com"})

    (outcome,) = resend(tmp_path, lambda message: send(message, settings(server)))
    server.inbox.refuse = frozenset()
    resend(tmp_path, lambda message: send(message, settings(server)))

    assert isinstance(outcome.error, PartlyDeliveredError)
    assert server.inbox.recipients == [["b@example.com"], ["c@example.com"]]
