"""Trying again: what a mail server refuses for now is sent a moment later; what it refuses for good is not."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Sequence
from email.message import EmailMessage
from email.utils import getaddresses

from tracker.errors import DeliveryError

_LOG = logging.getLogger(__name__)
# Seconds between tries: long enough for a busy server, short enough for somebody who waits at a terminal. What lasts
# longer, such as greylisting, is what the outbox is for.
DELAYS_S = (2.0, 8.0, 30.0)
UNDELIVERED = "X-Tracker-Undelivered"


class PassingDeliveryError(DeliveryError):
    """A failure that may pass: the server is busy (4xx), broke off or did not answer in time."""


class PartlyDeliveredError(DeliveryError):
    """Some recipients have the message, others were refused."""

    def __init__(self, message: str, *, refused: tuple[str, ...], where: str | None, hint: str | None) -> None:
        """Keep the recipients that were refused, so that the others do not get the message twice."""
        super().__init__(message, where=where, hint=hint)
        self.refused = refused


def with_retries(
    send: Callable[[EmailMessage], None], *, sleep: Callable[[float], None], delays_s: Sequence[float] = DELAYS_S
) -> Callable[[EmailMessage], None]:
    """Return a function that sends like `send`, and tries again after each delay while the failure may pass.

    Args:
        send: Sends one message or raises DeliveryError.
        sleep: Waits that many seconds.
        delays_s: Waits between tries, in seconds; one try more than there are delays.
    """

    def deliver(message: EmailMessage) -> None:
        for delay in delays_s:
            try:
                return send(message)
            except PassingDeliveryError as error:
                _LOG.info("mail not taken, trying again in %g s: %s", delay, error)
                sleep(delay)
        return send(message)

    return deliver


def recipients_of(message: EmailMessage) -> list[str]:
    """Return whom a message still has to reach: those an earlier try missed, else everybody in To."""
    missed = message.get_all(UNDELIVERED, [])
    return [address for _, address in getaddresses([str(value) for value in missed or message.get_all("To", [])])]


def shown(answer: bytes | str) -> str:
    """Return what a mail server or command said, without signs that steer a terminal."""
    text = answer.decode(errors="replace") if isinstance(answer, bytes) else answer
    return "".join(char if char.isprintable() else " " for char in text)


def unmarked(message: EmailMessage) -> EmailMessage:
    """Return the message as readers get it, without our own mark."""
    if UNDELIVERED not in message:
        return message
    plain = copy.deepcopy(message)
    del plain[UNDELIVERED]
    return plain


def only_to(message: EmailMessage, recipients: Sequence[str]) -> None:
    """Mark the message so that a later try reaches these recipients only; its To header stays as it is."""
    del message[UNDELIVERED]
    message[UNDELIVERED] = ", ".join(recipients)
