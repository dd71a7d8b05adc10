"""Every state of the memo has golden files; `pytest tests/report --update-golden` writes them anew."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from email.message import EmailMessage

from tests.report.examples import MEMOS
from tests.report.outline import outline
from tracker.report import MemoView, compose, render_html, render_json, render_text

Golden = Callable[[str, str], None]


def test_json_is_as_agreed(memo: tuple[str, MemoView], golden: Golden) -> None:
    name, view = memo

    golden(f"{name}/memo.json", render_json(view))


def test_text_reads_as_agreed(memo: tuple[str, MemoView], golden: Golden) -> None:
    name, view = memo

    golden(f"{name}/memo.txt", render_text(view))


def test_page_has_the_agreed_structure(memo: tuple[str, MemoView], golden: Golden) -> None:
    name, view = memo

    golden(f"{name}/memo.outline", outline(render_html(view)))


def test_mail_has_the_agreed_parts_and_words(memo: tuple[str, MemoView], golden: Golden) -> None:
    name, view = memo

    message = compose(
        view,
        sender="Tracker <memo@tracker.example>",
        recipients=["lead@example.com"],
        memo_html=render_html(view),
        date=datetime(2026, 11, 30, 8, tzinfo=UTC),
        message_id_domain="tracker.example",
    )

    golden(f"{name}/mail.txt", _describe(message))


def test_same_view_gives_the_same_bytes(memo: tuple[str, MemoView]) -> None:
    name, view = memo
    again = MEMOS[name]()

    assert render_html(view) == render_html(again)
    assert render_json(view) == render_json(again)
    assert render_text(view) == render_text(again)


def _describe(message: EmailMessage) -> str:
    names = ("Subject", "From", "To", "Date", "Message-ID", "In-Reply-To", "References", "List-Id", "Auto-Submitted")
    lines = [f"{name}: {message[name]}" for name in names]
    for part in message.walk():
        kind = part.get_content_type()
        lines.append(f"[{kind}] cid={part['Content-ID']} file={part.get_filename()}")
        if kind == "text/html" and part.get_filename() is None:
            lines.append(outline(part.get_content()))
    return "\n".join(lines) + "\n"
