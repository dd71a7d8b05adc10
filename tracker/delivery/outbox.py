"""Messages that could not be sent, kept as files until they can."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

from tracker.delivery.retry import PartlyDeliveredError, only_to
from tracker.errors import DeliveryError


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """One message in the outbox."""

    path: Path
    """Its file."""
    message: EmailMessage
    """The message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resent:
    """What came of one try to send a waiting message."""

    path: Path
    """Its file; gone where it was sent."""
    subject: str
    """Its subject."""
    error: DeliveryError | None
    """Why it still waits; None: sent."""


def keep(message: EmailMessage, folder: Path) -> Path:
    """Return the file a message is kept in; the same message is kept once.

    The file appears whole or not at all: it is written beside its place, flushed to the disk and renamed.

    Raises:
        DeliveryError: The folder cannot be written.
    """
    content = message.as_bytes(policy=policy.SMTP)
    path = folder / f"{hashlib.sha256(str(message['Message-ID'] or content).encode()).hexdigest()[:20]}.eml"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".", suffix=".part", delete=False) as part:
            part.write(content)
            part.flush()
            os.fsync(part.fileno())
        Path(part.name).replace(path)
    except OSError as error:
        raise DeliveryError(
            f"the unsent message cannot be kept ({error.strerror or error})",
            where=str(folder),
            hint="make room or choose another folder, then run the report again",
        ) from error
    return path


def waiting(folder: Path) -> tuple[Waiting, ...]:
    """Return the messages in the outbox, oldest first; an empty or missing folder has none."""
    if not folder.is_dir():
        return ()
    paths = sorted(folder.glob("*.eml"), key=lambda path: (path.stat().st_mtime_ns, path.name))
    return tuple(Waiting(path=path, message=_read(path)) for path in paths)


def resend(folder: Path, send: Callable[[EmailMessage], None]) -> tuple[Resent, ...]:
    """Return what came of sending every waiting message; a message leaves the outbox only once it is sent.

    Args:
        folder: The outbox.
        send: Sends one message or raises DeliveryError.
    """
    results = []
    for item in waiting(folder):
        error: DeliveryError | None = None
        try:
            send(item.message)
        except DeliveryError as refusal:
            error = refusal
            if isinstance(refusal, PartlyDeliveredError):
                only_to(item.message, refusal.refused)
                if keep(item.message, folder) != item.path:  # a message without a Message-ID has another name now
                    item.path.unlink(missing_ok=True)
        else:
            item.path.unlink(missing_ok=True)
        results.append(Resent(path=item.path, subject=str(item.message["Subject"]), error=error))
    return tuple(results)


def _read(path: Path) -> EmailMessage:
    try:
        parsed = message_from_bytes(path.read_bytes(), policy=policy.SMTP)
    except OSError as error:
        raise DeliveryError(f"a waiting message cannot be read ({error.strerror})", where=str(path)) from error
    if not isinstance(parsed, EmailMessage):  # the SMTP policy builds nothing else
        raise DeliveryError("a waiting message is no message", where=str(path), hint="delete the file")
    return parsed
