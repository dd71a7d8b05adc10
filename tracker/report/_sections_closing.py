"""What follows the options: next experiment, what would change the memo, assumptions, data quality, provenance."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tracker.analysis.results import HorizonChoice, Note, SharedFinding
from tracker.report import format as fmt
from tracker.report._alike_notes import joined
from tracker.report._brief import experiment_chance, experiment_cost
from tracker.report._experiments import considered, flips
from tracker.report._other_priors import other_prior, ranking_depends
from tracker.report._section_assessment import MAX_DIAGNOSES
from tracker.report._section_options import only_baseline
from tracker.report.reading import Reading
from tracker.report.spans import Part, Rich, Span, capital, code, label, number, quote, rich, sentence, strong
from tracker.report.view_parts import (
    Block,
    Bullets,
    Cell,
    Command,
    Facts,
    Paragraph,
    RowHead,
    Section,
    TableRow,
    TableView,
)

_LAUNCH = re.compile(r":\s+(?=(?:\S*python\S* -m|vllm serve|docker )\s*\S)")


def next_experiment(reading: Reading) -> Section | None:
    """Return the experiment that tells most per GPU-hour; None when there is none."""
    experiment = reading.decision.next_experiment
    if experiment is None:
        return None
    blocks: list[Block] = []
    if experiment.flags:
        blocks.append(Command(lines=experiment.flags, label="Flags to set"))
    facts: list[tuple[str, Rich]] = []
    cost = experiment_cost(experiment)
    if cost:
        facts.append(
            (
                "Cost",
                rich(capital(cost.spans[0].text), Rich(spans=cost.spans[1:]), ".")
                if not cost.spans[0].fact
                else rich(cost, "."),
            )
        )
    chance = experiment_chance(reading, experiment, named=False, units=True)
    if chance:
        facts.append(("Chance", rich(capital(chance.spans[0].text), Rich(spans=chance.spans[1:]), ".")))
    if experiment.net_value_gpu_hours is not None:
        value = experiment.net_value_gpu_hours
        shown = number(
            fmt.fixed(value, 0, signed=True), value, "expected value of the information - cost", unit="GPU-hours"
        )
        facts.append(
            (
                "Worth",
                rich(
                    shown,
                    f" {fmt.hours_unit(shown.text)}: what knowing the outcome adds to the best choice, less its cost.",
                ),
            )
        )
    facts.append(("What it decides", sentence(quote(experiment.why, "next_experiment.why"))))
    facts.extend(
        ("Do not test", sentence(quote(text, "next_experiment.do_not_test"))) for text in experiment.do_not_test
    )
    blocks.append(Facts(items=tuple(facts)))
    others = considered(reading)
    if others is not None:
        blocks.append(others)
    return Section(
        key="next",
        label="Next",
        heading=quote(experiment.title.rstrip("."), "next_experiment.title"),
        blocks=tuple(blocks),
    )


def what_would_change(reading: Reading) -> Section | None:
    """Return what would change the ranking or the verdict; None where nothing is known of it."""
    decision = reading.decision
    blocks: list[Block] = []
    if only_baseline(reading):
        return None
    if decision.horizons:
        blocks.append(_horizons(reading, decision.horizons))
    later = flips(reading)
    if later:
        blocks.append(Paragraph(text=later))
    bullets = _bullets(reading)
    if bullets:
        blocks.append(Bullets(items=bullets))
    if not blocks or not decision.options:
        return None
    return Section(key="change", label="What would change this", heading=_change_heading(reading), blocks=tuple(blocks))


def _change_heading(reading: Reading) -> Rich:
    keys = {choice.option_key for choice in reading.decision.horizons}
    prior = ranking_depends(reading)
    if len(keys) > 1 and prior:
        return rich("The length of use and the assumed slope decide which option leads")
    if len(keys) > 1:
        return rich("The length of use decides which option leads")
    if prior:
        return rich("The ranking is sensitive to the assumed slope")
    if not reading.decision.sensitivity and not reading.decision.horizons:
        return rich("What these runs say of other prompts, and what they do not")
    return rich("The order of the options is stable under the assumptions tried")


def _horizons(reading: Reading, choices: Sequence[HorizonChoice]) -> TableView:
    groups: list[list[HorizonChoice]] = []
    for choice in choices:
        if groups and groups[-1][-1].option_key == choice.option_key:
            groups[-1].append(choice)
        else:
            groups.append([choice])
    return TableView(
        key="horizons",
        caption=rich("The best option by length of use"),
        conditions=Rich(),
        head="Served for",
        columns=("best option", "net value, GPU-hours"),
        rows=tuple(_horizon_row(reading, group) for group in groups),
        text_columns=frozenset({0}),
    )


def _horizon_row(reading: Reading, group: Sequence[HorizonChoice]) -> TableRow:
    first, last = group[0], group[-1]
    formula = "decision.horizons: option with the highest mean net value"
    start = number(fmt.fixed(first.days, 0), first.days, "length of use tried", unit="days", kind="assumed")
    end = number(fmt.fixed(last.days, 0), last.days, "length of use tried", unit="days", kind="assumed")
    served = rich(start, " days") if first.days == last.days else rich(start, " to ", end, " days")
    letter = reading.letters.get(first.option_key)
    title = rich(f"{letter}  " if letter else "", quote(first.title, formula))
    low = number(fmt.significant(first.net_gpu_hours), first.net_gpu_hours, formula, unit="GPU-hours")
    high = number(fmt.significant(last.net_gpu_hours), last.net_gpu_hours, formula, unit="GPU-hours")
    net = rich(low) if first.days == last.days else rich(low, " to ", high)
    return TableRow(head=RowHead(text=served), cells=(Cell(text=title), Cell(text=net)))


def _bullets(reading: Reading) -> tuple[Rich, ...]:
    items = [other_prior(reading, item) for item in reading.decision.sensitivity]
    if reading.decision.evpi_gpu_hours is not None:
        value = reading.decision.evpi_gpu_hours
        shown = number(fmt.fixed(value, 0), value, "mean of the best option per draw - best mean", unit="GPU-hours")
        text = "No experiment, however good, is worth more than that to this choice."
        hours = fmt.hours_unit(shown.text)
        items.append(rich(strong("Knowing everything would be worth ", shown, f" {hours}."), " ", text))
    note = reading.analysis.verdict.population_note
    if note:
        items.append(rich(strong("Other prompts:"), " ", sentence(quote(note, "verdict.population_note"))))
    return tuple(items)


def assumptions(reading: Reading) -> Section | None:
    """Return the inputs nobody measured; None when there are none."""
    notes = reading.analysis.assumptions
    if not notes:
        return None
    count = len(notes)
    words = ("", "One input", "Two inputs", "Three inputs", "Four inputs", "Five inputs", "Six inputs", "Seven inputs")
    start: Part = words[count] if count < len(words) else rich(number(str(count), count, "assumptions"), " inputs")
    return Section(
        key="assumptions",
        label="Assumptions",
        heading=rich(start, " nobody measured"),
        blocks=(Facts(items=tuple(_fact(reading, note, "assumptions") for note in notes)),),
    )


def _fact(reading: Reading, note: Note, key: str) -> tuple[str, Rich]:
    text = sentence(quote(capital(note.message), f"{key}[{note.topic}]", note.run_ids))
    tail: Part = rich(" ", reading.names.runs(note.run_ids)) if note.run_ids else ""
    return capital(note.topic), rich(text, tail)


def data_quality(reading: Reading) -> Section:
    """Return what a reader must know about the data: runs used and left out, findings, notes."""
    items: list[tuple[str, Rich]] = [("Runs", _counts(reading))]
    items.extend(_findings(reading))
    told = {item.message for item in reading.analysis.diagnoses[:MAX_DIAGNOSES]}
    told |= {item.message for item in reading.analysis.changes}
    notes = [note for note in reading.analysis.data_quality if note.message not in told]
    items.extend(_fact(reading, note, "data_quality") for note in joined(reading.analysis, notes))
    said = " ".join(note.message for note in reading.analysis.data_quality).lower()
    for text in reading.analysis.campaign.untested:
        if text.lower() not in said:
            items.append(("Not tested", sentence(quote(capital(text), "campaign.untested"))))
    return Section(
        key="quality", label="Data quality", heading=_quality_heading(reading), blocks=(Facts(items=tuple(items)),)
    )


def _findings(reading: Reading) -> list[tuple[str, Rich]]:
    """Return one entry a code; several findings of one code are shown by their first message."""
    groups: dict[str, list[SharedFinding]] = {}
    for shared in reading.analysis.findings:
        groups.setdefault(shared.finding.code, []).append(shared)
    return [_finding(reading, group) for group in groups.values()]


def _finding(reading: Reading, group: list[SharedFinding]) -> tuple[str, Rich]:
    finding, cause = group[0].finding, reading.analysis.root_cause
    run_ids = tuple(dict.fromkeys(run for shared in group for run in shared.run_ids))
    start: list[Part] = [code(finding.code), " (", reading.names.runs(run_ids), "): "]
    term = f"Finding, {finding.severity}"
    if cause is not None and finding.code == cause.finding.code:
        return term, rich(*start, "the root cause above.")
    text = sentence(quote(finding.message, f"findings[{finding.code}].message", group[0].run_ids))
    if cause is not None and finding.voids and set(run_ids) <= set(cause.run_ids):
        return term, rich(*start, "follows from the root cause above.")
    others: Part = " Similar on the other runs." if len(group) > 1 else ""
    fix: Part = rich(" Fix: ", _short_fix(finding.fix, f"findings[{finding.code}].fix")) if finding.fix else ""
    return term, rich(*start, text, others, fix)


def _short_fix(fix: str, source: str) -> Rich:
    """Return what to do; a whole launch command stays in memo.json, where it can be copied from."""
    head = _LAUNCH.split(fix)[0]
    if head == fix or not head:
        return sentence(quote(fix, source))
    return rich(quote(head, source), "; the whole command is in memo.json.")


def _quality_heading(reading: Reading) -> Rich:
    state, scaling = reading.state, reading.analysis.scaling
    if state == "no_drafter":
        return rich("Good enough to say what a step costs, not what a drafter yields")
    if state in ("no_baseline", "no_candidate"):
        return rich("Not enough for a verdict")
    if reading.level:
        return rich("Good enough to say “level” for what was measured")
    if state == "undecided":
        return rich("Not good enough to decide")
    needed = scaling.samples_to_break_even
    open_ended = scaling.status == "refused" or needed is None or needed.high is None
    if state in ("faster", "slower") and scaling.points and open_ended:
        return rich(f"Good enough to say “{state}”, not enough to say what more data would do")
    if state in ("faster", "slower"):
        return rich(f"Good enough to say “{state}” for what was measured")
    return rich("What these data can carry, and what they cannot")


def _counts(reading: Reading) -> Rich:
    points = reading.analysis.points
    ids = tuple(dict.fromkeys(point.run_id for point in points))
    void = tuple(dict.fromkeys(point.run_id for point in points if point.excluded_reason))
    outside = tuple(run for note in reading.analysis.rejected for run in note.run_ids)
    old = tuple(dict.fromkeys(point.run_id for point in points if not point.is_news))
    total = len(ids)
    parts: list[Part] = [number(str(total), total, "runs in the comparison group", ids, kind="measured")]
    parts.append(" run: " if total == 1 else " runs: ")
    used = tuple(run for run in ids if run not in void)
    parts += [number(str(len(used)), len(used), "runs not excluded", used), " used"]
    if void:
        parts += [
            ", ",
            number(str(len(void)), len(void), "runs excluded", void),
            " excluded (",
            reading.names.runs(void),
            ")",
        ]
    if outside:
        parts += [", ", number(str(len(outside)), len(outside), "runs outside the group", outside), " not comparable"]
    if old and len(old) < total:
        parts += ["; ", number(str(len(old)), len(old), "runs older than the window", old), " older than the window"]
    return rich(*parts, ".")


def provenance(reading: Reading) -> Section:
    """Return every run with its link."""
    names, urls = reading.names, reading.context.run_urls
    known = {point.run_id: point for point in reading.analysis.points}
    rows = []
    for run_id, short in names.shorts.items():
        point = known.get(run_id)
        name = rich(label(point.name)) if point is not None else Rich()
        link = Span(text=run_id, style="code", url=urls.get(run_id))
        rows.append(
            TableRow(
                head=RowHead(text=rich(label(short))), cells=(Cell(text=name), Cell(text=rich(link))), anchor=short
            )
        )
    count = len(rows)
    shown = number(str(count), count, "runs listed", tuple(names.shorts), kind="measured")
    # A memo without news shows no assumptions: they stand in the memo before.
    above = bool(reading.analysis.assumptions) and reading.state != "nothing_new"
    rest = ", the rest from the assumptions above" if above else ""
    start: list[Part] = ["Measured numbers come from these ", shown, " runs", rest]
    if count == 1:
        start = ["Measured numbers come from this run", rest]
    table = TableView(
        key="runs",
        caption=rich("Runs"),
        conditions=rich("Formula and runs of each number: memo.json. Every run, to filter and zoom: explore.html."),
        head="run",
        columns=("name", "open"),
        rows=tuple(rows),
        text_columns=frozenset({0}),
    )
    blocks: tuple[Block, ...] = (table,)
    if not any(urls.values()):
        blocks = (table, Paragraph(text=rich("Start ", code("tracker ui"), " to browse these runs."), small=True))
    return Section(key="runs", label="Provenance", heading=rich(*start), blocks=blocks)
