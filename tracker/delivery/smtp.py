"""Sending a message through an SMTP server; knows nothing of memos."""

from __future__ import annotations

import contextlib
import smtplib
import socket
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email.message import EmailMessage
from typing import Literal, get_args

from tracker.delivery.retry import PartlyDeliveredError, PassingDeliveryError, recipients_of, shown, unmarked
from tracker.errors import DeliveryError

Security = Literal["none", "starttls", "tls"]
DEFAULT_PORTS: Mapping[str, int] = {"none": 25, "starttls": 587, "tls": 465}


@dataclass(frozen=True, slots=True, kw_only=True)
class SmtpSettings:
    """How to reach the mail server."""

    host: str
    """Host name; certificates are checked against it."""
    port: int
    """TCP port."""
    security: Security = "starttls"
    """none: plain text; starttls: upgraded before log-in; tls: encrypted from the first byte."""
    username: str | None = None
    """User to log in as; None sends without log-in."""
    password: str | None = field(default=None, repr=False)
    """Never shown, never logged."""
    timeout_s: float = 20.0
    """Longest wait for one answer of the server."""
    ca_file: str | None = None
    """Certificate authority to trust instead of the system's."""


def settings_from(environ: Mapping[str, str]) -> SmtpSettings:
    """Return the settings that the environment names.

    Reads TRACKER_SMTP_HOST, _PORT, _SECURITY, _USERNAME, _PASSWORD, _TIMEOUT_S and _CA_FILE.

    Raises:
        DeliveryError: The host is missing, or a value means nothing.
    """
    host = environ.get("TRACKER_SMTP_HOST", "").strip()
    if not host:
        raise DeliveryError(
            "no mail server is set",
            where="TRACKER_SMTP_HOST",
            hint="set TRACKER_SMTP_HOST, and TRACKER_SMTP_SECURITY to none, starttls or tls",
        )
    security = environ.get("TRACKER_SMTP_SECURITY", "starttls").strip().lower()
    if security not in get_args(Security):
        raise DeliveryError(
            f"{security!r} is no kind of transport security",
            where="TRACKER_SMTP_SECURITY",
            hint="use none, starttls or tls",
        )
    return SmtpSettings(
        host=host,
        port=_port(environ, DEFAULT_PORTS[security]),
        security=security,  # type: ignore[arg-type]
        username=environ.get("TRACKER_SMTP_USERNAME") or None,
        password=environ.get("TRACKER_SMTP_PASSWORD") or None,
        timeout_s=_timeout(environ),
        ca_file=environ.get("TRACKER_SMTP_CA_FILE") or None,
    )


def sender_from(environ: Mapping[str, str]) -> str:
    """Return the From address that TRACKER_MAIL_FROM names.

    Raises:
        DeliveryError: It is not set.
    """
    sender = environ.get("TRACKER_MAIL_FROM", "").strip()
    if not sender:
        raise DeliveryError(
            "no sender is set", where="TRACKER_MAIL_FROM", hint="set it to an address such as memo@host"
        )
    return sender


def send(message: EmailMessage, settings: SmtpSettings) -> None:
    """Hand a message to the mail server; return once the server has taken it for every recipient.

    Raises:
        DeliveryError: The server is unreachable, not trusted, refuses the log-in, every recipient or the message.
        PassingDeliveryError: It is busy, broke off or did not answer in time: another try may succeed.
        PartlyDeliveredError: It refuses some recipients; the others have the message.
    """
    where = f"{settings.host}:{settings.port}"
    with _delivery_errors(settings, where), _connect(settings) as client:
        if settings.username is not None:
            client.login(settings.username, settings.password or "")
        refused = client.send_message(unmarked(message), to_addrs=recipients_of(message))
    if refused:
        partly = _recipients_refused(refused, where)
        raise PartlyDeliveredError(partly.message, refused=tuple(sorted(refused)), where=where, hint=partly.hint)


def reach(settings: SmtpSettings) -> None:
    """Connect to the mail server and log in as `send` does, and leave without a message.

    Raises:
        DeliveryError: As for `send`.
    """
    with _delivery_errors(settings, f"{settings.host}:{settings.port}"), _connect(settings) as client:
        if settings.username is not None:
            client.login(settings.username, settings.password or "")
        client.noop()


@contextlib.contextmanager
def _delivery_errors(settings: SmtpSettings, where: str) -> Iterator[None]:
    try:
        yield
    except smtplib.SMTPException as error:
        raise _refusal(error, settings, where) from error
    except ssl.SSLError as error:
        raise DeliveryError(
            f"the mail server's certificate is not trusted ({_reason(error)})",
            where=where,
            hint="check TRACKER_SMTP_HOST and TRACKER_SMTP_SECURITY, or name the authority in TRACKER_SMTP_CA_FILE",
        ) from error
    except TimeoutError as error:
        raise PassingDeliveryError(
            "the mail server did not answer in time", where=where, hint="check TRACKER_SMTP_HOST and TRACKER_SMTP_PORT"
        ) from error
    except (OSError, socket.gaierror) as error:
        raise DeliveryError(
            f"the mail server cannot be reached ({_reason(error)})",
            where=where,
            hint="check TRACKER_SMTP_HOST and TRACKER_SMTP_PORT; the message can be sent later from the outbox",
        ) from error


def _connect(settings: SmtpSettings) -> smtplib.SMTP:
    context = ssl.create_default_context(cafile=settings.ca_file)
    if settings.security == "tls":
        return smtplib.SMTP_SSL(settings.host, settings.port, timeout=settings.timeout_s, context=context)
    client = smtplib.SMTP(settings.host, settings.port, timeout=settings.timeout_s)
    if settings.security == "none":
        return client
    try:
        client.starttls(context=context)
    except BaseException:
        client.close()
        raise
    return client


def _refusal(error: smtplib.SMTPException, settings: SmtpSettings, where: str) -> DeliveryError:
    found = _permanent(error, settings, where)
    if not _may_pass(error):
        return found
    return PassingDeliveryError(found.message, where=found.where, hint=found.hint)


def _may_pass(error: smtplib.SMTPException) -> bool:
    """Whether the server said 4xx, which means not now, or said nothing."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return all(400 <= code < 500 for code, _ in error.recipients.values())
    if isinstance(error, smtplib.SMTPResponseException):
        return 400 <= error.smtp_code < 500
    return isinstance(error, smtplib.SMTPServerDisconnected)


def _permanent(error: smtplib.SMTPException, settings: SmtpSettings, where: str) -> DeliveryError:
    if isinstance(error, smtplib.SMTPAuthenticationError):
        return DeliveryError(
            f"the mail server refuses the log-in of {settings.username!r} (code {error.smtp_code})",
            where=where,
            hint="check TRACKER_SMTP_USERNAME and TRACKER_SMTP_PASSWORD",
        )
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return _recipients_refused(error.recipients, where)
    if isinstance(error, smtplib.SMTPNotSupportedError):
        hint = "the server offers no such thing: set TRACKER_SMTP_SECURITY to what it offers, or drop the log-in"
        return DeliveryError(f"the mail server cannot do this ({error})", where=where, hint=hint)
    if isinstance(error, smtplib.SMTPSenderRefused):
        return DeliveryError(
            f"the mail server refuses the sender {error.sender!r} (code {error.smtp_code})",
            where=where,
            hint="check TRACKER_MAIL_FROM; some servers want a log-in first",
        )
    if isinstance(error, smtplib.SMTPResponseException):
        return DeliveryError(
            f"the mail server refuses the message: {error.smtp_code} {shown(error.smtp_error)}", where=where
        )
    return DeliveryError(
        f"the mail server did not answer in time or broke off ({error})",
        where=where,
        hint="check that TRACKER_SMTP_PORT and TRACKER_SMTP_SECURITY belong together",
    )


def _recipients_refused(refused: Mapping[str, tuple[int, bytes]], where: str) -> DeliveryError:
    listed = "; ".join(f"{address} ({code} {shown(answer)})" for address, (code, answer) in sorted(refused.items()))
    return DeliveryError(f"the mail server refuses these recipients: {listed}", where=where, hint="check the addresses")


def _reason(error: OSError) -> str:
    return getattr(error, "verify_message", None) or error.strerror or str(error) or type(error).__name__


def _port(environ: Mapping[str, str], default: int) -> int:
    text = environ.get("TRACKER_SMTP_PORT", "").strip()
    if not text:
        return default
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise DeliveryError(f"{text!r} is no port", where="TRACKER_SMTP_PORT", hint="use a number such as 587")
    return int(text)


def _timeout(environ: Mapping[str, str]) -> float:
    text = environ.get("TRACKER_SMTP_TIMEOUT_S", "").strip()
    if not text:
        return 20.0
    try:
        seconds = float(text)
    except ValueError as error:
        raise DeliveryError(f"{text!r} is no number of seconds", where="TRACKER_SMTP_TIMEOUT_S") from error
    if not 0 < seconds < 3600:
        raise DeliveryError(f"{text!r} is no sensible number of seconds", where="TRACKER_SMTP_TIMEOUT_S")
    return seconds
