"""From analysis to view: the one place where a memo is put together."""

from __future__ import annotations

import dataclasses

from tracker.analysis.results import CampaignAnalysis, DecisionSet
from tracker.report import _verdict_strip as verdict_strip
from tracker.report import _verdict_text as verdict_text
from tracker.report import format as fmt
from tracker.report._brief import brief
from tracker.report._cause import cause
from tracker.report._changed import changed
from tracker.report._mail_view import mail_view
from tracker.report._section_assessment import assessment
from tracker.report._section_bar import bar_section
from tracker.report._section_evidence import evidence
from tracker.report._section_history import history
from tracker.report._section_loads import loads
from tracker.report._section_options import options
from tracker.report._section_past import checked, decided
from tracker.report._sections_closing import assumptions, data_quality, next_experiment, provenance, what_would_change
from tracker.report.clean import clean, safe_url
from tracker.report.context import MemoContext
from tracker.report.physical import physical
from tracker.report.reading import Reading, read
from tracker.report.spans import Part, Rich, label, number, quote, rich
from tracker.report.view import MemoSource, MemoView, RunRow
from tracker.report.view_parts import Section


def build(analysis: CampaignAnalysis, decision: DecisionSet, context: MemoContext) -> MemoView:
    """Return the memo of one campaign, display-ready.

    Args:
        analysis: What the numbers say.
        decision: Options, ranked.
        context: Clock, links and the memo before.
    """
    analysis, decision, context = physical(clean(analysis)), clean(decision), _safe(context)
    reading = read(analysis, decision, context)
    headline = verdict_text.headline(reading)
    state = verdict_text.state(reading)
    return MemoView(
        title=f"{state.word}: {headline.text}",
        campaign=label(analysis.campaign.title or analysis.campaign.name),
        period=_period(reading),
        state=state,
        headline=headline,
        lede=verdict_text.lede(reading),
        strip=verdict_strip.strip(reading),
        strip_title=verdict_strip.strip_title(reading),
        strip_description=verdict_strip.strip_description(reading),
        cause=cause(reading),
        brief=brief(reading),
        sections=_sections(reading),
        footer=_footer(reading),
        runs=_runs(reading),
        mail=mail_view(reading),
        mail_wanted=reading.state != "nothing_new",
        source=MemoSource(analysis=analysis, decision=decision, context=context),
    )


def _safe(context: MemoContext) -> MemoContext:
    """Return the context with clean texts and links that lead to web pages only."""
    return dataclasses.replace(
        clean(context),
        run_urls={run_id: safe_url(url) for run_id, url in context.run_urls.items()},
        tracking_url=safe_url(context.tracking_url),
    )


def _sections(reading: Reading) -> tuple[Section, ...]:
    """Return the sections in reading order; a memo without news stops after what changed and where runs are."""
    if reading.state == "nothing_new":
        parts = (changed(reading), decided(reading), evidence(reading), provenance(reading))
        return tuple(section for section in parts if section is not None)
    candidates = (
        changed(reading),
        decided(reading),
        loads(reading),
        bar_section(reading),
        evidence(reading),
        history(reading),
        assessment(reading),
        options(reading),
        next_experiment(reading),
        what_would_change(reading),
        checked(reading),
        assumptions(reading),
        data_quality(reading),
        provenance(reading),
    )
    return tuple(section for section in candidates if section is not None)


def _period(reading: Reading) -> Rich:
    window, zone = reading.analysis.window, reading.context.timezone
    runs = tuple(dict.fromkeys(point.run_id for point in reading.analysis.points))
    count = number(str(len(runs)), len(runs), "runs in the comparison group", runs, kind="measured")
    which = reading.context.memo_number
    ordinal: Part = "" if which is None else ", first memo" if which == 1 else rich(", ", label(f"memo {which}"))
    words = " run" if len(runs) == 1 else " runs"
    return rich(label(fmt.period(window.since, window.until, zone)), ", ", count, words, ordinal)


def _footer(reading: Reading) -> Rich:
    analysis, context = reading.analysis, reading.context
    since = context.since_text or fmt.moment_long(analysis.window.since, context.timezone)
    until = context.until_text or fmt.moment_long(analysis.window.until, context.timezone)
    made = fmt.moment_long(context.generated_at, context.timezone)
    parts: list[Part] = ["Window ", label(since), " to ", label(until), ". "]
    if analysis.verdict.scope:
        served: Part = "" if analysis.engine is None else rich(", served by ", label(analysis.engine))
        parts += ["Holds for ", quote(analysis.verdict.scope, "verdict.scope"), served, ". "]
    parts.append("Intervals are 80 % unless stated. ")
    if context.tracking_url:
        parts += ["Runs: ", label(context.tracking_url), ". "]
    parts += ["Data: memo.json. Made ", label(made)]
    if context.tracker_version:
        parts += [" by tracker ", label(context.tracker_version)]
    return rich(*parts, ".")


def _runs(reading: Reading) -> tuple[RunRow, ...]:
    names = {point.run_id: point.name for point in reading.analysis.points}
    return tuple(
        RunRow(run_id=run_id, short=short, name=names.get(run_id, ""), url=reading.context.run_urls.get(run_id))
        for run_id, short in reading.names.shorts.items()
    )
