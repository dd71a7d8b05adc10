"""The records of a sweep's own servers, over all calls, and what they say about servers still to come."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tracker.domain.record import RunRecord
from tracker.errors import InputError, StoreError
from tracker.store.codec import decode_record, encode_record
from tracker.workflows.files import write_all
from tracker.workflows.sweep_plan import CONFIGURATION_TAG, Arm

RECORDS_FOLDER = "records"
BATCH_TAG = "sweep.batch"


def keep_record(record: RunRecord, out: Path) -> None:
    """Keep a record beside the sweep's results; the spool's copy leaves when the store has it.

    Raises:
        InputError: The folder cannot be written.
    """
    write_all(out / RECORDS_FOLDER, {f"{record.name}.json": encode_record(record)})


def kept_records(out: Path) -> tuple[RunRecord, ...]:
    """Return the records of all calls, in the order in which they were measured.

    Raises:
        InputError: One cannot be read.
    """
    found = []
    for path in sorted((out / RECORDS_FOLDER).glob("*.json")):
        try:
            found.append(decode_record(path.read_bytes(), where=str(path)))
        except (OSError, StoreError) as error:
            raise InputError(
                f"a record of this sweep cannot be read: {error}", where=str(path), hint="Remove the file to go on."
            ) from error
    # The batch first: batches are counted over all calls, and a clock may be set back between two of them.
    return tuple(
        sorted(found, key=lambda record: (int(record.tags.get(BATCH_TAG, 0)), record.measured_at, record.name))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """One server at one load."""

    tok_s: float
    """Output tokens per second."""
    accept_length: float | None
    """Accept length, bonus included; 1 for a plain server, None where it is not known."""

    @property
    def step(self) -> float | None:
        """Return its step time, up to a factor that all servers at this load share; None where it is not known."""
        return None if self.accept_length is None else self.accept_length / self.tok_s


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What was measured so far, as far as it bears on stopping early."""

    baseline: Mapping[int, float] = field(default_factory=dict)
    """Throughput of the last plain server by streams, tok/s."""
    break_even: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    """Step time over the baseline's by configuration and streams; drafters share it."""
    replicates: tuple[tuple[float, ...], ...] = ()
    """Log step times of servers of one configuration at one load, at least two each."""


def history_of(records: Iterable[RunRecord], baseline_arm: Arm | None) -> History:
    """Return what records of this sweep say, in the order in which they were measured.

    A baseline that ran with other flags than today's, before campaign.toml was edited, says nothing about today's.
    """
    plain = None if baseline_arm is None else baseline_arm.configuration
    baseline: dict[int, float] = {}
    ratios: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    steps: dict[tuple[str, int], list[float]] = defaultdict(list)
    for record in records:
        key = record.tags.get(CONFIGURATION_TAG)
        if record.role == "baseline" and key != plain:
            continue
        for streams, speed in _speeds(record).items():
            step = speed.step
            if record.role == "baseline":
                baseline[streams] = speed.tok_s
            if step is None:
                continue
            if record.role == "baseline":
                steps[("baseline", streams)].append(math.log(step))
            elif key is not None:
                steps[(key, streams)].append(math.log(step))
                if streams in baseline:
                    ratios[key][streams].append(step * baseline[streams])
    return History(
        baseline=baseline,
        break_even={
            key: {streams: math.fsum(found) / len(found) for streams, found in by_load.items()}
            for key, by_load in ratios.items()
        },
        replicates=tuple(tuple(found) for found in steps.values() if len(found) >= 2),
    )


def _speeds(record: RunRecord) -> dict[int, Speed]:
    if record.validity not in ("ok", "partial") or any("speed" in finding.voids for finding in record.findings):
        return {}
    speculates = record.speculation is not None and record.speculation.enabled
    found = {}
    for cell in record.pooled():
        length = cell.accept_length if speculates else 1.0
        if cell.concurrency is not None and cell.output_throughput_tok_s:
            found[cell.concurrency] = Speed(tok_s=cell.output_throughput_tok_s, accept_length=length)
    return found
