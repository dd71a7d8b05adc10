"""What runs of one server and drafter say of the noise between runs where no step time is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tracker.analysis.baselines import Reference
from tracker.analysis.noise import log_speeds, speed_replicates
from tracker.analysis.observations import Observation
from tracker.analysis.results import Note
from tracker.analysis.uncertainty import pooled_sd
from tracker.analysis.words import count, percent, streams


def speed_noise_notes(
    observations: Sequence[Observation], references: Mapping[int | None, Reference]
) -> Iterable[Note]:
    """Yield one note per group of runs whose throughput is the measure of noise."""
    for (load, label, _), members in speed_replicates(observations).items():
        found = pooled_sd([log_speeds(members)])
        if found is None or load not in references or members[0].run_id not in references[load].noise.run_ids:
            continue
        speeds = [item.throughput.value for item in members if item.throughput is not None]
        yield Note(
            topic="noise between runs",
            message=(
                f"{count(len(members), 'run')} of {members[0].record.name} ({label}) at {streams(load)} should have "
                f"one speed; they run from {min(speeds):.1f} to {max(speeds):.1f} tok/s, a standard deviation of "
                f"{percent(found[0])}. It is carried into every interval, the baseline's included."
            ),
            run_ids=tuple(item.run_id for item in members),
        )
