"""The memo as an e-mail: text and HTML, two pictures inside, the page attached."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from email import policy
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime, getaddresses

from tracker.errors import DeliveryError
from tracker.report.charts import draw
from tracker.report.clean import clean_text
from tracker.report.jinja import environment
from tracker.report.mail_charts import png_of
from tracker.report.text import render_text
from tracker.report.view import MemoView

MAX_BODY_BYTES = 90_000  # a large mailbox provider clips bodies near 102 KB
_SUBJECT_LIMIT = 200
_SIGNS = {"faster": "▲", "slower": "▼", "undecided": "◇", "mixed": "▲▽", "nothing_new": "–"}
_HEADER_TOKEN = re.compile(r"[^A-Za-z0-9.-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One picture inside the mail."""

    cid: str
    """Content id without brackets."""
    png: bytes
    """Its bytes."""
    width: int = 640
    """Shown width in pixels."""

    @property
    def height(self) -> int:
        """Shown height in pixels, from the picture's own proportions (PNG header)."""
        wide, high = int.from_bytes(self.png[16:20], "big"), int.from_bytes(self.png[20:24], "big")
        return round(self.width * high / wide)


def compose(
    view: MemoView,
    *,
    sender: str,
    recipients: Sequence[str],
    memo_html: str,
    reply_to: str | None = None,
    date: datetime,
    message_id_domain: str,
    list_id: str | None = None,
) -> EmailMessage:
    """Return the mail of one memo; the same inputs give the same message.

    Args:
        view: The memo.
        sender: From address, `Name <name@host>` or bare.
        recipients: To addresses.
        memo_html: The page to attach.
        reply_to: Where answers go.
        date: When it is sent, with a zone.
        message_id_domain: Host part of the Message-ID.
        list_id: Name of the mailing list; None derives it from the campaign.

    Raises:
        DeliveryError: An address is malformed, no recipient is given, or the body would be clipped.
    """
    message = EmailMessage(policy=policy.SMTP)
    _address(message, view, sender, recipients, reply_to)
    _thread(message, view, date, message_id_domain, list_id)
    pictures = _pictures(view)
    html = render_mail_html(view, pictures)
    size = len(html.encode())
    if size > MAX_BODY_BYTES:
        raise DeliveryError(
            f"the mail body has {size:,} bytes, more than the {MAX_BODY_BYTES:,} that mailboxes show whole",
            hint="shorten run names and option titles",
        )
    message.set_content(render_text(view), cte="quoted-printable")
    message.add_alternative(html, subtype="html", cte="quoted-printable")
    body = message.get_payload()[1]  # type: ignore[index]
    for picture in pictures.values():
        body.add_related(  # type: ignore[union-attr]
            picture.png, "image", "png", cid=f"<{picture.cid}>", disposition="inline", filename=f"{picture.cid}.png"
        )
    message.add_attachment(
        memo_html.encode(), maintype="text", subtype="html", filename="memo.html", params={"charset": "utf-8"}
    )
    _fix_boundaries(message, view)
    return message


def render_mail_html(view: MemoView, pictures: dict[str, Picture]) -> str:
    """Return the HTML body with every style inlined; nothing is fetched."""
    import css_inline

    page = (
        environment()
        .get_template("mail.html")
        .render(view=view, strip=pictures.get("verdict"), gap=pictures.get("gap"), sign=_SIGNS.get(view.state.key, "□"))
    )
    inliner = css_inline.CSSInliner(load_remote_stylesheets=False, keep_style_tags=False)
    inlined: str = inliner.inline(page)
    return re.sub(r"\n+", "\n", inlined)


def _pictures(view: MemoView) -> dict[str, Picture]:
    found: dict[str, Picture] = {}
    if view.strip is not None and view.strip.rows:
        found["verdict"] = Picture(cid="verdict", png=png_of(draw(view.strip)))
    gap = view.mail.gap
    if gap is not None:
        found["gap"] = Picture(cid="gap", png=png_of(draw(gap.data)))
    return found


def _address(
    message: EmailMessage, view: MemoView, sender: str, recipients: Sequence[str], reply_to: str | None
) -> None:
    if not recipients:
        raise DeliveryError("no recipient is given", hint="name one with --email-to")
    message["Subject"] = _header(view.mail.subject)[:_SUBJECT_LIMIT]
    message["From"] = parse_address(sender, "sender")
    message["To"] = [parse_address(recipient, "recipient") for recipient in recipients]
    if reply_to is not None:
        message["Reply-To"] = parse_address(reply_to, "reply address")


def parse_address(text: str, what: str) -> Address:
    """Return an address; line breaks and other control characters never reach a header.

    Raises:
        DeliveryError: It is not one address.
    """
    found = getaddresses([text]) if text.isprintable() else []
    try:
        ((name, spec),) = found
        if spec.count("@") != 1:
            raise ValueError(text)
        return Address(display_name=_header(name), addr_spec=spec)
    except (ValueError, IndexError, MessageError) as error:
        raise DeliveryError(
            f"the {what} {clean_text(text)!r} is not an e-mail address", hint="write it as name@host"
        ) from error


def _header(text: str) -> str:
    return " ".join(clean_text(text).split())


def _thread(message: EmailMessage, view: MemoView, date: datetime, domain: str, list_id: str | None) -> None:
    """Add Date, Message-ID, List-Id and the headers that keep one campaign one conversation."""
    campaign = view.source.analysis.campaign.name
    slug = _HEADER_TOKEN.sub("-", campaign).strip("-") or "campaign"
    host = _HEADER_TOKEN.sub("-", domain).strip("-.") or "localhost"
    generated = view.source.context.generated_at.isoformat()
    digest = hashlib.sha256(f"{campaign}\n{generated}\n{view.headline.text}".encode()).hexdigest()[:16]
    root = f"<memo-thread-{slug}@{host}>"
    message["Date"] = format_datetime(date)
    message["Message-ID"] = f"<memo-{slug}-{digest}@{host}>"
    message["In-Reply-To"] = root
    message["References"] = root
    listing = _HEADER_TOKEN.sub("-", list_id).strip("-.") if list_id else f"{slug}.memos.{host}"
    message["List-Id"] = f"Decision memos <{listing}>"
    message["Auto-Submitted"] = "auto-generated"
    message["X-Tracker-Experiment"] = _header(campaign)


def _fix_boundaries(message: EmailMessage, view: MemoView) -> None:
    """Give every multipart a boundary derived from the memo, so that equal inputs give equal bytes."""
    seed = hashlib.sha256(view.headline.text.encode()).hexdigest()[:24]
    for index, part in enumerate(message.walk()):
        if part.is_multipart():
            part.set_boundary(f"=_{seed}_{index}")
