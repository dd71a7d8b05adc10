"""What one measured cell says: throughput, accept length and step time, each with the range its rounding leaves."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tracker.analysis.acceptance import detect_conventions, length_from_rate
from tracker.domain.measurement import Measurement, Reported, RequestRow
from tracker.domain.server import Speculation


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One quantity; `low` and `high` are what rounding leaves open, None when it came from counts."""

    value: float
    """Best value: the middle of the range."""
    low: float | None = None
    """Least value the printed figures allow."""
    high: float | None = None
    """Largest value the printed figures allow."""

    @property
    def bounds(self) -> tuple[float, float]:
        """The range, a point when nothing was rounded."""
        return (self.value if self.low is None else self.low, self.value if self.high is None else self.high)


def throughput(cell: Measurement) -> Reading | None:
    """Return output tok/s of the deployment."""
    value = cell.output_throughput_tok_s
    # Whoever builds records by hand may bring NaN, which no comparison below would catch.
    if value is None or not 0 < value < math.inf:
        return None
    counted = cell.output_tokens is not None and cell.wall_s
    return Reading(value=value) if counted else _printed(cell.reported_throughput_tok_s)


def accept_length(cell: Measurement, speculation: Speculation | None) -> Reading | None:
    """Return the accept length: from counts, else printed, narrowed by the length that the printed rate implies.

    Where no length was printed the rate alone gives one, if it says what it counts. A printed length below the bonus
    token alone is none.
    """
    if cell.verify_steps and cell.accepted_drafts is not None:
        return Reading(value=1 + cell.accepted_drafts / cell.verify_steps)
    printed = _printed(cell.reported_accept_length)
    if printed is not None and not (0 < printed.value < math.inf and possible(printed)):
        return None
    if printed is None:
        return _from_rate(cell, speculation)
    if printed.low is None or printed.high is None:
        return printed
    implied = _implied_by_rate(cell, speculation, (printed.low, printed.high))
    if implied is None:
        return printed
    low, high = max(printed.low, implied[0]), min(printed.high, implied[1])
    return printed if low > high else Reading(value=(low + high) / 2, low=low, high=high)


def possible(length: Reading) -> bool:
    """Return whether an accept length holds the bonus token that every step yields, as far as rounding tells."""
    return length.bounds[1] >= 0.999


def accept_rate(cell: Measurement, speculation: Speculation | None) -> float | None:
    """Return accepted over proposed drafts: from counts, else from the accept length and the number proposed."""
    if cell.accept_rate is not None:
        return cell.accept_rate
    length = accept_length(cell, speculation)
    proposed = None if speculation is None else speculation.proposed_per_step
    return None if length is None or not proposed else (length.value - 1) / proposed


def step_time_ms(cell: Measurement, length: Reading | None, *, speculative: bool) -> Reading | None:
    """Return milliseconds per verify step of one stream; per output token for a plain server.

    From counts where the server's own latencies are at hand (`busy_s`), else concurrency * 1000 * length / tok/s. Where
    the load was not recorded one stream is assumed, which cancels in every ratio.
    """
    steps = cell.verify_steps if speculative else cell.output_tokens
    if cell.busy_s and steps:
        return Reading(value=1000 * cell.busy_s / steps)
    rate = throughput(cell)
    tokens = length if speculative else Reading(value=1.0)
    if rate is None or tokens is None:
        return None
    streams = 1 if cell.concurrency is None else cell.concurrency
    value = 1000 * streams * tokens.value / rate.value
    if rate.low is None and tokens.low is None:
        return Reading(value=value)
    (slow, fast), (few, many) = rate.bounds, tokens.bounds
    return Reading(value=value, low=1000 * streams * few / fast, high=1000 * streams * many / slow)


def prefill_s(cell: Measurement, rows: Sequence[RequestRow]) -> float | None:
    """Return mean seconds to the first token: over rows where every one says it, else as summarised."""
    times = [row.ttft_s for row in rows if row.ttft_s is not None]
    if times and len(times) == len(rows):
        return math.fsum(times) / len(times)
    mean = None if cell.ttft_ms is None else cell.ttft_ms.mean_ms
    return None if mean is None else mean / 1000


def tokens_per_request(cell: Measurement, rows: Sequence[RequestRow]) -> float | None:
    """Return mean generated tokens per request: over rows where every one says it, else from the cell's counts."""
    tokens = [row.output_tokens for row in rows if row.output_tokens is not None]
    if tokens and len(tokens) == len(rows):
        return math.fsum(tokens) / len(tokens)
    if cell.output_tokens is None or not cell.requests_completed:
        return None
    return cell.output_tokens / cell.requests_completed


def length_log_se(cell: Measurement) -> float | None:
    """Return the relative standard error of the accept length from the spread over verify steps; None without one."""
    histogram = cell.accepted_histogram
    steps = 0 if not histogram else sum(histogram)
    if not histogram or steps < 2:
        return None
    mean = sum(index * count for index, count in enumerate(histogram)) / steps
    variance = sum(count * (index - mean) ** 2 for index, count in enumerate(histogram)) / (steps - 1)
    return math.sqrt(variance / steps) / (1 + mean)


def ratio_log_se(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Return the relative standard error of sum(first) / sum(second) over clusters; None below two clusters."""
    count = len(pairs)
    total = math.fsum(second for _, second in pairs)
    if count < 2 or total <= 0:
        return None
    ratio = math.fsum(first for first, _ in pairs) / total
    if ratio <= 0:
        return None
    squares = math.fsum((first - ratio * second) ** 2 for first, second in pairs)
    return math.sqrt(squares * count / (count - 1)) / (ratio * total)


def by_prompt(rows: Iterable[RequestRow]) -> dict[str, list[RequestRow]]:
    """Return answered rows by prompt key; rows without a key are left out."""
    found: dict[str, list[RequestRow]] = defaultdict(list)
    for row in rows:
        if row.prompt_key is not None:
            found[row.prompt_key].append(row)
    return dict(found)


def repeat_log_sd(cells: Sequence[Measurement]) -> tuple[float, int] | None:
    """Return the relative SD of throughput over the repeats of one run and their number; None below two."""
    logs = [math.log(rate.value) for rate in map(throughput, cells) if rate is not None]
    if len(logs) < 2:
        return None
    mean = math.fsum(logs) / len(logs)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in logs) / (len(logs) - 1)), len(logs)


def _printed(reported: Reported | None) -> Reading | None:
    if reported is None:
        return None
    half = reported.half_width
    if half is None or half >= reported.value:
        return Reading(value=reported.value)
    return Reading(value=reported.value, low=reported.value - half, high=reported.value + half)


def _from_rate(cell: Measurement, speculation: Speculation | None) -> Reading | None:
    rate, convention = _printed(cell.reported_accept_rate), cell.accept_rate_convention
    if rate is None or convention in (None, "unknown") or speculation is None:
        return None
    counts = {"num_draft_tokens": speculation.num_draft_tokens, "num_steps": speculation.num_steps}
    value, low, high = (length_from_rate(part, convention, **counts) for part in (rate.value, *rate.bounds))
    if value is None or not 0 < value < math.inf:
        return None
    return Reading(value=value) if rate.low is None else Reading(value=value, low=low, high=high)


def _implied_by_rate(
    cell: Measurement, speculation: Speculation | None, length: tuple[float, float]
) -> tuple[float, float] | None:
    rate = _printed(cell.reported_accept_rate)
    if rate is None or rate.low is None or rate.high is None or speculation is None:
        return None
    counts = {"num_draft_tokens": speculation.num_draft_tokens, "num_steps": speculation.num_steps}
    convention = cell.accept_rate_convention
    if convention in (None, "unknown"):
        fitting = detect_conventions(length, (rate.low, rate.high), **counts)
        convention = fitting[0] if len(fitting) == 1 else None
    if convention is None:
        return None
    low, high = (length_from_rate(part, convention, **counts) for part in (rate.low, rate.high))
    return None if low is None or high is None else (low, high)
