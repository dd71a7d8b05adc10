"""Getting a message to its readers: SMTP, a local command, and an outbox for what could not be sent."""

from tracker.delivery.outbox import Resent, Waiting, keep, resend, waiting
from tracker.delivery.smtp import SmtpSettings, send, sender_from, settings_from

__all__ = ["Resent", "SmtpSettings", "Waiting", "keep", "resend", "send", "sender_from", "settings_from", "waiting"]
