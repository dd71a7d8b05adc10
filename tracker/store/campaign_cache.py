"""What a machine has read of one campaign: which runs there are, as of which moment, and their records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from tracker.domain.record import RunRecord
from tracker.store.cache_files import content_name, read_file, remove_orphans, write_file
from tracker.store.mlflow_projection import sortable
from tracker.store.record_columns import Columns, Reader, Writer, rewritten

INDEX = "index"
MOST_SEGMENTS = 12
# Records that were amended or deleted stay in their file until they are this much of it.
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


class Index(msgspec.Struct):
    """What is known of a campaign."""

    rows: dict[str, Row] = msgspec.field(default_factory=dict)
    """Complete, active runs by run id."""
    deleted: list[str] = msgspec.field(default_factory=list)
    """Complete runs that are deleted."""
    read_up_to: str | None = None
    """Every change stamped up to here has been read; None before the first reading."""
    segments: list[str] = msgspec.field(default_factory=list)
    """Names of the files with the records."""


class Known:
    """A campaign as it was read last, to be brought up to date. Only a cache: an empty one gives the same answers."""

    def __init__(self, index: Index | None = None, segments: list[Columns] | None = None) -> None:
        """Start from what was read before; with nothing by default."""
        self.index = index or Index()
        self.segments = segments or []
        self.was_loaded = index is not None
        self._readers: dict[int, Reader] = {}

    @property
    def is_empty(self) -> bool:
        """Whether the campaign was never read as a whole."""
        return self.index.read_up_to is None

    def add(self, read: Mapping[str, Read]) -> None:
        """Take up runs by run id."""
        if not read:
            return
        writer = Writer()
        for run in read.values():
            writer.add(run.content)
        self.segments.append(writer.columns())
        number = len(self.segments) - 1
        self.index.segments.append("")
        for position, (run_id, run) in enumerate(read.items()):
            record = self._reader(number).record(position)
            self.index.rows[run_id] = Row(
                sha256=run.sha256,
                changed_at=run.changed_at,
                is_settled=run.is_settled,
                tags=run.tags,
                kind=record.kind,
                logged_at=sortable(record.provenance.logged_at),
                segment=number,
                position=position,
            )

    def set_tags(self, run_id: str, read: Read) -> None:
        """Take up other tags of a run whose record is the one that is known."""
        row = self.index.rows[run_id]
        self.index.rows[run_id] = msgspec.structs.replace(row, tags=read.tags, changed_at=read.changed_at)

    def take_records(self, run_ids: Iterable[str]) -> Iterator[tuple[str, RunRecord]]:
        """Yield records by run id, and let go of what they were kept in: nothing can be read from here afterwards.

        Raises:
            StoreError: The cached columns are of another layout.
        """
        by_segment: dict[int, list[str]] = {}
        for run_id in run_ids:
            by_segment.setdefault(self.index.rows[run_id].segment, []).append(run_id)
        for number, here in by_segment.items():
            reader = self._reader(number)
            yield from ((run_id, reader.record(self.index.rows[run_id].position)) for run_id in here)
            del reader, self._readers[number]
            self.segments[number] = Columns()

    def _reader(self, number: int) -> Reader:
        if number not in self._readers:
            self._readers[number] = Reader(self.segments[number])
        return self._readers[number]


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
        segments = [read_file(self._folder / name, Columns) for name in index.segments]
        whole = [segment for segment in segments if segment is not None]
        fits = len(whole) == len(segments) and all(
            row.segment < len(whole) and row.position < whole[row.segment].size for row in index.rows.values()
        )
        return Known(index, whole) if fits else Known()

    def save(self, known: Known) -> None:
        """Write what is known. A folder that cannot be written only costs time."""
        if self._folder is None:
            return
        if _wants_compaction(known):
            known = _compacted(known)
        for number, name in enumerate(known.index.segments):
            if not name:
                name = content_name(known.segments[number])
                if not write_file(self._folder / name, known.segments[number]):
                    return
                known.index.segments[number] = name
        if write_file(self._folder / INDEX, known.index):
            remove_orphans(self._folder, {INDEX, *known.index.segments})

    def forget(self) -> None:
        """Write that nothing is known."""
        if self._folder is not None:
            write_file(self._folder / INDEX, Index())


def _wants_compaction(known: Known) -> bool:
    held = sum(segment.size for segment in known.segments)
    dead = held - len(known.index.rows)
    return len(known.segments) > MOST_SEGMENTS or dead > max(MOST_DEAD_FRACTION * held, MOST_SEGMENTS)


def _compacted(known: Known) -> Known:
    """Return the same in one segment."""
    places: dict[int, list[int]] = {}
    runs: dict[int, list[str]] = {}
    for run_id, row in known.index.rows.items():
        places.setdefault(row.segment, []).append(row.position)
        runs.setdefault(row.segment, []).append(run_id)
    columns = rewritten((known.segments[number], places[number]) for number in places)
    ordered = [run_id for number in places for run_id in runs[number]]
    rows = {
        run_id: msgspec.structs.replace(known.index.rows[run_id], segment=0, position=position)
        for position, run_id in enumerate(ordered)
    }
    index = Index(rows=rows, deleted=known.index.deleted, read_up_to=known.index.read_up_to, segments=[""])
    return Known(index, [columns])
