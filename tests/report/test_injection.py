"""Names, notes and flags come from anywhere; none of them becomes markup, script, template, header or direction."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime
from email import message_from_bytes, policy
from html.parser import HTMLParser

import pytest

from tests.report.founding import context, founding
from tests.report.founding_options import founding_decision
from tests.report.outline import outline, visible_text
from tracker.domain.finding import Finding
from tracker.errors import DeliveryError
from tracker.report import MemoView, build, compose, render_explore, render_html, render_json, render_text
from tracker.report.clean import clean_text, safe_url

EVIL = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }}{% raw %}",
    "a\r\nBcc: thief@example.com\r\n\r\nbody",
    "abc\u202egpj.exe\u2066",
    "</title></style></svg>&#60;b&#62;",
    "$x^2$ \\frac & ' `",
)
NAME = " ".join(EVIL)


class Elements(HTMLParser):
    """Collects the elements of a page, what they load and what they run."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.sources: list[str] = []
        self.handlers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.sources += [value or "" for name, value in attrs if name == "src"]
        self.handlers += [name for name, _ in attrs if name.startswith("on")]


@pytest.fixture(scope="module")
def evil() -> MemoView:
    """A memo in which every foreign text is hostile."""
    source = founding()
    finding = Finding(
        code="ALGO_MISMATCH_EAGLE_FOR_EAGLE3",
        severity="error",
        message=NAME,
        fix=NAME,
        voids=("acceptance",),
        flag_before=f"--flag {NAME}",
        flag_after=f"--flag3 {NAME}",
    )
    assert source.root_cause is not None
    points = tuple(
        dataclasses.replace(
            point,
            name=f"{point.name} {NAME}",
            drafter=NAME if point.drafter else None,
            excluded_reason=NAME if point.excluded_reason else None,
            configuration=dataclasses.replace(point.configuration, other_flags={"mode": NAME}),
        )
        for point in source.points
    )
    analysis = dataclasses.replace(
        source,
        points=points,
        campaign=dataclasses.replace(source.campaign, title=NAME, deployed=NAME, name=NAME),
        root_cause=dataclasses.replace(source.root_cause, finding=finding),
        verdict=dataclasses.replace(source.verdict, scope=NAME, population_note=NAME),
        data_quality=(dataclasses.replace(source.data_quality[0], topic=NAME, message=NAME),),
    )
    decision = founding_decision()
    options = tuple(dataclasses.replace(option, title=NAME, evidence=NAME) for option in decision.options)
    assert decision.next_experiment is not None
    experiment = dataclasses.replace(decision.next_experiment, title=NAME, why=NAME, flags=(NAME,))
    decision = dataclasses.replace(decision, options=options, next_experiment=experiment)
    urls = {point.run_id: f"javascript:alert('{point.run_id}')" for point in points}
    return build(analysis, decision, context(run_urls=urls, tracking_url="javascript:alert(2)"))


def test_page_stays_one_page_without_script(evil: MemoView) -> None:
    page = render_html(evil)

    outline(page)  # fails where a tag was opened or closed by a name
    assert "<script" not in page.lower()
    assert "<img" not in page.lower()
    assert "javascript:" not in page.lower()
    assert page.lower().count("<title>") == 1
    assert "{{ 7 * 7 }}{% raw %}" in visible_text(page)


def test_direction_marks_are_shown_not_obeyed(evil: MemoView) -> None:
    for text in (render_html(evil), render_text(evil), render_json(evil), render_explore(evil).decode()[-200_000:]):
        assert "\u202e" not in text
        assert "\u2066" not in text
    assert "⟨U+202E⟩" in render_text(evil)


def test_explorer_data_cannot_leave_their_script_element(evil: MemoView) -> None:
    page = render_explore(evil).decode()
    data = page.split('id="figures">', 1)[1].split("</script>", 1)[0]

    figures = json.loads(data)
    assert "<" not in data
    assert page.count("<script") == page.count("</script>")
    labels = json.dumps(figures)
    assert "&lt;script&gt;" in labels
    assert "<script>alert" not in page.split("plotly.js", 1)[0]


def test_mail_headers_take_no_line_breaks(evil: MemoView) -> None:
    message = compose(
        evil,
        sender='"A, B" <memo@tracker.example>',
        recipients=["lead@example.com"],
        memo_html=render_html(evil),
        reply_to="team@example.com",
        date=datetime(2026, 11, 30, 8, tzinfo=UTC),
        message_id_domain="tracker.example\r\nX-Evil: 1",
        list_id="list\r\nX-Evil: 1",
    )
    parsed = message_from_bytes(message.as_bytes(), policy=policy.default)

    assert parsed["Bcc"] is None
    assert parsed["X-Evil"] is None
    assert [address.addr_spec for address in parsed["To"].addresses] == ["lead@example.com"]
    html = parsed.get_body(("html",))
    assert html is not None
    elements = Elements()
    elements.feed(html.get_content())
    assert "script" not in elements.tags
    assert [source for source in elements.sources if not source.startswith("cid:")] == []
    assert elements.tags.count("img") == 2
    assert elements.handlers == []


@pytest.mark.parametrize(
    "address", ["a@b\r\nBcc: c@d", "no address", "a@b@c", "", "a@b, c@d", "<>", "a b@c", "x@y\nz", "@host", "a@"]
)
def test_malformed_address_is_refused(evil: MemoView, address: str) -> None:
    with pytest.raises(DeliveryError, match="is not an e-mail address"):
        compose(
            evil,
            sender="memo@tracker.example",
            recipients=[address],
            memo_html="",
            date=datetime(2026, 11, 30, tzinfo=UTC),
            message_id_domain="tracker.example",
        )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("a\r\nb", "a  b"),
        ("\x00\u200b\u2028", "⟨U+0000⟩⟨U+200B⟩⟨U+2028⟩"),
        ("Grüße −1 ×", "Grüße −1 ×"),
    ],
)
def test_invisible_characters_are_shown(text: str, expected: str) -> None:
    assert expected == clean_text(text)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://host/a?b#c", "https://host/a?b#c"),
        ("http://host", "http://host"),
        ("javascript:alert(1)", None),
        ("file:///etc/passwd", None),
        ("https://host/ a", None),
        ("https://host/\n", None),
        (None, None),
    ],
)
def test_links_lead_to_web_pages_only(url: str | None, expected: str | None) -> None:
    assert expected == safe_url(url)
