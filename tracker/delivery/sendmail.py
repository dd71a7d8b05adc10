"""Sending through a local command in the manner of sendmail."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from email import policy
from email.message import EmailMessage

from tracker.delivery.retry import recipients_of, shown, unmarked
from tracker.errors import DeliveryError

DEFAULT_COMMAND = ("/usr/sbin/sendmail", "-i")


def send(message: EmailMessage, command: Sequence[str] = DEFAULT_COMMAND, *, timeout_s: float = 60.0) -> None:
    """Hand a message to a local command: recipients as arguments, the message on its standard input.

    Args:
        message: The message.
        command: Program and its arguments, as a list; no shell is involved.
        timeout_s: Longest wait.

    Raises:
        DeliveryError: The command is missing, takes too long, or ends with an error.
    """
    if not command:
        raise DeliveryError("no mail command is given", hint="name one, such as /usr/sbin/sendmail -i")
    recipients = recipients_of(message)
    # `--` ends the options, so that no address can be taken for one.
    arguments = [*command, "--", *recipients]
    try:
        done = subprocess.run(
            arguments,
            input=unmarked(message).as_bytes(policy=policy.SMTP.clone(linesep="\n")),
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except FileNotFoundError as error:
        raise DeliveryError(
            "the mail command does not exist", where=command[0], hint="install it, or use an SMTP server"
        ) from error
    except PermissionError as error:
        raise DeliveryError("the mail command cannot be run", where=command[0], hint="check its permissions") from error
    except subprocess.TimeoutExpired as error:
        raise DeliveryError(
            f"the mail command did not finish in {timeout_s:.0f} seconds",
            where=command[0],
            hint="look at the local mail queue",
        ) from error
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise DeliveryError(
            f"the mail command ended with code {done.returncode}{f': {shown(said[-1])}' if said else ''}",
            where=command[0],
        )
