"""What a sweep has done so far, kept beside its results so that it can go on after an interruption."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

import msgspec

from tracker.errors import InputError
from tracker.workflows.files import write_all

FILE_NAME = "sweep-state.json"
SCHEMA_VERSION = 1
Status = Literal["measured", "refused", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """One server that needs no further attention."""

    name: str
    """Its name."""
    status: Status
    """measured, refused by a check, or failed."""
    reason: str | None = None
    """Why it was refused or failed."""
    took_s: float | None = None
    """Seconds of measuring."""
    record_id: str | None = None
    """Its record."""


@dataclass(slots=True, kw_only=True)
class SweepState:
    """Progress of a sweep, by server digest; saved after each server."""

    folder: Path
    """Folder of the sweep's results."""
    done: dict[str, Done] = field(default_factory=dict)
    """Finished servers by digest of server and workload."""
    forgotten: dict[str, str] = field(default_factory=dict)
    """Records of servers that are tried again, by digest: the new record supersedes the old one."""
    batches: int = 0
    """Batches begun, over all calls."""
    baselines: int = 0
    """Baselines that were started by themselves, over all calls; the next one is named with the number after."""
    start_s: float | None = None
    """Seconds that the slowest batch took to start."""

    def save(self) -> None:
        """Write the state.

        Raises:
            InputError: The folder cannot be written.
        """
        content = {
            "schema_version": SCHEMA_VERSION,
            "done": {digest: asdict(item) for digest, item in self.done.items()},
            "batches": self.batches,
            "baselines": self.baselines,
            "start_s": self.start_s,
        }
        write_all(self.folder, {FILE_NAME: msgspec.json.format(msgspec.json.encode(content), indent=1)})

    def finish(self, digest: str, done: Done) -> None:
        """Note one server as finished, and save."""
        self.done[digest] = done
        self.save()

    def slowest_s(self) -> float | None:
        """Return the longest time that measuring one server took, those that hung left out; None before the first."""
        measured = (item for item in self.done.values() if item.status == "measured")
        return max((item.took_s for item in measured if item.took_s is not None), default=None)


def load_state(folder: Path, *, retry_failed: bool = False) -> SweepState:
    """Return the state kept in a folder; a fresh one where there is none.

    Args:
        folder: Folder of the sweep's results.
        retry_failed: Forget servers that failed or were refused, so that they are tried again.

    Raises:
        InputError: The state is damaged or of a newer version.
    """
    path = folder / FILE_NAME
    try:
        content = msgspec.json.decode(path.read_bytes())
        version = content["schema_version"]
        done = {digest: msgspec.convert(item, Done) for digest, item in content["done"].items()}
        state = SweepState(
            folder=folder,
            done=done,
            batches=content["batches"],
            baselines=content["baselines"],
            start_s=content["start_s"],
        )
    except FileNotFoundError:
        return SweepState(folder=folder)
    except (msgspec.MsgspecError, KeyError, TypeError, AttributeError, OSError) as error:
        raise InputError(
            f"the state of the sweep cannot be read: {error}",
            where=str(path),
            hint="Remove the file to measure everything again, or name another --out.",
        ) from error
    if version != SCHEMA_VERSION:
        raise InputError(
            f"the state has version {version}", where=str(path), hint="Upgrade tracker, or name another --out."
        )
    if retry_failed:
        again = {digest: item for digest, item in state.done.items() if item.status != "measured"}
        state.forgotten = {digest: item.record_id for digest, item in again.items() if item.record_id is not None}
        state.done = {digest: item for digest, item in state.done.items() if digest not in again}
    return state
