"""The verdict in words: state, headline, lede and the strip below them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tracker.analysis.results import LoadVerdict
from tracker.report import format as fmt
from tracker.report import numbers as num
from tracker.report._bars import easiest
from tracker.report.reading import Reading, paired, standing_state
from tracker.report.spans import Part, Rich, Span, known, label, listing, number, quote, rich
from tracker.report.view_parts import State, StateKey

_DRIFT = re.compile(r"\d+ baselines differ by [\d.]+ %")  # the analysis says so where drift reaches the effect
_LUCK = re.compile(r"The fastest of \d+ candidates")  # and so where the choice among candidates may explain the lead

WORDS: dict[StateKey, str] = {
    "faster": "Faster",
    "slower": "Slower",
    "undecided": "Not decidable",
    "mixed": "Depends on load",
    "no_baseline": "No baseline",
    "no_candidate": "No contender",
    "no_drafter": "Not decidable",
    "nothing_new": "Nothing new",
}


def load_words(concurrency: int | None) -> Rich:
    """Return `1 stream`, `8 streams`."""
    if concurrency is None:
        return rich("the measured load")
    words = fmt.streams(concurrency)
    return rich(
        number(words.split()[0], concurrency, "concurrency, as measured", kind="measured"), " ", words.split()[1]
    )


def state(reading: Reading) -> State:
    """Return the verdict in a word."""
    at = Rich()
    if reading.state == "no_drafter":
        return State(key=reading.state, word=WORDS[reading.state], at=rich("no drafter was served"))
    if reading.state in ("faster", "slower", "undecided"):
        loads = [verdict.concurrency for verdict in reading.analysis.verdict.by_concurrency]
        at = rich("at ", load_list(loads))
    return State(key=reading.state, word="Level" if reading.level else WORDS[reading.state], at=at)


def headline(reading: Reading) -> Rich:
    """Return what to do, a colon, and the reason with one number."""
    return _HEADLINES[reading.state](reading)


def lede(reading: Reading) -> Rich:
    """Return both numbers, the interval, and what they hold for."""
    text = _LEDES[reading.state](reading)
    if reading.state in ("nothing_new", "no_baseline", "no_candidate", "no_drafter"):
        return text
    items = [reading.verdict] if reading.state != "mixed" else reading.analysis.verdict.by_concurrency
    if any(item is not None and paired(reading, item) for item in items):
        return rich(text, " Compared on the prompts that both runs answered.")
    return text


def runs_of(verdict: LoadVerdict) -> tuple[str, ...]:
    """Return the runs behind a verdict, contender first."""
    return tuple(run for run in (verdict.best_run_id, verdict.baseline_run_id) if run is not None)


def returns_production(reading: Reading) -> bool:
    """Whether something speculative is deployed, so that the plain server is to go back to."""
    deployed = reading.deployed
    return deployed is not None and deployed.configuration.speculative


def _plain_server(reading: Reading) -> str:
    return "Go back to the plain server" if returns_production(reading) else "Stay on the plain server"


def load_list(loads: Sequence[int | None]) -> Rich:
    """Return `1 stream`, `8 and 32 streams`."""
    known = [load for load in loads if load is not None]
    if len(known) != len(loads) or not known:
        return rich("the measured load" if len(loads) == 1 else "the measured loads")
    numbers: list[Part] = [number(f"{load:,}", load, "concurrency, as measured", kind="measured") for load in known]
    return rich(listing(numbers), " stream" if known == [1] else " streams")


def _slower_headline(reading: Reading) -> Rich:
    verdict = _verdict(reading)
    who = "the best drafter setup" if len(reading.contenders) > 1 else "the drafter"
    size = num.difference(verdict.speedup, runs_of(verdict), signed=False)
    return rich(f"{_plain_server(reading)}: {who} is ", size, " slower")


def _faster_headline(reading: Reading) -> Rich:
    verdict = _verdict(reading)
    keep = reading.deployed is not None and reading.deployed == reading.best
    size = num.speedup_ratio(verdict.speedup, runs_of(verdict), mark="")
    loads = [item.concurrency for item in reading.analysis.verdict.by_concurrency]
    at = rich(" at ", load_list([verdict.concurrency])) if len(loads) == 1 else rich(" and more at no load")
    if len(loads) > 1:
        at = rich(" at ", load_list([verdict.concurrency]), ", faster at every load")
    return rich("Keep the drafter: " if keep else "Deploy the drafter: ", size, " times as fast", at)


def _undecided_headline(reading: Reading) -> Rich:
    verdict = _verdict(reading)
    runs = runs_of(verdict)
    value = verdict.speedup.value
    if reading.level and verdict.equivalence_margin is not None:
        shown = num.margin(verdict.equivalence_margin, runs)
        return rich(f"{_plain_server(reading)}: the drafter is level with it, within ", shown)
    if value is None:
        return rich("Measure again: these runs do not decide")
    size = num.difference(verdict.speedup, runs, signed=False)
    side = "ahead" if value >= 1 else "behind"
    apart = _DRIFT.match(verdict.reason or "")
    if apart is not None:
        return rich(
            "Measure again: ", quote(apart.group(), "verdict.by_concurrency.reason", runs), ", the drafter by ", size
        )
    if _LUCK.match(verdict.reason or ""):
        return rich("Measure again: ", size, " ahead, in part for being the fastest of several")
    if verdict.smallest_detectable is None:
        return rich("Measure again: ", size, f" {side}, and the interval holds 1.0")
    smallest = detectable(verdict)
    return rich("Measure again: ", size, f" {side}, below the ", smallest, " that these runs could show")


def _mixed_headline(reading: Reading) -> Rich:
    loads = reading.analysis.verdict.by_concurrency
    faster = [item.concurrency for item in loads if item.status == "faster"]
    slower = [item.concurrency for item in loads if item.status == "slower"]
    unknown = [item.concurrency for item in loads if item.status == "undecided"]
    open_end = rich("; at ", _bare(unknown), " the data do not decide") if unknown else Rich()
    if faster and slower:
        return rich("Use the drafter at ", load_list(faster), ", not at ", _bare(slower), open_end)
    if faster:
        return rich("Use the drafter at ", load_list(faster), open_end)
    return rich(_plain_server(reading), ": the drafter is slower at ", load_list(slower), open_end)


def _bare(loads: Sequence[int | None]) -> Rich:
    parts: list[Part] = [
        number(f"{load:,}", load, "concurrency, as measured", kind="measured") for load in loads if load is not None
    ]
    return listing(parts)


def _no_baseline_headline(reading: Reading) -> Rich:
    return rich("No verdict: run the baseline first")


def _no_candidate_headline(reading: Reading) -> Rich:
    cause = reading.analysis.root_cause
    if cause is not None and not cause.fixed:
        return rich("Correct the flag first: the drafter never ran as it was trained")
    return rich("No verdict: nothing to compare the baseline with")


def _no_drafter_headline(reading: Reading) -> Rich:
    lead = easiest(reading)
    at = rich(" at ", load_words(reading.load)) if reading.load is not None else Rich()
    if lead is None:
        return rich("No drafter was served: only what a step costs is known")
    if lead.cost.reachable is False:
        return rich("Train no drafter for this yet: no configuration could pay", at)
    return rich("A drafter pays from ", num.bar(lead.cost.break_even, lead.cost.run_ids), " tokens a step", at)


def _nothing_new_headline(reading: Reading) -> Rich:
    since = fmt.date_long(reading.analysis.window.since, reading.context.timezone)
    return rich("Nothing new since ", label(since), ": the verdict stands")


def _pair(reading: Reading) -> Rich:
    """Return `82.3 against 90.0 tok/s`."""
    return rich(num.tok_s(known(reading.best)), " against ", num.tok_s(known(reading.baseline)), " tok/s")


def _slower_lede(reading: Reading) -> Rich:
    verdict = _verdict(reading)
    pays = any((option.p_beats_baseline or 0.0) > 0.5 for option in reading.decision.options)
    tail = " The drafter can still pay, but not as it is." if pays else ""
    return rich(_pair(reading), _percent_interval(verdict), ".", tail)


def _percent_interval(verdict: LoadVerdict) -> Rich:
    """Return `; 80 % interval 5 to 12 % slower`, whole per cent."""
    speedup, runs = verdict.speedup, runs_of(verdict)
    if speedup.low is None or speedup.high is None:
        return rich("; ", speedup.reason or "no interval known")
    formula = "80 % interval of throughput of the contender / throughput of the baseline, minus 1"
    near, far = sorted((1 - speedup.high, 1 - speedup.low), key=abs)
    if near * far > 0:
        word = "slower" if near > 0 else "faster"
        decimals = 0 if abs(near) >= 0.01 else 1
        shown = num.ends(abs(near) * 100, abs(far) * 100, decimals, formula, runs, unit="%")
        return rich("; 80 % interval ", worded(shown), f" % {word}")
    low, high = speedup.low - 1, speedup.high - 1
    return rich("; 80 % interval ", num.ends(low * 100, high * 100, 0, formula, runs, unit="%", signed=True), " %")


def worded(shown: Rich) -> Rich:
    """Return a range with `to` between its ends, as a sentence has it."""
    return rich(*(" to " if span.text == fmt.DASH else span for span in shown.spans))


def _faster_lede(reading: Reading) -> Rich:
    verdict = _verdict(reading)
    shown = worded(num.speedup_range(verdict.speedup, runs_of(verdict)))
    tail = rich("; 80 % interval ", shown, " times") if shown else rich("; ", verdict.speedup.reason or "no interval")
    return rich(_pair(reading), tail, ".")


def _undecided_lede(reading: Reading) -> Rich:
    verdict = _verdict(reading)
    if reading.best is None or reading.baseline is None:
        return rich(quote(verdict.reason or "", "verdict.by_concurrency.reason", runs_of(verdict)))
    parts: list[Part] = [_pair(reading), _percent_interval(verdict), "."]
    if verdict.smallest_detectable is not None:
        parts += [" Smallest effect these runs could show: about ", detectable(verdict), "."]
    return rich(*parts)


def _mixed_lede(reading: Reading) -> Rich:
    loads = [item for item in reading.analysis.verdict.by_concurrency if item.speedup.value is not None]
    decided = [item for item in loads if item.status != "undecided"] or loads
    shown = decided if len(decided) <= 2 else [decided[0], decided[-1]]
    parts: list[Part] = []
    for index, item in enumerate(shown):
        ratio = num.speedup_ratio(item.speedup, runs_of(item), mark="")
        shown_range = worded(num.speedup_range(item.speedup, runs_of(item)))
        words = (
            rich(" times the baseline at ", load_words(item.concurrency))
            if index == 0
            else rich(" times at ", _bare([item.concurrency]))
        )
        inner = rich(" (80 % interval ", shown_range, ")") if index == 0 else rich(" (", shown_range, ")")
        parts += [", " if index else "", ratio, words, inner if shown_range else ""]
    return rich(*parts, ".")


def _no_baseline_lede(reading: Reading) -> Rich:
    if not reading.analysis.points:
        return rich(
            "No benchmark of this campaign counts. A plain server and one with the drafter, on the same prompts "
            "and at the same load, are enough."
        )
    count = len({point.run_id for point in reading.analysis.points if point.configuration.speculative})
    runs = tuple({point.run_id: None for point in reading.analysis.points if point.configuration.speculative})
    shown = number(str(count), count, "speculative runs in the comparison group", runs, kind="measured")
    noun = "run" if count == 1 else "runs"
    usable = "usable " if any(not point.configuration.speculative for point in reading.analysis.points) else ""
    return rich(
        shown, f" drafter {noun}, no {usable}plain run on the same hardware, build and load. ", _plain_runs(reading)
    )


def _plain_runs(reading: Reading) -> Rich:
    """Return what there is instead of a baseline where a drafter was served: plain runs left out, or at other loads."""
    plain = [point for point in reading.analysis.points if not point.configuration.speculative]
    void = next((point for point in plain if point.excluded_reason is not None), None)
    loads = sorted({point.concurrency for point in plain if point.excluded_reason is None and point.concurrency})
    if loads:
        return rich("The plain server was measured only at ", load_list(loads), ". One more baseline run is enough.")
    if void is not None and void.excluded_reason is not None:
        reason = quote(void.excluded_reason, "evidence.excluded_reason", [void.run_id])
        return rich(label(void.name), " is left out: ", reason, ". One sound baseline run is enough.")
    return rich("One baseline run is enough.")


def _no_candidate_lede(reading: Reading) -> Rich:
    plain = [point for point in reading.analysis.points if not point.configuration.speculative]
    if not plain or plain[0].throughput_tok_s.value is None:
        return rich("No usable run with a drafter on the same hardware, build and load.")
    return rich(
        "The baseline makes ",
        num.tok_s(plain[0]),
        " tok/s. No usable run with a drafter on the same hardware, build and load.",
    )


def _no_drafter_lede(reading: Reading) -> Rich:
    costs = reading.analysis.costs
    labels = {cost.configuration.label for cost in costs}
    runs = tuple(dict.fromkeys(run for cost in costs for run in cost.run_ids))
    count = number(str(len(labels)), len(labels), "configurations with a break-even", runs)
    loads = {cost.concurrency for cost in costs}
    many: Part = ""
    if len(loads) > 1:
        many = rich(" at ", number(str(len(loads)), len(loads), "loads with a break-even", runs), " loads")
    noun = " configuration" if len(labels) == 1 else " configurations"
    return rich(
        "No drafter was served, so whether one is faster is not decidable. Acceptance was set by hand, which measures "
        "what a step costs: ", count, noun, many, ".",
    )  # fmt: skip


def _nothing_new_lede(reading: Reading) -> Rich:
    standing = standing_state(reading.analysis)
    word = WORDS[standing].lower()
    if reading.best is None or reading.baseline is None:
        return rich(f"Still: {word}. No mail is sent.")
    return rich(f"Still {word}: ", _pair(reading), ". No mail is sent.")


def detectable(verdict: LoadVerdict) -> Span:
    """Return the smallest difference that a load's runs would have shown: `9 %`."""
    value = known(verdict.smallest_detectable)
    formula = "smallest relative difference that these runs would have shown, from their noise and prompts"
    return number(fmt.percent(value, digits=0 if value >= 0.02 else 1, signed=False), value, formula, runs_of(verdict))


def _verdict(reading: Reading) -> LoadVerdict:
    return known(reading.verdict)


_HEADLINES = {
    "faster": _faster_headline,
    "slower": _slower_headline,
    "undecided": _undecided_headline,
    "mixed": _mixed_headline,
    "no_baseline": _no_baseline_headline,
    "no_candidate": _no_candidate_headline,
    "no_drafter": _no_drafter_headline,
    "nothing_new": _nothing_new_headline,
}
_LEDES = {
    "faster": _faster_lede,
    "slower": _slower_lede,
    "undecided": _undecided_lede,
    "mixed": _mixed_lede,
    "no_baseline": _no_baseline_lede,
    "no_candidate": _no_candidate_lede,
    "no_drafter": _no_drafter_lede,
    "nothing_new": _nothing_new_lede,
}
