"""Mailing a memo: settings, composing, sending, and the outbox for what could not be sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from email.utils import parseaddr
from pathlib import Path

from tracker import delivery, report
from tracker.delivery import sendmail
from tracker.errors import DeliveryError
from tracker.workflows.session import Session

OUTBOX = "outbox"
COMMAND_VARIABLE = "TRACKER_SENDMAIL"
DRY_RUN_SENDER = "tracker@localhost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """How this call's mail is sent, and to whom."""

    recipients: tuple[str, ...]
    """To addresses."""
    sender: str
    """From address."""
    outbox: Path
    """Folder of messages that wait."""
    deliver: Callable[[EmailMessage], None]
    """Sends one message or raises DeliveryError."""

    @classmethod
    def of(cls, recipients: tuple[str, ...], session: Session, *, dry_run: bool = False) -> Post:
        """Return the post as the environment sets it up.

        Raises:
            DeliveryError: No sender or no way to send is set.
        """
        if dry_run:
            sender = session.environ.get("TRACKER_MAIL_FROM") or DRY_RUN_SENDER
        else:
            sender = delivery.sender_from(session.environ)
        return cls(
            recipients=recipients,
            sender=sender,
            outbox=session.data_folder / OUTBOX,
            deliver=_nowhere if dry_run else way_to_send(session),
        )

    def compose(self, view: report.MemoView, *, memo_html: str, date: datetime) -> EmailMessage:
        """Return the mail of one memo."""
        domain = parseaddr(self.sender)[1].rpartition("@")[2] or "localhost"
        return report.compose(
            view,
            sender=self.sender,
            recipients=self.recipients,
            memo_html=memo_html,
            date=date,
            message_id_domain=domain,
        )

    def send(self, message: EmailMessage) -> DeliveryError | None:
        """Send a message; what cannot be sent goes to the outbox, and the error is returned."""
        try:
            self.deliver(message)
        except DeliveryError as error:
            partly = isinstance(error, delivery.PartlyDeliveredError)
            if isinstance(error, delivery.PartlyDeliveredError):
                delivery.only_to(message, error.refused)
            kept = delivery.keep(message, self.outbox)
            later = f"run `tracker report --resend` (it waits in {kept})"
            return DeliveryError(
                f"the memo is written but was not mailed{' to all' if partly else ''}: {error.message}",
                where=error.where,
                hint=f"{error.hint}; then {later}" if error.hint else f"R{later[1:]}",
            )
        return None


def way_to_send(session: Session) -> Callable[[EmailMessage], None]:
    """Return what sends a message: TRACKER_SENDMAIL names a local command, else the SMTP server of TRACKER_SMTP_*.

    Raises:
        DeliveryError: Neither is set, or a setting cannot be read.
    """
    command = session.environ.get(COMMAND_VARIABLE, "").split()
    if command:
        return lambda message: sendmail.send(message, command)
    settings = delivery.settings_from(session.environ)
    return delivery.with_retries(lambda message: delivery.send(message, settings), sleep=session.sleep)


def resend(session: Session) -> tuple[delivery.Resent, ...]:
    """Send every message that waits in the outbox and return what came of each.

    Raises:
        DeliveryError: No way to send is set.
    """
    folder = session.data_folder / OUTBOX
    if not delivery.waiting(folder):
        return ()
    return delivery.resend(folder, way_to_send(session))


def _nowhere(message: EmailMessage) -> None:
    """Send nothing: a dry run."""
