"""Walking a view: every span, in reading order."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cache
from typing import Any

from tracker.report.spans import Span
from tracker.report.view import MemoSource, MemoView
from tracker.report.view_parts import Block, Folded


def spans_of(view: MemoView) -> Iterator[Span]:
    """Yield every span of the view, those inside figures, tables and the mail included."""
    yield from _walk(view)


def blocks_of(view: MemoView) -> Iterator[Block]:
    """Yield every block of the view, those that are folded away included."""
    for section in view.sections:
        for block in section.blocks:
            yield from unfolded(block)


def unfolded(block: Block) -> Iterator[Block]:
    """Yield a block, or what is folded away in it."""
    if isinstance(block, Folded):
        for inner in block.blocks:
            yield from unfolded(inner)
    else:
        yield block


def _walk(value: Any) -> Iterator[Span]:
    if isinstance(value, Span):
        yield value
    elif isinstance(value, MemoSource):
        return
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for name in _fields(type(value)):
            yield from _walk(getattr(value, name))
    elif isinstance(value, tuple):
        for item in value:
            yield from _walk(item)


@cache
def _fields(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))
