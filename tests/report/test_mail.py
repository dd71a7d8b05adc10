"""The mail: parts, sizes, inlined styles, pictures by content id, threading."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest

from tests.report.examples import MEMOS
from tracker.errors import DeliveryError
from tracker.report import MemoView, compose, render_html

DATE = datetime(2026, 11, 30, 8, tzinfo=UTC)


def mail(view: MemoView, **changes: object) -> EmailMessage:
    """The mail of a memo, parsed back from its bytes."""
    values: dict[str, object] = {
        "sender": "Tracker <memo@tracker.example>",
        "recipients": ["lead@example.com", "Ops <ops@example.com>"],
        "memo_html": render_html(view),
        "date": DATE,
        "message_id_domain": "tracker.example",
    }
    message = compose(view, **(values | changes))  # type: ignore[arg-type]
    parsed = message_from_bytes(message.as_bytes(), policy=policy.default)
    assert isinstance(parsed, EmailMessage)
    return parsed


@pytest.fixture(scope="module")
def founding_mail() -> EmailMessage:
    """The founding memo as a mail."""
    return mail(MEMOS["founding"]())


def body(message: EmailMessage) -> str:
    """The HTML body."""
    part = message.get_body(("html",))
    assert part is not None
    return str(part.get_content())


def test_parts_nest_as_mail_programs_expect(founding_mail: EmailMessage) -> None:
    kinds = [part.get_content_type() for part in founding_mail.walk()]

    assert kinds == [
        *("multipart/mixed", "multipart/alternative", "text/plain", "multipart/related", "text/html"),
        *("image/png", "image/png", "text/html"),
    ]


def test_pictures_are_found_by_content_id_and_have_size_and_words(founding_mail: EmailMessage) -> None:
    page = body(founding_mail)
    cids = {str(part["Content-ID"]).strip("<>") for part in founding_mail.walk() if part["Content-ID"]}
    images = re.findall(r"<img [^>]+>", page)

    assert cids == set(re.findall(r'src="cid:([^"]+)"', page)) == {"verdict", "gap"}
    for image in images:
        assert re.search(r'width="640"', image)
        assert re.search(r'height="\d+"', image)
        alt = re.search(r'alt="([^"]+)"', image)
        assert alt is not None
        assert re.search(r"\d\.\d", alt.group(1)), "the words of a picture carry its values"


def test_pictures_are_1280_pixels_wide(founding_mail: EmailMessage) -> None:
    for part in founding_mail.walk():
        if part.get_content_type() == "image/png":
            png = part.get_content()
            assert int.from_bytes(png[16:20], "big") == 1280
            assert len(png) < 120_000


def test_styles_are_inlined_and_nothing_is_fetched(founding_mail: EmailMessage) -> None:
    page = body(founding_mail)
    without_dark = re.sub(r"<style.*?</style>", "", page, flags=re.DOTALL)

    assert page.count("<style") == 1
    assert "prefers-color-scheme:dark" in page
    assert "var(--" not in page
    assert 'style="' in without_dark
    assert not re.search(r'(?:src|href)="(?!cid:|https?://mlflow\.example)', page)
    assert not re.search(r"url\(|@import|<script|<link", page)


def test_body_stays_below_what_mailboxes_clip(memo: tuple[str, MemoView]) -> None:
    _, view = memo
    page = body(mail(view))
    tables = re.findall(r'<table class="grid".*?</table>', page, flags=re.DOTALL)

    assert len(page.encode()) < 90_000
    assert sum(table.count("<tr") for table in tables) <= 20


def test_memo_travels_whole_as_attachment(founding_mail: EmailMessage) -> None:
    attachments = list(founding_mail.iter_attachments())

    assert [part.get_filename() for part in attachments] == ["memo.html"]
    assert attachments[0].get_content().strip() == render_html(MEMOS["founding"]()).strip()


def test_text_part_is_the_text_version(founding_mail: EmailMessage) -> None:
    part = founding_mail.get_body(("plain",))

    assert part is not None
    assert "Go back to the plain server" in part.get_content()
    assert "Asked of you:" in part.get_content()


def test_memos_of_one_campaign_stay_one_conversation(founding_mail: EmailMessage) -> None:
    second = mail(MEMOS["second"]())
    other = mail(MEMOS["h200"]())

    assert founding_mail["References"] == second["References"] != other["References"]
    assert founding_mail["Message-ID"] != second["Message-ID"]
    assert founding_mail["List-Id"] == second["List-Id"] == "Decision memos <kimi-k2.5-eagle3.memos.tracker.example>"
    assert founding_mail["Date"].datetime == DATE


def test_reply_to_and_list_can_be_named() -> None:
    message = mail(MEMOS["one_run"](), reply_to="team@example.com", list_id="memos.example.com")

    assert message["Reply-To"] == "team@example.com"
    assert message["List-Id"] == "Decision memos <memos.example.com>"


def test_same_inputs_give_the_same_bytes() -> None:
    view = MEMOS["founding"]()

    assert mail(view).as_bytes() == mail(view).as_bytes()


def test_no_recipient_is_an_error_with_advice() -> None:
    with pytest.raises(DeliveryError, match="no recipient") as caught:
        mail(MEMOS["one_run"](), recipients=[])

    assert caught.value.hint == "name one with --email-to"


def test_memo_without_comparison_sends_no_empty_picture() -> None:
    message = mail(MEMOS["no_baseline"]())

    assert [part for part in message.walk() if part.get_content_type() == "image/png"] == []
    assert "<img" not in body(message)
