"""Colours: every text on every ground it is set on reaches WCAG AA, computed from the style sheets."""

from __future__ import annotations

import re

import pytest

from tracker.resources import template_dir

TEXT_AA, GRAPHIC_AA = 4.5, 3.0
# text role, ground
TEXTS = [
    *(("ink", "paper"), ("ink", "panel"), ("soft", "paper"), ("soft", "panel"), ("blue", "paper"), ("blue", "panel")),
    *(("orange", "paper"), ("orange", "panel"), ("ink", "blue-t"), ("ink", "orange-t")),
]
GRAPHICS = [("mark", "paper"), ("blue", "paper"), ("orange", "paper"), ("ink", "paper")]


def _palettes() -> dict[str, dict[str, str]]:
    css = (template_dir() / "memo.css").read_text(encoding="utf-8")
    roots = re.findall(r":root\{(.*?)\}", css, flags=re.DOTALL)
    colours = [dict(re.findall(r"--([a-z-]+):(#[0-9a-f]{3,6})", root)) for root in roots]
    assert len(colours) == 3, "light, dark and print"
    return dict(zip(("light", "dark", "print"), colours, strict=True))


def _luminance(colour: str) -> float:
    digits = colour.lstrip("#")
    if len(digits) == 3:
        digits = "".join(char * 2 for char in digits)
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    """Contrast ratio by WCAG 2.2."""
    high, low = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", ["light", "dark", "print"])
@pytest.mark.parametrize(("text", "ground"), TEXTS)
def test_text_is_readable(palette: str, text: str, ground: str) -> None:
    colours = _palettes()[palette]

    assert contrast(colours[text], colours[ground]) >= TEXT_AA


@pytest.mark.parametrize("palette", ["light", "dark", "print"])
@pytest.mark.parametrize(("mark", "ground"), GRAPHICS)
def test_marks_are_visible(palette: str, mark: str, ground: str) -> None:
    colours = _palettes()[palette]

    assert contrast(colours[mark], colours[ground]) >= GRAPHIC_AA


def test_mail_text_is_readable() -> None:
    css = (template_dir() / "mail.css").read_text(encoding="utf-8")
    page = (template_dir() / "mail.html").read_text(encoding="utf-8")
    light = dict(re.findall(r"\.(tx|sf|or|bl)\{color:(#[0-9a-f]{6})\}", css))
    dark = dict(re.findall(r"\.(tx|sf|or|bl)\{color:(#[0-9a-f]{6})!important\}", page))

    assert set(light) == set(dark) == {"tx", "sf", "or", "bl"}
    assert min(contrast(colour, ground) for colour in light.values() for ground in ("#ffffff", "#f4f6f7")) >= TEXT_AA
    assert min(contrast(colour, ground) for colour in dark.values() for ground in ("#121517", "#1b2024")) >= TEXT_AA


def test_known_ratio_is_computed_right() -> None:
    assert contrast("#000", "#fff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
