"""Break-even between the measured sizes: said as reached, not as something the largest size may be enough for."""

from __future__ import annotations

import dataclasses

from tests.analysis.builders import BASE, drafter
from tests.report.test_must_show import flat, memo
from tracker.domain.measurement import Reported
from tracker.domain.record import StoredRun

STEP_MS = 24.0


def served(samples: int, length: float) -> StoredRun:
    """A drafter whose steps take as long as those of all others."""
    run = drafter(samples, f"{length:.2f}", mix="chat", epochs=3)
    speed = Reported(value=1000 * length / STEP_MS, half_width=0.05)
    cell = dataclasses.replace(run.record.measurements[0], reported_throughput_tok_s=speed)
    return dataclasses.replace(run, record=run.record.replace(measurements=(cell,)))


def test_break_even_below_the_largest_size_is_called_reached_with_both_ends() -> None:
    sizes = ((1_000, 1.60), (3_000, 1.80), (10_000, 2.05), (30_000, 2.30), (100_000, 2.52))
    text = flat(memo(BASE, *(served(samples, length) for samples, length in sizes)))

    assert "Reached within the measured sizes: it takes 13,000 to 24,000 samples." in text
    assert "How far more data helps. Break-even needs between 13,000 samples and 24,000." in text


def test_break_even_beyond_the_largest_size_is_not() -> None:
    sizes = ((1_000, 1.30), (3_000, 1.42), (10_000, 1.55), (30_000, 1.70))
    text = flat(memo(BASE, *(served(samples, length) for samples, length in sizes)))

    assert "Reached within the measured sizes" not in text
