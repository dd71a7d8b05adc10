"""Notes that say the same of several runs, said once."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tracker.analysis.results import CampaignAnalysis, Note

_LEAST = 3  # two may stand side by side
_MANY = 4  # more loads than that under one heading each are a list nobody reads
_MOST = 6  # and more sentences than that in one paragraph are not read either: memo.json has each of them


def joined(analysis: CampaignAnalysis, notes: Sequence[Note]) -> list[Note]:
    """Return the notes with those that differ only in the run they start with joined into one.

    Args:
        analysis: Names of the runs.
        notes: In the order shown.
    """
    names = {point.run_id: point.name for point in analysis.points}
    groups: dict[tuple[str, str], list[Note]] = {}
    for note in notes:
        groups.setdefault((note.topic, _rest(note, names)), []).append(note)
    out: list[Note] = []
    for (topic, rest), members in groups.items():
        if not rest or len(members) < _LEAST:
            out += members
            continue
        runs = tuple(dict.fromkeys(run for note in members for run in note.run_ids))
        out.append(
            dataclasses.replace(members[0], topic=topic, message=f"Each of {len(members)} runs{rest}", run_ids=runs)
        )
    return _by_topic(out)


def _by_topic(notes: Sequence[Note]) -> list[Note]:
    """Return the notes with those of one topic in one paragraph, where there are many of them."""
    topics: dict[str, list[Note]] = {}
    for note in notes:
        topics.setdefault(note.topic, []).append(note)
    out: list[Note] = []
    for members in topics.values():
        if len(members) < _MANY:
            out += members
            continue
        runs = tuple(dict.fromkeys(run for note in members for run in note.run_ids))
        shown = members if len(members) <= _MOST else members[: _MOST - 2]
        message = " ".join(f"{note.message.rstrip('.')}." for note in shown)
        if len(shown) < len(members):
            message += f" {len(members) - len(shown)} more notes of this kind are in memo.json."
        out.append(dataclasses.replace(members[0], message=message, run_ids=runs))
    return out


def _rest(note: Note, names: dict[str, str]) -> str:
    """Return what a note says after the name of its only run; the whole of it, empty, where it starts otherwise."""
    name = names.get(note.run_ids[0]) if len(note.run_ids) == 1 else None
    if name is None or not note.message.startswith(f"{name} "):
        return ""
    return note.message.removeprefix(name)
