"""Prices of the options by phase, and what choosing each wrongly would cost."""

from __future__ import annotations

from collections.abc import Sequence

from tracker.analysis.results import CostPart, OptionAssessment
from tracker.analysis.results.decision import Phase
from tracker.report import format as fmt
from tracker.report.naming import rows_of
from tracker.report.reading import Reading
from tracker.report.spans import Rich, number, quote, rich
from tracker.report.view_parts import Cell, Folded, RowHead, TableRow, TableView

_SLACK = 1.02  # phases that add up to two per cent more than a price say the same


def worst_gpu_hours(option: OptionAssessment) -> float:
    """Return GPU-hours lost where an option fails: its price, or its phases as measured if they take more."""
    return max(option.cost_gpu_hours or 0.0, sum(part.gpu_hours or 0.0 for part in option.cost_split))


def exceeds_price(option: OptionAssessment) -> bool:
    """Whether the phases of an option, as measured, take more than the price it is valued with."""
    return option.cost_gpu_hours is not None and worst_gpu_hours(option) > _SLACK * option.cost_gpu_hours


def option_cost(option: OptionAssessment) -> Rich:
    """Return the price of an option in GPU-hours."""
    value = option.cost_gpu_hours
    if value is None:
        return rich("not known")
    return rich(
        number(fmt.gpu_hours(value), value, f"options[{option.key}].cost_gpu_hours", unit="GPU-hours", kind="assumed")
    )


def prices(reading: Reading) -> Folded | None:
    """Return the folded table; None where no option has a regret and none a cost by phase."""
    options = [
        option
        for option in rows_of(reading.decision.options)
        if option.cost_split or option.regret_gpu_hours is not None
    ]
    if len(options) < 2:
        return None
    phases = list(dict.fromkeys(part.phase for option in options for part in option.cost_split))
    money = any(option.cost_money is not None for option in options)
    columns = ("regret", *phases, *(("money",) if money else ()), *(("days of work",) if _days(options) else ()))
    return Folded(
        key="prices",
        title="Costs by phase, and regret",
        answer=_answer(reading, options),
        blocks=(
            TableView(
                key="prices",
                caption=rich("What each option costs, and what choosing it wrongly would cost"),
                conditions=rich(
                    "GPU-hours. Regret: what would be lost on average against the option that turns out best. Phases "
                    "as measured may take more than a price stated for all of them together."
                ),
                head="Option",
                columns=columns,
                rows=tuple(_row(reading, option, phases, money=money, days=_days(options)) for option in options),
            ),
        ),
    )


def _days(options: list[OptionAssessment]) -> bool:
    return any(option.cost_days is not None for option in options)


def _answer(reading: Reading, options: list[OptionAssessment]) -> Rich:
    known = [option for option in options if option.regret_gpu_hours is not None]
    if not known:
        return rich("Data generation, extraction and training, where they are known.")
    least = min(known, key=lambda option: option.regret_gpu_hours or 0.0)
    value = least.regret_gpu_hours or 0.0
    shown = number(
        fmt.significant(value, signed=False), value, f"options[{least.key}].regret_gpu_hours", unit="GPU-hours"
    )
    return rich(
        f"Choosing {reading.letters[least.key]} is the least to be regretted: ",
        shown,
        f" {fmt.hours_unit(shown.text)} on average.",
    )


def _row(reading: Reading, option: OptionAssessment, phases: Sequence[Phase], *, money: bool, days: bool) -> TableRow:
    parts = {part.phase: part for part in option.cost_split}
    cells = [_regret(option)]
    cells += [_part(option, parts[phase]) if phase in parts else Cell(text=Rich()) for phase in phases]
    if money:
        cells.append(_money(reading, option))
    if days:
        cells.append(_calendar(option))
    return TableRow(
        head=RowHead(text=quote(option.title, f"options[{option.key}].title"), letter=reading.letters[option.key]),
        cells=tuple(cells),
    )


def _regret(option: OptionAssessment) -> Cell:
    value = option.regret_gpu_hours
    if value is None:
        return Cell(text=Rich())
    formula = "mean over draws of the best option's net value - its own"
    return Cell(text=rich(number(fmt.significant(value, signed=False), value, formula, unit="GPU-hours")))


def _part(option: OptionAssessment, part: CostPart) -> Cell:
    if part.gpu_hours is None:
        return Cell(text=rich("not known"))
    formula = f"options[{option.key}].cost_split[{part.phase}]"
    small = (quote(part.source, formula),) if part.source else ()
    return Cell(
        text=rich(number(fmt.gpu_hours(part.gpu_hours), part.gpu_hours, formula, unit="GPU-hours")), small=small
    )


def _money(reading: Reading, option: OptionAssessment) -> Cell:
    value, currency = option.cost_money, reading.analysis.campaign.costs.currency
    if value is None:
        return Cell(text=Rich())
    formula = "cost_gpu_hours * price_per_gpu_hour, from campaign.toml"
    shown = number(fmt.significant(value, 3, signed=False), value, formula, unit=currency, kind="assumed")
    return Cell(text=rich(shown, f" {currency}"))


def _calendar(option: OptionAssessment) -> Cell:
    value = option.cost_days
    if not value:
        return Cell(text=Rich())
    count, unit = fmt.days(value).split()
    return Cell(text=rich(number(count, value, f"options[{option.key}].cost_days", unit="days"), f" {unit}"))
