"""Text from outside on a terminal: a run's name may hold what moves the cursor or turns words around."""

from __future__ import annotations

_KEPT = frozenset("\n\t")


def printable(text: str, *, kept: frozenset[str] = _KEPT) -> str:
    """Return text that cannot steer a terminal: what is not printable is shown as Python writes it.

    Args:
        text: Text from anywhere.
        kept: Characters to leave; line ends and tabs by default.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in kept else repr(char)[1:-1] for char in text)
