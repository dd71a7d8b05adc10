"""Corrections of a run as tags that are only ever added: two people who correct one run at the same moment both stay.

`record.json` stays as it was logged. Every correction is a tag of its own, `tracker.amendment.<number>.<digest>`, with
who, when, why and what as JSON; a record read back is the one logged with all of them applied. The number is one more
than those its author knew of; of two with the same number the digest decides, so that all readers agree on the order.
Runs corrected by an early tracker, or copied from another store, hold corrections in `record.json` already; these come
first.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from tracker.domain.record import Amendment, RunRecord
from tracker.errors import InputError, StoreError
from tracker.store.amending import TAG_PREFIX, apply_amendment
from tracker.store.codec import decode_amendment, encode_amendment
from tracker.store.mlflow_names import MAX_TAG, Names

PREFIX = "tracker.amendment."
AMENDMENTS = "tracker.amendments"
"""Tag: how many corrections a run has. By it they are found among thousands of runs that have none."""
KEY = re.compile(rf"{re.escape(PREFIX)}(?P<number>\d+)\.(?P<digest>[0-9a-f]{{12}})(?:\.(?P<part>\d+))?")
DIGEST_CHARACTERS = 12
AMENDABLE_TAGS = ("validity", "validity_reason", "tracker.role", "tracker.name", "tracker.supersedes")
"""Tags of a run's projection that a correction can make or remove; those of the user come on top."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A correction as the tags of a run hold it."""

    number: int
    """Its place among the corrections, from 1."""
    digest: str
    """Of its content; decides between two of one number."""
    amendment: Amendment
    """The correction."""


def amendment_tags(amendment: Amendment, tags: Mapping[str, str]) -> dict[str, str]:
    """Return the tags that add a correction to a run which has `tags`, in parts where one tag is too short.

    None where the run has this very correction already: a request repeated after a broken connection adds nothing.
    """
    text = encode_amendment(amendment).decode()
    digest = hashlib.sha256(text.encode()).hexdigest()[:DIGEST_CHARACTERS]
    known = kept_in(tags)
    if any(kept.digest == digest for kept in known):
        return {}
    number = 1 + max((kept.number for kept in known), default=0)
    key = f"{PREFIX}{number:04}.{digest}"
    count = {AMENDMENTS: str(1 + len(known))}
    parts = [text[start : start + MAX_TAG] for start in range(0, len(text), MAX_TAG)]
    if len(parts) == 1:
        return {key: text, **count}
    return {f"{key}.{place}": part for place, part in enumerate(parts, start=1)} | count


def kept_in(tags: Mapping[str, str]) -> tuple[Kept, ...]:
    """Return the corrections that a run's tags hold, in the order in which they apply.

    One whose parts are not all there yet is still being written, and not counted.

    Raises:
        StoreError: Written by a newer tracker.
    """
    parts: dict[tuple[int, str], dict[int, str]] = {}
    for key, value in tags.items():
        if (match := KEY.fullmatch(key)) is not None:
            place = (int(match["number"]), match["digest"])
            parts.setdefault(place, {})[int(match["part"] or 1)] = value
    found = []
    for (number, digest), texts in sorted(parts.items()):
        content = "".join(texts[part] for part in sorted(texts)).encode()
        if hashlib.sha256(content).hexdigest()[:DIGEST_CHARACTERS] == digest:
            amendment = decode_amendment(content, where=f"tag {PREFIX}{number:04}.{digest}")
            found.append(Kept(number=number, digest=digest, amendment=amendment))
    return tuple(found)


def amended(record: RunRecord, tags: Mapping[str, str]) -> RunRecord:
    """Return the record with the corrections that a run's tags hold applied.

    Raises:
        StoreError: One of them cannot be applied: it was written by a newer tracker.
    """
    for kept in kept_in(tags):
        try:
            record = apply_amendment(record, kept.amendment)
        except InputError as error:
            raise StoreError(
                f"a correction of the run cannot be read: {error}",
                where=f"tag {PREFIX}{kept.number:04}.{kept.digest}",
                hint="Upgrade tracker on this machine: a newer one wrote it",
            ) from error
    return record


def touched_tags(record: RunRecord) -> frozenset[str]:
    """Return the keys of all tags that the corrections of a record can have made or removed."""
    names = Names()
    keys = (key for amendment in record.amendments for key in amendment.changes if key.startswith(TAG_PREFIX))
    return frozenset((*AMENDABLE_TAGS, *(names.key(f"user.{key.removeprefix(TAG_PREFIX)}") for key in keys)))
