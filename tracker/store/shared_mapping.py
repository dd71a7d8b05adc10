"""A read-only mapping that shares most of its content with others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class SharedMapping(Mapping[str, Any]):
    """A mapping told by another one and what differs: ten thousand servers' arguments in the memory of a few."""

    __slots__ = ("_base", "_changed")

    def __init__(self, base: Mapping[str, Any], changed: Mapping[str, Any]) -> None:
        """Tell a mapping.

        Args:
            base: Mapping with the same keys, in the order to keep.
            changed: Keys of `base` whose values differ.
        """
        self._base = base
        self._changed = changed

    def __getitem__(self, key: str) -> Any:
        return self._changed[key] if key in self._changed else self._base[key]

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a key; Mapping's own way over exceptions takes ten times as long."""
        return self._changed[key] if key in self._changed else self._base.get(key, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._base)

    def __len__(self) -> int:
        return len(self._base)

    def __contains__(self, key: object) -> bool:
        return key in self._base

    def __repr__(self) -> str:
        return repr(dict(self))
