"""Cheap experiments beside the one proposed, and the lengths of use at which another option leads."""

from __future__ import annotations

from tracker.analysis.results import HorizonFlip, NextExperiment
from tracker.report import format as fmt
from tracker.report._brief import drafter_pays
from tracker.report.naming import rows_of
from tracker.report.reading import Reading
from tracker.report.spans import Rich, capital, listing, number, quote, rich
from tracker.report.view_parts import Cell, Folded, RowHead, TableRow, TableView

MAX_ROWS = 12
_HOUR = 1 / 24


def considered(reading: Reading) -> Folded | None:
    """Return every cheap experiment with what it is worth; None where the proposed one is the only one."""
    found = reading.decision.experiments
    if len(found) < 2:
        return None
    worth = [item for item in found if (item.net_value_gpu_hours or 0.0) > 0]
    total = number(str(len(found)), len(found), "decision.experiments")
    count = number(str(len(worth)), len(worth), "decision.experiments with net_value_gpu_hours above 0")
    verb = "is" if len(worth) == 1 else "are"
    return Folded(
        key="experiments",
        title="All cheap experiments considered",
        answer=rich(
            count,
            " of ",
            total,
            f" {verb} worth more than the price; the one that tells most per GPU-hour comes first.",
        ),
        blocks=(_table(reading, found[:MAX_ROWS]),),
    )


def _table(reading: Reading, found: tuple[NextExperiment, ...]) -> TableView:
    proposed = reading.decision.next_experiment
    ahead = drafter_pays(reading) and any(item.p_beats_best is not None for item in found)
    return TableView(
        key="experiments",
        caption=rich("Cheap experiments, those that tell most per GPU-hour first"),
        conditions=rich("GPU-hours; worth is what knowing the outcome adds to the best choice, less the price."),
        head="Experiment",
        columns=("price", "chance to beat today's best" if ahead else "chance to succeed", "worth"),
        rows=tuple(
            _row(
                item,
                proposed=proposed is not None and item.title == proposed.title and item.flags == proposed.flags,
                ahead=ahead,
            )
            for item in found
        ),
    )


def _row(item: NextExperiment, *, proposed: bool, ahead: bool) -> TableRow:
    price, worth = item.cost_gpu_hours, item.net_value_gpu_hours
    chance, key = (item.p_beats_best, "p_beats_best") if ahead else (item.p_success, "p_success")
    cost = Rich()
    if price is not None:
        cost = rich(number(fmt.gpu_hours(price), price, "experiments.cost_gpu_hours", unit="GPU-hours", kind="assumed"))
    odds = Rich() if chance is None else rich(number(fmt.chance(chance), chance, f"experiments.{key}"))
    value = rich("not computed")
    if worth is not None:
        formula = "expected value of the information - price"
        value = rich(number(fmt.fixed(worth, 0, signed=True), worth, formula, unit="GPU-hours"))
    return TableRow(
        head=RowHead(text=quote(capital(item.title), "experiments.title"), tag="proposed" if proposed else None),
        cells=(
            Cell(text=cost),
            Cell(text=odds, small=(rich("by judgement"),) if chance is not None and item.p_is_judgement else ()),
            Cell(text=value),
        ),
        role="best" if proposed else "plain",
    )


def flips(reading: Reading) -> Rich:
    """Return the lengths of use at which the first rank changes: `The lead goes from H to G at 7 hours, ...`.

    Changes within the first hour of use, where prices are next to nothing, decide nothing and are left out.
    """
    found = [item for item in reading.decision.flips if item.days >= _HOUR]
    if not found:
        return Rich()
    parts = [_flip(reading, item) for item in found]
    return rich("Used longer, the lead goes from ", _who(reading, found[0].from_key), " to ", listing(parts), ".")


def _flip(reading: Reading, item: HorizonFlip) -> Rich:
    shown = fmt.days(item.days)
    count = next(word for word in shown.split() if word.isdigit())
    formula = "decision.flips: days at which two options are worth the same"
    before, after = shown.split(count)
    days = number(count, item.days, formula, unit="days")
    return rich(_who(reading, item.to_key), " at ", before, days, after)


def _who(reading: Reading, key: str) -> Rich:
    """Return an option's letter where the table has it, else its title."""
    rows = {option.key for option in rows_of(reading.decision.options)}
    if key in rows:
        return rich(reading.letters[key])
    title = next((option.title for option in reading.decision.options if option.key == key), key)
    return quote(title, f"options[{key}].title")
