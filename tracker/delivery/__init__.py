"""Getting a message to its readers: SMTP, a local command, tries again, and an outbox for what could not be sent."""

from tracker.delivery.outbox import Resent, Waiting, keep, resend, waiting
from tracker.delivery.retry import PartlyDeliveredError, PassingDeliveryError, only_to, with_retries
from tracker.delivery.smtp import SmtpSettings, reach, send, sender_from, settings_from

__all__ = [
    "PartlyDeliveredError",
    "PassingDeliveryError",
    "Resent",
    "SmtpSettings",
    "Waiting",
    "keep",
    "only_to",
    "reach",
    "resend",
    "send",
    "sender_from",
    "settings_from",
    "waiting",
    "with_retries",
]
