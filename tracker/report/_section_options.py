"""Options, ranked: effect, chance, cost, pay-back, what they rest on."""

from __future__ import annotations

from collections.abc import Sequence

from tracker.analysis.results import OptionAssessment
from tracker.domain.estimate import Estimate
from tracker.report import format as fmt
from tracker.report import numbers as num
from tracker.report._brief import drafter_pays
from tracker.report._option_grounds import grounds, unvalued
from tracker.report._prices import exceeds_price, option_cost, prices, worst_gpu_hours
from tracker.report.figures import OptionRow, OptionsData
from tracker.report.naming import rows_of
from tracker.report.reading import Reading
from tracker.report.spans import (
    Part,
    Rich,
    Span,
    known,
    listing,
    number,
    quote,
    rich,
    uncapital,
)
from tracker.report.view_parts import Block, Cell, FigureView, Folded, RowHead, Section, TableRow, TableView

_NET = "horizon GPU-hours * (1 - 1 / max(speed-up, 1)) - cost, mean over draws"
_HORIZON = "gpus * horizon_days * 24, from campaign.toml"


def options(reading: Reading) -> Section | None:
    """Return the section; None without options."""
    if not reading.decision.options:
        return None
    if only_baseline(reading):
        found = unvalued(reading)
        heading = rich("Nothing can be valued before a speed is measured")
        if found is None:
            return None
        blocks = found.blocks if isinstance(found, Folded) else (found,)
        return Section(key="options", label="Options", heading=heading, blocks=blocks)
    candidates = (
        options_figure(reading),
        options_table(reading),
        prices(reading),
        grounds(reading),
        unvalued(reading),
    )
    shown: tuple[Block, ...] = tuple(block for block in candidates if block is not None)
    return Section(key="options", label="Options", heading=_heading(reading), blocks=shown)


def _heading(reading: Reading) -> Rich:
    top = reading.top_option
    if top is None:
        return rich("No option can be valued from these data")
    if top.cost_gpu_hours == 0 and (top.net_gpu_hours.value or 0.0) <= 0:
        return rich("No option is expected to earn back its cost")
    letter = reading.letters[top.key]
    title = quote(uncapital(top.title), f"options[{top.key}].title")
    if top.net_gpu_hours.value is None:
        return rich(f"Option {letter} leads: ", title)
    today = next((option for option in reading.decision.options if option.key == "deploy_best"), None)
    if today is not None and today.key != top.key and drafter_pays(reading) and (today.net_gpu_hours.value or 0) > 0:
        more = top.net_gpu_hours.value - known(today.net_gpu_hours.value)
        shown = number(
            fmt.fixed(more, _decimals(top.net_gpu_hours)),
            more,
            f"{top.key} - {today.key}, both {_NET}",
            unit="GPU-hours",
        )
        worth = _net(today)
        saved = rich("Today's drafter is worth ", worth, f" {fmt.hours_unit(worth.text)}")
        if float(shown.text.replace(",", "")) == 0:
            return rich(saved, f"; option {letter} would add next to nothing: ", title)
        return rich(saved, f"; option {letter} would add ", shown, ": ", title)
    net = _net(top)
    return rich(f"Option {letter} leads with ", net, f" {fmt.hours_unit(net.text)}: ", title)


def only_baseline(reading: Reading) -> bool:
    """Whether keeping the baseline is all that has a value, so that nothing is ranked."""
    return {option.key for option in reading.decision.options if option.net_gpu_hours.value is not None} == {
        "keep_baseline"
    }


def _decimals(estimate: Estimate) -> int:
    """Return decimals that keep two significant digits of the half-width; whole GPU-hours at most."""
    return min(0, fmt.decimals_for(estimate.half_width, 0, digits=2))


def _net(option: OptionAssessment) -> Span:
    value = option.net_gpu_hours.value
    value = known(value)
    text = fmt.fixed(value, _decimals(option.net_gpu_hours), signed=True)
    return number(text, value, _NET, unit="GPU-hours")


def _net_range(option: OptionAssessment) -> Rich:
    return num.interval(
        option.net_gpu_hours,
        _decimals(option.net_gpu_hours),
        f"80 % interval of {_NET}",
        (),
        unit="GPU-hours",
        signed=True,
    )


def shown_options(reading: Reading) -> list[OptionAssessment]:
    """Return the valued options worth a row, by rank; memo.json has them all."""
    return rows_of(reading.decision.options)


def options_figure(reading: Reading) -> FigureView | None:
    """Return net values with intervals against zero; None where fewer than two options have one."""
    valued = shown_options(reading)
    if len(valued) < 2:
        return None
    rows = tuple(_option_row(reading, option) for option in valued)
    return FigureView(
        key="options",
        question="Which option is worth its cost?",
        answer=_answer(rows),
        data=OptionsData(rows=rows),
        source=_source(reading, rows),
        drawn=rich("Open dots: predicted mean; bars: 80 % interval; dotted: the cost, lost where an option fails."),
        title="Net value of the options in GPU-hours against keeping the baseline",
        description=_description(reading, rows),
    )


def _exact(option: OptionAssessment) -> bool:
    """Whether the net value carries no interval: nothing is spent, or the speed is measured."""
    return option.net_gpu_hours.low is None or option.net_gpu_hours.low == option.net_gpu_hours.high


def _option_row(reading: Reading, option: OptionAssessment) -> OptionRow:
    estimate = option.net_gpu_hours
    return OptionRow(
        letter=reading.letters[option.key],
        label=option.title,
        mean=known(estimate.value),
        low=None if _exact(option) else estimate.low,
        high=None if _exact(option) else estimate.high,
        text=_net(option),
        lead=estimate.low is not None and estimate.low > 0,
        known=_exact(option),
        cost=option.cost_gpu_hours,
    )


def _answer(rows: tuple[OptionRow, ...]) -> Rich:
    leads = [row.letter for row in rows if row.lead]
    if not leads:
        return rich("None stays above zero across the 80 % interval.")
    verb = "stays" if len(leads) == 1 else "stay"
    only = "Only " if any(not row.lead and not row.known for row in rows) else ""
    return rich(only, _letters([row.letter for row in rows], leads), f" {verb} above zero across the 80 % interval.")


def _letters(order: Sequence[str], chosen: Sequence[str]) -> Rich:
    """Return letters in words, four and more in a row as a range: `A to H`."""
    places = [order.index(item) for item in chosen]
    if len(chosen) > 3 and places[-1] - places[0] == len(chosen) - 1:
        return rich(f"{chosen[0]} to {chosen[-1]}")
    return listing(chosen)


def _source(reading: Reading, rows: tuple[OptionRow, ...]) -> Rich:
    parts: list[Part] = ["GPU-hours saved", _horizon_words(reading), ", less the cost of the option."]
    known = [row.letter for row in rows if row.known]
    if known:
        verb = "carries" if len(known) == 1 else "carry"
        parts += [" ", listing(known), f" {verb} no interval: the value does not depend on what is uncertain."]
    return rich(*parts)


def _horizon_words(reading: Reading) -> Rich:
    costs = reading.analysis.campaign.costs
    if costs.horizon_days is None or costs.gpus is None:
        return Rich()
    length = number(fmt.fixed(costs.horizon_days, 0), costs.horizon_days, "campaign.toml: horizon_days", kind="assumed")
    gpus = number(str(costs.gpus), costs.gpus, "campaign.toml: gpus", kind="assumed")
    return rich(" over ", length, " days on ", gpus, " GPUs" if costs.gpus != 1 else " GPU")


def horizon_caption(reading: Reading) -> Rich:
    """Return ` over 90 days on 8 GPUs (17,280)`; empty where the horizon is not known."""
    words = _horizon_words(reading)
    total = reading.analysis.campaign.costs.horizon_gpu_hours
    if not words or total is None:
        return Rich()
    return rich(words, " (", number(fmt.fixed(total, 0), total, _HORIZON, unit="GPU-hours", kind="assumed"), ")")


def _description(reading: Reading, rows: tuple[OptionRow, ...]) -> Rich:
    parts: list[Part] = []
    by_letter = {reading.letters[option.key]: option for option in reading.decision.options}
    for row in rows:
        shown = Rich() if row.known else _net_range(by_letter[row.letter])
        parts += ["; " if parts else "", f"{row.letter} ", quote(row.label, "options.title"), " ", row.text]
        if shown:
            parts += [", ", shown]
    return rich(*parts, ".")


def options_table(reading: Reading, *, limit: int | None = None) -> TableView | None:
    """Return the options that have a value, by rank; None where none has.

    Args:
        reading: The analysis, read.
        limit: Most rows, for the mail; None for all.
    """
    base = reading.baseline
    bar = (
        "baseline"
        if base is None or base.throughput_tok_s.value is None
        else fmt.throughput(base.throughput_tok_s.value)
    )
    valued, left = shown_options(reading)[:limit], 0
    if limit is None:
        left = sum(option.net_gpu_hours.value is not None for option in reading.decision.options) - len(valued)
    fastest = max((option.expected_tok_s.value or 0.0 for option in reading.decision.options), default=0.0)
    decimals = 1 if fastest < 200 else 0
    rows = tuple(_table_row(reading, option, decimals) for option in valued)
    if not rows:
        return None
    return TableView(
        key="options",
        caption=rich("Options, ranked by net value"),
        conditions=rich(
            "Cost and value in GPU-hours",
            horizon_caption(reading),
            ". The baseline stays available, so an option that fails costs its price and no more. Small figures: 80 % "
            "interval",
            "; below a cost, what its phases add up to as measured, more than the price stated."
            if any(exceeds_price(option) for option in valued)
            else ".",
            _left_words(left),
        ),
        head="Option",
        columns=("expected tok/s", f"chance to beat {bar}", "cost", "net value", "chance it pays", "pays back in"),
        rows=rows,
    )


def _left_words(left: int) -> Rich:
    if left <= 0:
        return Rich()
    shown = number(str(left), left, "valued options beyond those shown")
    return rich(" ", shown, f" more variant{'s' if left > 1 else ''} of these are in memo.json.")


def _table_row(reading: Reading, option: OptionAssessment, decimals: int) -> TableRow:
    return TableRow(
        head=RowHead(
            text=quote(option.title, f"options[{option.key}].title"),
            letter=reading.letters[option.key],
        ),
        cells=(
            Cell(text=_expected(option, decimals), small=_expected_range(option)),
            Cell(text=_chance(option)),
            Cell(text=option_cost(option), small=_cost_as_measured(option)),
            Cell(
                text=rich(_net(option)) if option.net_gpu_hours.value is not None else Rich(), small=_interval(option)
            ),
            Cell(text=_pays(option)),
            Cell(text=_pay_back(option)),
        ),
        role="best" if option.rank == 1 else "plain",
    )


def _expected(option: OptionAssessment, decimals: int) -> Rich:
    value = option.expected_tok_s.value
    if value is None:
        return Rich()
    formula = f"options[{option.key}].expected_tok_s: baseline * mean speed-up over draws"
    return rich(number(fmt.fixed(value, decimals), value, formula, unit="tok/s"))


def _expected_range(option: OptionAssessment) -> tuple[Rich, ...]:
    formula = f"80 % interval of options[{option.key}].expected_tok_s"
    shown = num.interval(option.expected_tok_s, 0, formula, (), unit="tok/s")
    return (shown,) if shown else ()


def _chance(option: OptionAssessment) -> Rich:
    value = option.p_beats_baseline
    if value is None:
        return Rich()
    return rich(number(fmt.chance(value), value, "share of draws faster than the baseline"))


def _cost_as_measured(option: OptionAssessment) -> tuple[Rich, ...]:
    """Return what the phases of a cost take as measured; empty unless that is more than the price stated."""
    if not exceeds_price(option):
        return ()
    value = worst_gpu_hours(option)
    shown = number(
        fmt.significant(value, 3, signed=False), value, f"options[{option.key}].cost_split, added", unit="GPU-hours"
    )
    return (rich(shown, " by phase"),)


def _pays(option: OptionAssessment) -> Rich:
    value = option.p_net_positive
    if value is None or (option.key == "keep_baseline" and option.cost_gpu_hours == 0):
        return Rich()
    return rich(number(fmt.chance(value), value, "share of draws whose net value is above 0"))


def _interval(option: OptionAssessment) -> tuple[Rich, ...]:
    if option.net_gpu_hours.value is None:
        return ()
    if not _exact(option):
        return (_net_range(option),)
    if option.net_gpu_hours.reason:
        return (quote(option.net_gpu_hours.reason, f"options[{option.key}].net_gpu_hours.reason"),)
    return (rich("exact" if option.net_gpu_hours.low is not None or option.net_gpu_hours.value == 0 else "measured"),)


def _pay_back(option: OptionAssessment) -> Rich:
    value = option.pay_back_days
    if value is None:
        negative = option.net_gpu_hours.value is not None and option.net_gpu_hours.value < 0
        return rich("never") if negative else Rich()
    if value == 0:
        return rich("at once") if (option.net_gpu_hours.value or 0.0) > 0 else Rich()
    words = fmt.days(value)
    count, unit = words.split()
    return rich(number(count, value, "cost / GPU-hours saved a day at the expected speed", unit="days"), f" {unit}")
