"""The part of a memo that fits a mail body: at most 20 table rows in all."""

from __future__ import annotations

from tracker.report import format as fmt
from tracker.report import numbers as num
from tracker.report._brief import experiment_cost, first_stage, pays
from tracker.report._evidence_table import evidence_tables
from tracker.report._fig_gap import gap_figure
from tracker.report._section_bar import bar_figure
from tracker.report._section_options import horizon_caption, options_table
from tracker.report._verdict_text import WORDS, headline, load_words
from tracker.report.reading import Reading
from tracker.report.spans import Part, Rich, capital, known, number, quote, rich, sentence
from tracker.report.view import MailView
from tracker.report.view_parts import Cell, RowHead, TableRow, TableView

MAX_EVIDENCE_ROWS = 10
MAX_OPTION_ROWS = 7  # with both heads 19 rows; a mailbox clips long bodies


def mail_view(reading: Reading) -> MailView:
    """Return subject, short tables and closing words of the mail."""
    return MailView(
        subject=_subject(reading),
        preheader=_preheader(reading),
        gap=gap_figure(reading) or bar_figure(reading),
        evidence=_evidence(reading),
        options=_options(reading),
        change=_change(reading),
        footer=_footer(reading),
    )


def _subject(reading: Reading) -> str:
    word = "Level" if reading.level else WORDS[reading.state]
    pieces = [f"{word}: {headline(reading).text}"]
    best, base = reading.best, reading.baseline
    if best is not None and base is not None and reading.state in ("slower", "faster", "undecided"):
        pieces.append(f" ({num.tok_s(best).text} against {num.tok_s(base).text} tok/s)")
    option = reading.top_option
    if reading.state == "slower" and first_stage(reading):
        pieces.append(f". Asked: {experiment_cost(known(reading.decision.next_experiment)).text} of testing")
    elif reading.state == "slower" and option is not None and pays(option) and option.cost_gpu_hours is not None:
        asked = f"{option.cost_gpu_hours:,.0f}"
        pieces.append(f". Asked: {asked} {fmt.hours_unit(asked)}")
    campaign = reading.analysis.campaign
    return f"[{campaign.name}] {''.join(pieces)}"


def _preheader(reading: Reading) -> Rich:
    experiment = reading.decision.next_experiment
    parts: list[Part] = ["Decision memo. "]
    if experiment is not None:
        parts += ["Next: ", sentence(quote(experiment.title, "next_experiment.title"))]
    return rich(*parts)


def _evidence(reading: Reading) -> TableView | None:
    if not reading.at_load or reading.state == "nothing_new":
        return None
    full = next(evidence_tables(reading))
    bars = reading.state == "no_drafter"
    keep = (0, 3, 4) if bars else (0, 1, 5)
    rows = tuple(
        TableRow(
            head=RowHead(text=row.head.text, tag=row.head.tag),
            cells=tuple(Cell(text=row.cells[index].text) for index in keep),
            role=row.role,
        )
        for row in full.rows
        if row.role != "excluded"
    )
    left = len(rows) - MAX_EVIDENCE_ROWS
    at: Part = rich(" at ", load_words(reading.load)) if len(reading.loads) > 1 else ""
    caption = full.caption
    if left > 0:
        caption = rich("The fastest runs", at)
    elif len(rows) < len(full.rows):
        caption = rich("Every run that counts", at)
    more: Part = "" if left <= 0 else f" The best {MAX_EVIDENCE_ROWS} rows; the others are in the attached memo."
    return TableView(
        key="mail-evidence",
        caption=caption,
        conditions=rich(
            "Acceptance was set, so only the baseline has a speed; break-even is what a drafter must yield."
            if bars
            else "Output tok/s; the last column is what accept length must still gain.",
            more,
        ),
        head=full.head,
        columns=tuple(full.columns[index] for index in keep),
        rows=rows[:MAX_EVIDENCE_ROWS],
    )


def _options(reading: Reading) -> TableView | None:
    if not reading.decision.options or reading.state == "nothing_new":
        return None
    full = options_table(reading, limit=MAX_OPTION_ROWS)
    if full is None:
        return None
    keep = (1, 2, 3)
    rows = tuple(
        TableRow(
            head=RowHead(text=row.head.text, letter=row.head.letter),
            cells=tuple(
                Cell(text=row.cells[index].text, small=row.cells[index].small if index in (2, 3) else ())
                for index in keep
            ),
        )
        for row in full.rows
    )
    total, shown = len(reading.decision.options), len(rows)
    dearer = any(row.cells[2].small for row in full.rows)
    phases = "; below a cost, what its phases take as measured, more than the price stated" if dearer else ""
    more = f" {shown} of {total}; the others are in the attached memo." if shown < total else ""
    return TableView(
        key="mail-options",
        caption=rich("Options", horizon_caption(reading)),
        conditions=rich("GPU-hours; net value with 80 % interval", phases, ".", more),
        head=full.head,
        columns=tuple(full.columns[index] for index in keep),
        rows=rows,
    )


def _change(reading: Reading) -> Rich:
    parts: list[Part] = []
    top = reading.top_option
    other = [choice for choice in reading.decision.horizons if top is None or choice.option_key != top.key]
    if other:
        longest = max(other, key=lambda choice: choice.days)
        days = number(fmt.fixed(longest.days, 0), longest.days, "length of use tried", unit="days", kind="assumed")
        who = reading.letters.get(longest.option_key, longest.title)
        parts += ["Used for ", days, " days, ", quote(who, "decision.horizons"), " leads."]
    for item in reading.decision.sensitivity:
        if item.changes and not item.contradicted:
            who = reading.letters.get(item.option_key, item.title)
            parts += [" " if parts else "", quote(f"{capital(item.label)}: {who} leads.", "decision.sensitivity")]
    return rich(*parts)


def _footer(reading: Reading) -> Rich:
    news = {point.run_id for point in reading.analysis.points if point.is_news}
    count = len(news)
    why = f"{count} run is new" if count == 1 else f"{count} runs are new"
    return rich(
        "The full memo with every number traced to its run is attached as memo.html. Sent because ",
        quote(why, "runs logged in the window"),
        ".",
    )
