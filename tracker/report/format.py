"""Numbers, dates and units to text, each in one place."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import ROUND_HALF_UP, Decimal

MINUS = "−"
DASH = "–"  # of ranges, and where a value is missing
TIMES = "×"

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def fixed(value: float, decimals: int, *, signed: bool = False) -> str:
    """Return `value` rounded half up, thousands separated, with a real minus.

    Args:
        value: Finite number.
        decimals: Digits after the point; negative rounds to tens, hundreds, ...
        signed: Whether a positive number carries its sign.
    """
    step = Decimal(1).scaleb(-decimals)
    rounded = (Decimal(repr(float(value))) / step).quantize(Decimal(1), rounding=ROUND_HALF_UP) * step
    digits = f"{abs(rounded):,.{max(decimals, 0)}f}"
    if rounded == 0:
        return digits
    return (MINUS if rounded < 0 else "+" if signed else "") + digits


def decimals_for(half_width: float | None, fallback: int, *, digits: int = 1) -> int:
    """Return the decimals at which `half_width` keeps `digits` significant digits.

    Args:
        half_width: Half the 80 % interval, in the unit of the number; None or 0 when not known.
        fallback: Decimals to use then.
        digits: Significant digits of the half-width that stay visible.
    """
    if half_width is None or not math.isfinite(half_width) or half_width <= 0:
        return fallback
    return digits - 1 - math.floor(math.log10(half_width))


def span(low: float, high: float, decimals: int, *, signed: bool = False) -> str:
    """Return an interval: `2.27–2.33`, or `−40 to +1,828` where a sign could be misread."""
    word = " to " if signed or low < 0 or high < 0 else DASH
    return f"{_end(low, decimals, signed)}{word}{_end(high, decimals, signed)}"


def _end(value: float, decimals: int, signed: bool) -> str:
    return "open" if math.isinf(value) else fixed(value, decimals, signed=signed)


def percent(fraction: float, *, digits: int | None = None, signed: bool = True) -> str:
    """Return a fraction as per cent: `+9.4 %`, `+20 %`; one decimal below ten unless `digits` says otherwise."""
    points = fraction * 100
    decimals = digits if digits is not None else (1 if abs(points) < 9.95 else 0)
    return f"{fixed(points, decimals, signed=signed)} %"


def significant(value: float, digits: int = 2, *, signed: bool = True) -> str:
    """Return a whole number with `digits` significant digits: `+3,500`; for values known no better than that."""
    if value == 0 or not math.isfinite(value):
        return "0"
    return fixed(value, min(0, digits - 1 - math.floor(math.log10(abs(value)))), signed=signed)


def throughput(value: float) -> str:
    """Return tokens per second: one decimal below 200, none above, where it would be noise."""
    return fixed(value, 1 if value < 200 else 0)


def times(ratio: float) -> str:
    """Return a speed-up: `1.32×`."""
    return f"{fixed(ratio, 2)}{TIMES}"


def samples_short(samples: float) -> str:
    """Return training samples for a chart: `300`, `10K`, `1.5M`."""
    for size, suffix in ((1e6, "M"), (1e3, "K")):
        if samples >= size:
            scaled = samples / size
            return fixed(scaled, 0 if scaled >= 10 or scaled == round(scaled) else 1) + suffix
    return fixed(samples, 0)


def samples_long(samples: float) -> str:
    """Return training samples for a sentence, two significant digits: `15,000`, `10 million`."""
    if samples >= 1e6:
        millions = samples / 1e6
        return f"{fixed(millions, 0 if millions >= 10 or millions == round(millions) else 1)} million"
    digits = 1 - math.floor(math.log10(samples)) if samples >= 1 else 0
    return fixed(samples, min(digits, 0))


def gpu_hours(value: float) -> str:
    """Return GPU-hours: whole above ten, one decimal below, `<0.1` where less was estimated but not nothing."""
    if 0 < value < 0.05:
        return "<0.1"
    return fixed(value, 0 if abs(value) >= 10 or value == round(value) else 1)


def hours_unit(shown: str) -> str:
    """Return the unit behind GPU-hours as shown: one of them is singular."""
    return "GPU-hour" if shown.lstrip("+−") == "1" else "GPU-hours"


def chance(probability: float) -> str:
    """Return a probability with two decimals; `<0.01` and `>0.99` at the ends, for draws prove no certainty."""
    if probability > 0.99:
        return ">0.99"
    return "<0.01" if probability < 0.01 else fixed(probability, 2)


def days(value: float) -> str:
    """Return calendar days: `16 days`, `1 day`, `6 hours`."""
    if value < 1:
        hours = max(1, round(value * 24))
        return f"{hours} hour{'s' if hours != 1 else ''}"
    whole = fixed(value, 0)
    return f"{whole} day{'' if whole == '1' else 's'}"


def plural(count: int, one: str, many: str | None = None) -> str:
    """Return `1 run`, `8 runs`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def streams(concurrency: int | None) -> str:
    """Return a load in words."""
    return "an unrecorded load" if concurrency is None else plural(concurrency, "stream")


def date_long(moment: datetime, zone: tzinfo = UTC) -> str:
    """Return a day in words, the same in every locale: `30 Nov 2026`."""
    local = moment.astimezone(zone)
    return f"{local.day} {_MONTHS[local.month - 1]} {local.year}"


def date_short(moment: datetime) -> str:
    """Return a day without its year, in the moment's own zone: `30 Nov`."""
    return f"{moment.day} {_MONTHS[moment.month - 1]}"


def moment_long(moment: datetime, zone: tzinfo) -> str:
    """Return a moment in local time and UTC: `Mon 23 Nov 2026 00:00 CET (Sun 22 Nov 2026 23:00 UTC)`."""
    local, world = _stamp(moment.astimezone(zone)), _stamp(moment.astimezone(UTC))
    return local if local == world else f"{local} ({world})"


def _stamp(moment: datetime) -> str:
    name = moment.tzname() or "UTC"
    day = f"{_DAYS[moment.weekday()]} {moment.day} {_MONTHS[moment.month - 1]} {moment.year}"
    return f"{day} {moment:%H:%M} {name}"


def period(since: datetime, until: datetime, zone: tzinfo) -> str:
    """Return a window by its days, the last moment excluded: `23–29 Nov 2026`."""
    first = since.astimezone(zone)
    last = max(since, until - timedelta(microseconds=1)).astimezone(zone)
    end = f"{last.day} {_MONTHS[last.month - 1]} {last.year}"
    if first.date() == last.date():
        return end
    if (first.year, first.month) == (last.year, last.month):
        return f"{first.day}{DASH}{end}"
    if first.year == last.year:
        return f"{first.day} {_MONTHS[first.month - 1]} {DASH} {end}"
    return f"{first.day} {_MONTHS[first.month - 1]} {first.year} {DASH} {end}"
