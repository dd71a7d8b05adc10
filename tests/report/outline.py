"""The structure of a page: landmarks, headings, figures, tables, links; what a golden file holds of an HTML page."""

from __future__ import annotations

from html.parser import HTMLParser

_VOID = {"meta", "link", "br", "img", "input", "hr"}
_SHOWN = {"header", "main", "footer", "section", "h1", "h2", "figure", "table", "tr", "dl", "pre", "title", "desc"}
_TEXT = {"h1", "h2", "caption", "th", "td", "dt", "dd", "pre", "title", "desc", "figcaption"}


class Outline(HTMLParser):
    """Collects one line for each part of the page that carries structure."""

    def __init__(self) -> None:
        """Start empty."""
        super().__init__(convert_charrefs=True)
        self.lines: list[str] = []
        self.stack: list[str] = []
        self.texts: list[tuple[str, list[str]]] = []
        self.skip = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag in ("style", "script"):
            self.skip += 1
        if tag in _SHOWN or tag in _TEXT:
            name = values.get("id")
            depth = sum(1 for open_tag in self.stack if open_tag in _SHOWN)
            self.lines.append(f"{'  ' * depth}{tag}{f'#{name}' if name else ''}")
            if tag in _TEXT:
                self.texts.append((tag, []))
        if tag not in _VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack
        assert self.stack[-1] == tag, f"{tag} closes {self.stack[-1]}"
        self.stack.pop()
        if tag in ("style", "script"):
            self.skip -= 1
        if tag in _TEXT:
            _, parts = self.texts.pop()
            text = " ".join("".join(parts).split())
            if self.texts:
                self.texts[-1][1].append(text)
            else:
                self.lines.append(f"{'  ' * sum(1 for t in self.stack if t in _SHOWN)}  | {text}")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("title", "desc"):
            raise AssertionError("a title may not be empty")

    def handle_data(self, data: str) -> None:
        if self.texts and not self.skip:
            self.texts[-1][1].append(data)


def outline(page: str) -> str:
    """Return the structure of a page, one part a line; a tag that is closed wrongly fails."""
    parser = Outline()
    parser.feed(page)
    parser.close()
    assert not parser.stack, parser.stack
    return "\n".join(parser.lines) + "\n"


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.skip: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        ticks = tag == "text" and "tick" in (dict(attrs).get("class") or "").split()
        if tag in ("style", "script", "head") or ticks:
            self.skip.append(tag)
        self.parts.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if self.skip and self.skip[-1] == tag:
            self.skip.pop()
        self.parts.append(" ")

    def handle_data(self, data: str) -> None:
        if not self.skip:
            self.parts.append(data)


def visible_text(page: str) -> str:
    """Return the text of a page without axis ticks, style and head."""
    parser = _Text()
    parser.feed(page)
    return " ".join("".join(parser.parts).split())
