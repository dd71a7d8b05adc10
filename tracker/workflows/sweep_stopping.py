"""When a server that has begun its loads cannot win any more; pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tracker.analysis.uncertainty import pooled_sd, quantile
from tracker.workflows.sweep_history import History, Speed

# One-sided, as three standard deviations of a normal distribution: a sweep asks this many times over.
_CERTAINTY = 0.99865
# Between processes of one configuration, where none was started twice: experiments/h200-tiny-llama saw 14 to 24 %
# on a model that leaves its GPU idle, large models stay below 2 %.
_UNKNOWN_SD = 0.10
_SMALLEST_SD = 0.02
# Accept length moves this much between loads (same experiment).
_LENGTH_MARGIN = 3 * 0.05
_LOADS_FOR_A_TREND = 2


def cannot_win(
    measured: Sequence[tuple[int, Speed]], *, planned: Sequence[int], configuration: str, history: History
) -> str | None:
    """Return why a server cannot be faster than the plain one at any planned load; None while it may.

    A load counts as lost where the speed lies below the baseline's by more than the noise between processes explains,
    measured where a configuration was started twice. A load not reached yet is predicted from the accept length, which
    does not depend on the load, and the break-even of this configuration where another drafter was measured under it.
    Without that, two lost loads and no rise from one to the other are needed, all loads left being higher: what
    speculation gains falls with the load (SGLang's own adaptive tables draft 7 tokens for one stream, none for 64).

    Args:
        measured: Streams and speed of the loads measured so far, in order.
        planned: Streams of all loads.
        configuration: Flags without the drafter, as `History.break_even` is keyed.
        history: What earlier servers showed.
    """
    logs = []
    for streams, speed in measured:
        if streams not in history.baseline:
            return None
        logs.append((streams, math.log(speed.tok_s / history.baseline[streams])))
    margin, noise = _margin(history)
    if not logs or any(log >= -margin for _, log in logs):
        return None
    reached = {streams for streams, _ in logs}
    known = history.break_even.get(configuration, {})
    lengths = [speed.accept_length for _, speed in measured if speed.accept_length is not None]
    unknown = []
    for streams in planned:
        if streams in reached:
            continue
        if streams not in known or not lengths:
            unknown.append(streams)
        elif math.log(max(lengths) / known[streams]) >= -math.hypot(margin, _LENGTH_MARGIN):
            return None
    if unknown and not _falls(sorted(logs), unknown, margin):
        return None
    shares = ", ".join(f"{math.exp(log):.2f} times the baseline's speed at {streams}" for streams, log in logs)
    rest = "" if len(reached) == len(set(planned)) else ", and more streams do not help"
    return f"{shares} streams, below {math.exp(-margin):.2f} which {noise} would explain{rest}"


def _falls(logs: Sequence[tuple[int, float]], unknown: Sequence[int], margin: float) -> bool:
    if len(logs) < _LOADS_FOR_A_TREND or min(unknown) < logs[-1][0]:
        return False
    # A rise within noise is no rise, yet one that would win when carried on is reason enough to go on.
    rise = max(0.0, logs[-1][1] - logs[-2][1])
    return logs[-1][1] + rise * len(unknown) < -margin


def _margin(history: History) -> tuple[float, str]:
    """Return how far below the baseline, as a log ratio, noise alone could put a server as fast as it; and its name."""
    found = pooled_sd([list(group) for group in history.replicates])
    if found is None:
        sd, df = _UNKNOWN_SD, math.inf
        words = f"noise between processes, {sd:.0%} assumed as none was started twice,"
    else:
        sd, df = max(found[0], _SMALLEST_SD), float(found[1])
        words = f"the measured noise between processes, {sd:.0%},"
    return quantile(_CERTAINTY, df) * math.sqrt(2) * sd, words
