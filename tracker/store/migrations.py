"""Old layouts of stored records brought up to date, one step at a time, on plain dictionaries.

A change of layout raises `SCHEMA_VERSION` in `tracker.domain.record`, adds `migrate_N_to_M` here and to `MIGRATIONS`,
and saves a record of the old layout in `tests/store/data`. A field added with a default needs no step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tracker.errors import StoreError

Document = dict[str, Any]
Migration = Callable[[Document], Document]

MIGRATIONS: Mapping[int, Migration] = {}
"""`{N: migrate_N_to_N+1}`; empty because layout 1 is the first one."""


def migrate(document: Document, *, migrations: Mapping[int, Migration], current: int, where: str) -> Document:
    """Return the document in the current layout.

    Args:
        document: Decoded JSON with its `schema_version`.
        migrations: Steps by the version they start from.
        current: The version this package writes.
        where: File or run the document came from, for the message.

    Raises:
        StoreError: No version, an unknown one, or one newer than `current`.
    """
    version = document.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool):
        raise StoreError(
            "the record has no schema_version number",
            where=where,
            hint="It was not written by tracker, or is damaged; log the original input again",
        )
    if version > current:
        raise StoreError(
            f"the record has layout {version}, this tracker knows layouts up to {current}",
            where=where,
            hint="Upgrade tracker on this machine: a newer one wrote the record",
        )
    while version < current:
        if version not in migrations:
            raise StoreError(
                f"no migration leads from record layout {version}", where=where, hint="Log the original input again"
            )
        document = migrations[version](document)
        version += 1
        document["schema_version"] = version
    return document
