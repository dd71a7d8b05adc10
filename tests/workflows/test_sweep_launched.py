"""What pins or wraps a server is part of what a sweep compares."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tracker.domain.measurement import Measurement
from tracker.domain.provenance import Provenance
from tracker.domain.record import RunRecord
from tracker.domain.server import Speculation
from tracker.workflows.sweep_argv import launcher_tags
from tracker.workflows.sweep_history import history_of
from tracker.workflows.sweep_plan import SweepPlan, read_sweep

PLAIN = 'launch = "python3 -m sglang.launch_server"\n'
PINNED = 'launch = "numactl --cpunodebind=0 python3 -m sglang.launch_server"\n'
WRAPPED = 'launcher = "template"\ntemplate = "srun --cpu-bind=cores {argv}"\n'


def _read(folder: Path, launch: str) -> SweepPlan:
    (folder / "campaign.toml").write_text(
        f'schema_version = 1\n[campaign]\nname = "c"\n[sweep]\ntarget = "o/t"\n{launch}[sweep.baseline]\n'
        '[[sweep.servers]]\nname = "a"\ndrafter = "o/d"\nalgorithm = "EAGLE3"\nshape = "3-1-4"\n'
        '[[sweep.servers]]\nname = "b"\ndrafter = "o/e"\nalgorithm = "EAGLE3"\nshape = "3-1-4"\n'
    )
    return read_sweep(folder)


def _record(plan: SweepPlan, name: str, tok_s: float, length: float | None = None) -> RunRecord:
    (arm,) = [arm for arm in (plan.baseline, *plan.arms) if arm is not None and arm.name == name]
    counts = {} if length is None else {"verify_steps": 400, "accepted_drafts": round(400 * (length - 1))}
    cell = Measurement(concurrency=1, requests_completed=1, output_tokens=1000, wall_s=1000 / tok_s, **counts)
    return RunRecord(
        record_id=f"{name} {tok_s}", kind="benchmark", experiment="c", name=name,
        role="baseline" if arm.is_baseline else "candidate", speculation=Speculation(enabled=length is not None),
        measurements=(cell,), tags=arm.tags,
        provenance=Provenance(logged_at=datetime(2026, 1, 1, tzinfo=UTC), tracker_version="0"),
    )  # fmt: skip


@pytest.mark.parametrize("launch", [PINNED, WRAPPED])
def test_the_same_flags_launched_otherwise_are_another_configuration_and_are_measured_anew(
    tmp_path: Path, launch: str
) -> None:
    plain, other = _read(tmp_path, PLAIN), _read(tmp_path, launch)

    assert plain.arms[0].configuration == plain.arms[1].configuration
    assert plain.arms[0].configuration != other.arms[0].configuration
    assert plain.arms[0].digest(plain.bench) != other.arms[0].digest(other.bench)
    assert launcher_tags(plain.table) != launcher_tags(other.table)


def test_what_ran_before_the_file_was_edited_says_nothing_about_the_noise_and_the_baseline_of_now(
    tmp_path: Path,
) -> None:
    before, now = _read(tmp_path, PINNED), _read(tmp_path, PLAIN)
    old = [_record(before, "baseline", 200.0), _record(before, "a", 100.0, 2.0)]
    new = [_record(now, "baseline", 100.0), _record(now, "a", 150.0, 2.0)]

    history = history_of([*new, *old], now.baseline)

    assert history.baseline == {1: 100.0}
    assert history.replicates == ()
    assert history.break_even[now.arms[0].configuration][1] == pytest.approx(2.0 / 150 * 100)
