"""Kinds of StoreError that callers inside this package tell apart."""

from __future__ import annotations

from tracker.errors import StoreError


class StoreDownError(StoreError):
    """The store does not answer; trying another run at once is pointless."""


class ContendedError(StoreError):
    """Another process wrote the same thing at the same moment; trying again finds what it wrote."""


class DamagedError(StoreError):
    """A file is not what was written."""
