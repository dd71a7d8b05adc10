"""What the values of the options rest on, and which options have none yet."""

from __future__ import annotations

from tracker.analysis.results import OptionAssessment
from tracker.report import format as fmt
from tracker.report._prices import option_cost
from tracker.report.naming import rows_of
from tracker.report.reading import Reading
from tracker.report.spans import Part, Rich, capital, join, listing, quote, rich, sentence, uncapital
from tracker.report.view_parts import Facts, Folded

LEAST_FOLDED = 3  # fewer grounds than that are read faster than unfolded


def unvalued(reading: Reading) -> Folded | Facts | None:
    """Return the options without a value, each with the reason; None where every option has one."""
    items: list[tuple[str, Rich]] = []
    told: set[str] = set()
    for option in reading.decision.options:
        if option.net_gpu_hours.value is not None:
            continue
        reason = option.unvalued_reason or "no value could be computed"
        parts: list[Part] = []
        if reason not in told:  # said once: it reads as a stutter under each of several options
            parts += [sentence(quote(capital(reason), f"options[{option.key}].unvalued_reason")), " "]
        if option.cost_gpu_hours is not None:
            unit = f" {fmt.hours_unit(fmt.gpu_hours(option.cost_gpu_hours))}."
            parts += ["Cost: ", option_cost(option), unit, " "]
        if option.evidence:
            parts += [sentence(quote(capital(option.evidence), f"options[{option.key}].evidence")), " "]
        if option.would_change and option.would_change not in told:
            text = sentence(quote(uncapital(option.would_change), f"options[{option.key}].would_change"))
            parts += ["Would change its place: ", text]
        told |= {reason, option.would_change or reason}
        items.append((f"{reading.letters[option.key]}  {option.title}", rich(*parts)))
    if not items:
        return None
    names = [
        rich(f"{reading.letters[option.key]} ", quote(uncapital(option.title), f"options[{option.key}].title"))
        for option in reading.decision.options
        if option.net_gpu_hours.value is None
    ]
    if len(items) < LEAST_FOLDED:
        return Facts(items=tuple(items), title="Options that have no value yet")
    return Folded(
        key="unvalued",
        title="Options that have no value yet",
        answer=rich(join(names, "; "), "."),
        blocks=(Facts(items=tuple(items)),),
    )


def grounds(reading: Reading) -> Folded | Facts | None:
    """Return what valued options rest on and what would change their place, options with the same grounds together."""
    groups: dict[str, tuple[list[OptionAssessment], Rich]] = {}
    for option in rows_of(reading.decision.options):
        text = _ground_text(option)
        if text:
            groups.setdefault(text.text, ([], text))[0].append(option)
    items = tuple(
        (_group_name(reading, members), text if len(members) == 1 else _ground_text(members[0], several=True))
        for members, text in groups.values()
    )
    if not items:
        return None
    if len(items) < LEAST_FOLDED:
        return Facts(items=items, title="What the values rest on")
    top = reading.top_option
    answer = rich("For each option: what its value rests on, and what would change its place.")
    if top is not None and top.would_change:
        change = sentence(quote(uncapital(top.would_change), f"options[{top.key}].would_change"))
        answer = rich(f"What would move {reading.letters[top.key]}: ", change)
    return Folded(key="grounds", title="What the values rest on", answer=answer, blocks=(Facts(items=items),))


def _group_name(reading: Reading, members: list[OptionAssessment]) -> str:
    letters = [reading.letters[option.key] for option in members]
    if len(members) == 1:
        return f"{letters[0]}  {members[0].title}"
    return listing(letters).text


def _ground_text(option: OptionAssessment, *, several: bool = False) -> Rich:
    parts: list[Part] = []
    if option.evidence:
        parts.append(sentence(quote(capital(option.evidence), f"options[{option.key}].evidence")))
    if option.would_change:
        text = sentence(quote(uncapital(option.would_change), f"options[{option.key}].would_change"))
        whose = "their" if several else "its"
        parts += [" " if parts else "", f"Would change {whose} place: ", text]
    return rich(*parts)
