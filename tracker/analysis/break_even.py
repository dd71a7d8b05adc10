"""Break-even accept length: the time of a speculative step over the time of a plain one.

It belongs to hardware, engine, flags and load, hardly to prompts and not to the drafter's quality; so runs of one
configuration are pooled over drafters, and it is never carried over to another load or machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tracker.analysis.noise import BaselineDrift, BetweenRunNoise, ratio_components, repeat_components
from tracker.analysis.observations import Observation
from tracker.analysis.results import BreakEven, Configuration
from tracker.analysis.uncertainty import Component, Spread, combine, parts_of, rounding_component

TARGET_SPEEDUPS = (1.1, 1.3, 1.5)


def step_ratio(spec_ms: float, base_ms: float) -> float:
    """Return the break-even accept length of two step times."""
    return spec_ms / base_ms


def required_length(break_even: float, speedup: float) -> float:
    """Return the accept length that makes serving `speedup` times as fast as the baseline."""
    return speedup * break_even


def prefill_corrected_step_ms(*, length: float, tok_s: float, prefill_s: float, output_tokens: float) -> float:
    """Return milliseconds per verify step of one stream without the prompt's share.

    Args:
        length: Accept length; 1 for a plain server.
        tok_s: End-to-end output tokens per second of one request, prefill included.
        prefill_s: Time to the first token.
        output_tokens: Tokens generated per request.
    """
    return 1000 * length * (1 / tok_s - prefill_s / output_tokens)


def required(break_even: float) -> dict[str, float]:
    """Return the accept length for each target speed-up, keys as in `ConfigurationCost.required`."""
    return {f"{target:g}": required_length(break_even, target) for target in TARGET_SPEEDUPS}


def required_reachable(break_even: float, configuration: Configuration) -> dict[str, bool | None]:
    """Return whether each target speed-up takes at most num_steps + 1 tokens; None when num_steps is unknown."""
    steps = configuration.num_steps
    return {key: None if steps is None else length <= steps + 1 for key, length in required(break_even).items()}


def measure(
    members: Sequence[Observation], baseline: Observation, *, noise: BetweenRunNoise, drift: BaselineDrift
) -> BreakEven | None:
    """Return the break-even of runs of one configuration against a baseline of the same load; None without step times.

    Length and throughput come from the same tokens, so the choice of prompts cancels from the step time.
    """
    readings = [item.step_ms for item in members if item.step_ms is not None]
    base = baseline.step_ms
    if not readings or base is None:
        return None
    count = len(readings)
    value = math.exp(math.fsum(math.log(item.value) for item in readings) / count) / base.value
    lows = math.exp(math.fsum(math.log(item.bounds[0]) for item in readings) / count)
    highs = math.exp(math.fsum(math.log(item.bounds[1]) for item in readings) / count)
    rounded = base.low is not None or any(item.low is not None for item in readings)
    components = _components(members, baseline, noise=noise, drift=drift)
    spread = combine(components)
    return BreakEven(
        value=value,
        low=value * math.exp(-spread.half_width),
        high=value * math.exp(spread.half_width),
        rounding_low=lows / base.bounds[1] if rounded else None,
        rounding_high=highs / base.bounds[0] if rounded else None,
        parts=parts_of(components),
    )


def spread_of(found: BreakEven) -> Spread:
    """Return the spread of a break-even, read back from its interval as if it were normal on the log scale."""
    return Spread(sd=math.log(found.high / found.low) / 2 / Spread(sd=1.0, df=math.inf).half_width, df=math.inf)


def reachability(found: BreakEven, configuration: Configuration) -> tuple[bool | None, str | None]:
    """Return whether break-even lies at or below the most a step can yield, with words where that is not plain."""
    if configuration.num_steps is not None:
        most = configuration.num_steps + 1
        if found.value <= most:
            return True, None
        return False, f"out of reach: a step yields at most {most} tokens"
    # A one-step drafter is not what anybody runs with a tree; from two steps on the words are worth their place.
    lost = [steps for steps in range(2, 16) if found.value > steps + 1]
    if not lost:
        return None, None
    return None, f"unreachable if it ran with {max(lost)} steps" + (" or fewer" if len(lost) > 1 else "")


def step_components(members: Sequence[Observation], noise: BetweenRunNoise) -> list[Component]:
    """Return what rounding and repeats leave open in the mean step time of runs, noise between runs aside."""
    parts, share = [], 1 / len(members)
    for item in members:
        if item.step_ms is not None and item.step_ms.low is not None:
            rounding = rounding_component(*item.step_ms.bounds)
            parts.append(Component(name=rounding.name, sd=rounding.sd * share))
        parts += repeat_components(item, noise, share=share)
    return parts


def _components(
    members: Sequence[Observation], baseline: Observation, *, noise: BetweenRunNoise, drift: BaselineDrift
) -> list[Component]:
    parts = ratio_components(noise, drift, runs=len(members))
    return [*parts, *step_components(members, noise), *step_components([baseline], noise)]
