"""What a machine has read of one campaign: which runs there are, as of which moment, and their records.

Records lie in segments, which stay packed in memory as they are in their files and are opened one at a time: ten
thousand of them are 9 MB, and 75 opened.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from tracker.domain.record import RunRecord
from tracker.errors import StoreError
from tracker.store.cache_files import (
    content_name,
    pack,
    read_file,
    read_packed,
    remove_orphans,
    unpack,
    write_file,
    write_packed,
)
from tracker.store.mlflow_projection import sortable
from tracker.store.record_columns import Columns, Writer, contents, records

INDEX = "index"
RUNS_A_SEGMENT = 1000
# Segments less than half full are written anew together when there are more of them than this.
MOST_LOOSE = 12
# Records that were replaced or deleted stay in their file until they are this much of all.
MOST_DEAD_FRACTION = 0.5


class Row(msgspec.Struct, array_like=True, frozen=True):
    """One run of the campaign."""

    sha256: str
    """SHA-256 of its record.json."""
    changed_at: str | None
    """Its tag `tracker.changed_at`; None where the tags were not read."""
    is_settled: bool
    """Whether the tags named the digest of the record; while an adopted run is being updated they do not."""
    tags: dict[str, str]
    """Tags that belong to the record: corrections, and ids that the run had in other stores."""
    kind: str
    """benchmark or training."""
    logged_at: str
    """When it was logged, as text that sorts."""
    segment: int
    """Place of its columns among the segments."""
    position: int
    """Place in the columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One run as it was just read."""

    content: bytes
    """Its record.json."""
    sha256: str
    """SHA-256 of that."""
    changed_at: str | None = None
    """See Row."""
    is_settled: bool = True
    """See Row."""
    tags: dict[str, str] = field(default_factory=dict)
    """See Row."""


class Segment(msgspec.Struct, array_like=True, frozen=True):
    """Records that lie together."""

    size: int
    """How many, those that nothing asks for any more among them."""
    name: str = ""
    """Name of the file; empty until it is written."""


class Index(msgspec.Struct):
    """What is known of a campaign."""

    rows: dict[str, Row] = msgspec.field(default_factory=dict)
    """Complete, active runs by run id."""
    deleted: list[str] = msgspec.field(default_factory=list)
    """Complete runs that are deleted."""
    read_up_to: str | None = None
    """Every change stamped up to here has been read; None before the first reading."""
    segments: list[Segment] = msgspec.field(default_factory=list)
    """Where the records are."""


class Known:
    """A campaign as it was read last, to be brought up to date. Only a cache: an empty one gives the same answers."""

    def __init__(self, index: Index | None = None, packed: list[bytes] | None = None) -> None:
        """Start from what was read before; with nothing by default.

        Args:
            index: What is known.
            packed: The columns of its segments, packed.
        """
        self.index = index or Index()
        self.packed = packed or []
        self.was_loaded = index is not None

    @property
    def is_empty(self) -> bool:
        """Whether the campaign was never read as a whole."""
        return self.index.read_up_to is None

    def add(self, read: Iterable[tuple[str, Read]]) -> None:
        """Take up runs by run id.

        Raises:
            StoreError: A record cannot be read.
        """
        runs = iter(read)
        while here := list(itertools.islice(runs, RUNS_A_SEGMENT)):
            writer = Writer()
            for position, (run_id, run) in enumerate(here):
                record = writer.add(run.content)
                self.index.rows[run_id] = Row(
                    sha256=run.sha256,
                    changed_at=run.changed_at,
                    is_settled=run.is_settled,
                    tags=run.tags,
                    kind=record.kind,
                    logged_at=sortable(record.provenance.logged_at),
                    segment=len(self.packed),
                    position=position,
                )
            self.append(Segment(size=len(here)), pack(writer.columns()))

    def append(self, segment: Segment, packed: bytes) -> None:
        """Take up a segment as it is."""
        self.index.segments.append(segment)
        self.packed.append(packed)

    def set_tags(self, run_id: str, read: Read) -> None:
        """Take up other tags of a run whose record is the one that is known."""
        row = self.index.rows[run_id]
        self.index.rows[run_id] = msgspec.structs.replace(row, tags=read.tags, changed_at=read.changed_at)

    def by_segment(self, run_ids: Iterable[str]) -> dict[int, list[str]]:
        """Return runs by the segment their records lie in."""
        found: dict[int, list[str]] = {}
        for run_id in run_ids:
            found.setdefault(self.index.rows[run_id].segment, []).append(run_id)
        return found

    def records(self, run_ids: Iterable[str]) -> Iterator[tuple[str, RunRecord]]:
        """Yield records by run id.

        Raises:
            StoreError: The cached columns are of another layout.
        """
        for number, here in self.by_segment(run_ids).items():
            places = [self.index.rows[run_id].position for run_id in here]
            yield from zip(here, records(self.columns(number), places), strict=True)

    def columns(self, number: int) -> Columns:
        """Return a segment, opened.

        Raises:
            StoreError: The cached columns are of another layout.
        """
        columns = unpack(self.packed[number], Columns) if number < len(self.packed) else None
        if columns is None:
            raise StoreError("cached records of another layout", where="cache")
        return columns


class CampaignCache:
    """Files of one campaign's records."""

    def __init__(self, folder: Path | None) -> None:
        """Keep files in `folder`; None keeps none."""
        self._folder = folder

    def load(self) -> Known:
        """Return what is known; nothing when any file is missing, damaged or of another version."""
        if self._folder is None:
            return Known()
        index = read_file(self._folder / INDEX, Index)
        if index is None:
            return Known()
        packed = [read_packed(self._folder / segment.name) for segment in index.segments]
        whole = [segment for segment in packed if segment is not None]
        return Known(index, whole) if len(whole) == len(packed) else Known()

    def save(self, known: Known) -> None:
        """Write what is known. A folder that cannot be written only costs time."""
        if self._folder is None:
            return
        loose = _to_be_compacted(known)
        if loose:
            known = _compacted(known, loose)
        segments = known.index.segments
        for number, packed in enumerate(known.packed):
            if not segments[number].name:
                name = content_name(packed)
                if not write_packed(self._folder / name, packed):
                    return
                segments[number] = msgspec.structs.replace(segments[number], name=name)
        if write_file(self._folder / INDEX, known.index):
            remove_orphans(self._folder, {INDEX, *(segment.name for segment in segments)})


def _to_be_compacted(known: Known) -> set[int]:
    """Return the segments to write anew: those with little in them, where they are many or most records are dead."""
    segments, live = known.index.segments, known.by_segment(known.index.rows)
    loose = {number for number in range(len(segments)) if len(live.get(number, ())) < RUNS_A_SEGMENT / 2}
    held = sum(segment.size for segment in segments)
    dead = held - len(known.index.rows)
    return loose if len(loose) > MOST_LOOSE or dead > max(MOST_DEAD_FRACTION * held, MOST_LOOSE) else set()


def _compacted(known: Known, loose: set[int]) -> Known:
    """Return the same with some segments written anew."""
    rows, by_segment = known.index.rows, known.by_segment(known.index.rows)
    found = Known(Index(deleted=known.index.deleted, read_up_to=known.index.read_up_to))
    for number in by_segment.keys() - loose:
        place = len(found.packed)
        found.index.rows |= {
            run_id: msgspec.structs.replace(rows[run_id], segment=place) for run_id in by_segment[number]
        }
        found.append(known.index.segments[number], known.packed[number])
    found.add(read for number in by_segment.keys() & loose for read in _reads(known, number, by_segment[number]))
    return found


def _reads(known: Known, number: int, run_ids: list[str]) -> Iterator[tuple[str, Read]]:
    """Yield runs of a segment as they were read."""
    rows = [known.index.rows[run_id] for run_id in run_ids]
    written = contents(known.columns(number), [row.position for row in rows])
    for run_id, row, content in zip(run_ids, rows, written, strict=True):
        yield (
            run_id,
            Read(
                content=content,
                sha256=row.sha256,
                changed_at=row.changed_at,
                is_settled=row.is_settled,
                tags=row.tags,
            ),
        )
