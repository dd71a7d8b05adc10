"""The four lines under the verdict: Asked of you, Why, Do next, Least certain; at most 30 words each."""

from __future__ import annotations

from tracker.analysis.results import NextExperiment, OptionAssessment, RootCause
from tracker.report import format as fmt
from tracker.report import numbers as num
from tracker.report._bars import easiest
from tracker.report._fastest_chains import typical, typical_chain
from tracker.report._least_certain import least_certain
from tracker.report._prices import exceeds_price, worst_gpu_hours
from tracker.report._verdict_text import load_words, returns_production
from tracker.report._why import why
from tracker.report.reading import Reading
from tracker.report.spans import (
    Part,
    Rich,
    Span,
    capital,
    code,
    fit_words,
    known,
    label,
    listing,
    number,
    quote,
    rich,
    sentence,
    uncapital,
)
from tracker.report.view_parts import BriefItem

WORD_LIMIT = 30
CHEAP_FRACTION = 0.05  # an experiment below this share of the leading option's cost is done first


def brief(reading: Reading) -> tuple[BriefItem, ...]:
    """Return the four lines, in their fixed order; none when nothing is new."""
    if reading.state == "nothing_new":
        return ()
    lead, rest = _ASKS[reading.state](reading)
    return (
        BriefItem(label="Asked of you", lead=lead, text=_within(lead, rest)),
        BriefItem(label="Why", lead=Rich(), text=fit_words(WORD_LIMIT, *why(reading))),
        BriefItem(label="Do next", lead=Rich(), text=do_next(reading)),
        BriefItem(label="Least certain", lead=Rich(), text=fit_words(WORD_LIMIT, *least_certain(reading))),
    )


def pays(option: OptionAssessment | None) -> bool:
    """Whether an option is worth asking for: it costs something, and is expected to earn more than that."""
    return (
        option is not None
        and option.cost_gpu_hours is not None
        and option.cost_gpu_hours > 0
        and option.net_gpu_hours.value is not None
        and option.net_gpu_hours.value > 0
    )


def cost(option: OptionAssessment) -> Span:
    """Return an option's price in GPU-hours."""
    value = known(option.cost_gpu_hours)
    formula = f"options[{option.key}].cost_gpu_hours, from the prices in campaign.toml"
    return number(fmt.gpu_hours(value), value, formula, unit="GPU-hours", kind="assumed")


def deployed_words(reading: Reading, *, by_row: bool = False) -> Rich:
    """Return what is deployed now, in the words of the campaign, else of its row, with its speed.

    Args:
        reading: The analysis, read.
        by_row: Whether to prefer the words of the row, which may be shorter.
    """
    campaign, point = reading.analysis.campaign, reading.deployed
    if campaign.deployed is None and point is None:
        return Rich()
    row = None if point is None else reading.names.row(point)
    words = (row or campaign.deployed or "") if by_row else (campaign.deployed or row or "")
    parts: list[Part] = [label(words)]
    if point is not None and point.throughput_tok_s.value is not None and num.tok_s(point).text not in words:
        parts += [", ", num.tok_s(point), " tok/s"]
    return rich(*parts)


def do_next(reading: Reading) -> Rich:
    """Return the experiment that tells most per GPU-hour, with its cost and chance, and what comes after it."""
    cause, experiment = reading.analysis.root_cause, reading.decision.next_experiment
    if cause is not None and not cause.fixed:
        return _correct(cause)
    if experiment is None:
        if reading.state == "no_baseline":
            return rich("Run the baseline on the same prompts and load, before and after the next drafter run.")
        if reading.state == "no_candidate":
            return rich("Benchmark the drafter on the prompts and at the load of the baseline.")
        if reading.state == "no_drafter":
            return _serve_one(reading)
        option = reading.top_option
        if reading.state == "undecided" and option is not None and pays(option):
            letter, title = reading.letters[option.key], quote(uncapital(option.title), f"options[{option.key}].title")
            return rich(f"Option {letter}: ", title, ". It leads whichever way repeats would decide.")
        cure = reading.analysis.scaling.cure
        if cure:
            return fit_words(WORD_LIMIT, sentence(quote(capital(cure), "scaling.cure")))
        return rich("Nothing cheap would change the choice.")
    title = quote(experiment.title.rstrip("."), "next_experiment.title")
    facts = [part for part in (experiment_cost(experiment), experiment_chance(reading, experiment)) if part]
    tail = rich(": ", *_commas(facts)) if facts else Rich()
    return fit_words(WORD_LIMIT, sentence(rich(title, tail)), _then(reading))


def drafter_pays(reading: Reading) -> bool:
    """Whether today's best drafter is faster at the headline's load, so that serving it is what comes first."""
    found = reading.analysis.verdict
    return any(item.status == "faster" for item in found.by_concurrency if item.concurrency == reading.load)


def _then(reading: Reading) -> Rich | None:
    """Return the option that would earn more than today's drafter; None where nothing would or none pays yet."""
    option = reading.top_option
    if option is None or option.key == "deploy_best" or not pays(option) or not drafter_pays(reading):
        return None
    title = quote(uncapital(option.title), f"options[{option.key}].title")
    return rich(f"Then option {reading.letters[option.key]}: ", title, ".")


def _serve_one(reading: Reading) -> Rich:
    lead = easiest(reading)
    if lead is None or lead.cost.reachable is False:
        return rich("Measure shorter chains, or a lower load, before training a drafter.")
    chain = typical_chain(reading) or lead.cost
    words = label(reading.names.configuration(chain.configuration))
    return rich(
        "Benchmark any drafter of this target with ", words, ", without simulated acceptance, on these prompts."
    )


def _correct(cause: RootCause) -> Rich:
    """Return the step that comes before every other one while the root cause stands."""
    after = cause.finding.flag_after
    if after is None:
        return fit_words(WORD_LIMIT, sentence(quote(cause.finding.fix or "Correct the configuration", "findings.fix")))
    return rich("Restart the server with ", code(after), " and benchmark it once on the same prompts.")


def experiment_cost(experiment: NextExperiment) -> Rich:
    """Return `under 1 GPU-hour`, `12 GPU-hours`; empty when not known."""
    value = experiment.cost_gpu_hours
    if value is None:
        return Rich()
    formula = "next_experiment.cost_gpu_hours"
    if value < 1:
        return rich("under ", number("1", value, formula, unit="GPU-hours", kind="assumed"), " GPU-hour")
    shown = fmt.gpu_hours(value)
    return rich(number(shown, value, formula, unit="GPU-hours", kind="assumed"), f" {fmt.hours_unit(shown)}")


def experiment_chance(reading: Reading, experiment: NextExperiment, *, named: bool = True, units: bool = False) -> Rich:
    """Return the chance of the outcome hoped for: `about even odds to beat 90.0`, `chance 0.35`.

    Where today's drafter is faster already it is the one to beat, else the baseline.

    Args:
        reading: The analysis, read.
        experiment: The experiment.
        named: Whether to begin with the word `chance`.
        units: Whether to say the unit of the number to beat.
    """
    value, key, rival = experiment.p_success, "p_success", reading.baseline
    if value is None:
        return Rich()
    if experiment.p_beats_best is not None and reading.best is not None and drafter_pays(reading):
        value, key, rival = experiment.p_beats_best, "p_beats_best", reading.best
    goal: Part = "" if rival is None else rich(" to beat ", num.tok_s(rival), " tok/s" if units else "")
    if experiment.p_is_judgement and 0.4 <= value <= 0.6:
        return rich("about even odds", goal)
    how = " by judgement" if experiment.p_is_judgement else ""
    return rich("chance " if named else "", number(fmt.chance(value), value, f"next_experiment.{key}"), how, goal)


def _commas(parts: list[Rich]) -> list[Part]:
    out: list[Part] = []
    for part in parts:
        out += [", ", part] if out else [part]
    return out


def _within(lead: Rich, rest: list[Rich]) -> Rich:
    budget = WORD_LIMIT - len(lead.text.split())
    kept = [part for part in rest if part]
    if not kept or len(kept[0].text.split()) > budget:
        kept = [part for part in kept if len(part.text.split()) <= budget]
    return fit_words(budget, *kept)


def _now(reading: Reading, *, by_row: bool = False) -> Rich:
    words = deployed_words(reading, by_row=by_row)
    if not words:
        return rich("What is deployed now is not recorded.")
    return rich("Deployed now is " if ":" in words.text else "Deployed now: ", words, ".")


def worst(option: OptionAssessment) -> Span:
    """Return what an option loses where it fails: its price, or what its phases take as measured if that is more."""
    value = worst_gpu_hours(option)
    if not exceeds_price(option):
        return cost(option)
    formula = f"options[{option.key}].cost_split, added: more than the price stated"
    return number(fmt.significant(value, 3, signed=False), value, formula, unit="GPU-hours")


def _worst(option: OptionAssessment) -> Rich:
    shown = worst(option)
    return rich("At worst ", shown, " is lost." if shown.text == "1" else " are lost.")


def first_stage(reading: Reading) -> bool:
    """Whether to ask for the next experiment before the leading option: it is cheap beside it and worth its price."""
    option, experiment = reading.top_option, reading.decision.next_experiment
    if option is None or not pays(option) or experiment is None:
        return False
    price, value = experiment.cost_gpu_hours, experiment.net_value_gpu_hours
    if price is None or value is None:
        return False
    return value > 0 and price < CHEAP_FRACTION * known(option.cost_gpu_hours)


def _ask_first_stage(reading: Reading) -> tuple[Rich, list[Rich]]:
    option, experiment = known(reading.top_option), known(reading.decision.next_experiment)
    where = "Go back to" if returns_production(reading) else "Stay on"
    lead = rich(f"{where} the plain server and spend ", experiment_cost(experiment), " testing?")
    name = reading.letters[option.key]
    lost = worst(option)
    long = rich(f"Then option {name}, at worst ", lost, f" {fmt.hours_unit(lost.text)} lost.")
    short = rich(f"Then option {name}, at worst ", lost, " lost.")
    budget = WORD_LIMIT - len(lead.text.split())
    pairs = [(then, now) for now in (_now(reading), _now(reading, by_row=True)) for then in (long, short)]
    fitting = (pair for pair in pairs if sum(len(part.text.split()) for part in pair) <= budget)
    return lead, list(next(fitting, (_now(reading, by_row=True), short)))


def _ask_slower(reading: Reading) -> tuple[Rich, list[Rich]]:
    option = reading.top_option
    back = returns_production(reading)
    if first_stage(reading):
        return _ask_first_stage(reading)
    if option is not None and pays(option):
        letter = reading.letters[option.key]
        price = cost(option)
        hours = fmt.hours_unit(price.text)
        spend = rich("spend ", price, f" {hours} on option {letter}?")
        if back:
            lead = rich("Move production back to the plain server and ", spend)
            worst, budget = _worst(option), WORD_LIMIT - len(lead.text.split())
            long = _now(reading)
            fits = len(f"{long.text} {worst.text}".split()) <= budget
            return lead, [long if fits else _now(reading, by_row=True), worst]
        lead = _approve(reading, option)
        what = sentence(quote(option.title, f"options[{option.key}].title"))
        return lead, [rich("Production stays on the plain server."), _worst(option), what, _now(reading)]
    if back:
        nothing = rich("Costs nothing and is undone in minutes.")
        return rich("Move production back to the plain server?"), [_now(reading), nothing]
    return rich("Stay on the plain server and stop here?"), [
        rich("No option valued so far is expected to earn back its cost."),
        _now(reading),
    ]


def _ask_faster(reading: Reading) -> tuple[Rich, list[Rich]]:
    best = reading.best
    words = label("the drafter" if best is None else reading.names.row(best))
    keep = best is not None and best.deployed
    lead = rich("Keep " if keep else "Deploy ", words, "?")
    undone = rich("Undone in minutes by starting the plain server.")
    return lead, [_now(reading), undone]


def _ask_undecided(reading: Reading) -> tuple[Rich, list[Rich]]:
    if reading.level:
        back = "Move production back to" if returns_production(reading) else "Stay on"
        return rich(f"{back} the plain server?"), [rich("The drafter brings no speed worth its upkeep."), _now(reading)]
    words = deployed_words(reading)
    link = ", which is " if ":" in words.text else ": "
    stays = rich(f"Production stays on what is deployed now{link}", words, ".") if words else _now(reading)
    experiment, option = reading.decision.next_experiment, reading.top_option
    if experiment is None and option is not None and pays(option):
        what = sentence(quote(option.title, f"options[{option.key}].title"))
        return _approve(reading, option), [what, _worst(option), stays]
    price = Rich() if experiment is None else experiment_cost(experiment)
    lead = (
        rich("Approve ", price, " of measuring before deciding?") if price else rich("Measure again before deciding?")
    )
    return lead, [stays, rich("At worst the time is lost.")]


def _approve(reading: Reading, option: OptionAssessment) -> Rich:
    price = cost(option)
    return rich("Approve ", price, f" {fmt.hours_unit(price.text)} for option {reading.letters[option.key]}?")


def _ask_mixed(reading: Reading) -> tuple[Rich, list[Rich]]:
    loads = reading.analysis.verdict.by_concurrency
    faster = [item.concurrency for item in loads if item.status == "faster"]
    other = [item.concurrency for item in loads if item.status != "faster"]
    if not faster:
        return _ask_slower(reading)
    best = reading.point(next(item.best_run_id for item in loads if item.status == "faster"), faster[0])
    words = label("the drafter" if best is None else reading.names.row(best))
    lead = rich("Serve traffic at ", _loads(faster), " with ", words, "?")
    rest = rich("Traffic at ", _loads(other), " stays on the plain server.")
    return lead, [rest, _now(reading), rich("Undone in minutes.")]


def _loads(loads: list[int | None]) -> Rich:
    known = [load for load in loads if load is not None]
    numbers: list[Part] = [number(f"{load:,}", load, "concurrency, as measured", kind="measured") for load in known]
    return rich(listing(numbers), " stream" if known == [1] else " streams") if known else load_words(None)


def _ask_no_baseline(reading: Reading) -> tuple[Rich, list[Rich]]:
    return rich("Run one baseline benchmark?"), [
        rich("Same hardware, build, prompts and load, without speculation. Nothing can be decided before."),
        _now(reading),
    ]


def _ask_no_drafter(reading: Reading) -> tuple[Rich, list[Rich]]:
    lead = easiest(reading)
    if lead is None or lead.cost.reachable is False:
        return rich("Train no drafter for this load yet?"), [
            rich("Each step costs more than its drafts can yield."),
            _now(reading),
        ]
    start = rich("It pays from ", num.bar(lead.cost.break_even, lead.cost.run_ids), " tokens a step")
    promise = typical(reading)
    pays_from = rich(start, "; ", promise, ".") if promise else rich(start, ".")
    return rich("Serve one drafter of this target?"), [pays_from, _now(reading)]


def _ask_no_candidate(reading: Reading) -> tuple[Rich, list[Rich]]:
    cause = reading.analysis.root_cause
    if cause is not None and not cause.fixed:
        return rich("Restart with the corrected flag and benchmark once?"), [
            _now(reading),
            rich("Undone in minutes; nothing else can be decided before."),
        ]
    return rich("Benchmark the drafter once?"), [
        rich("Same hardware, build, prompts and load as the baseline."),
        _now(reading),
    ]


_ASKS = {
    "slower": _ask_slower,
    "faster": _ask_faster,
    "undecided": _ask_undecided,
    "mixed": _ask_mixed,
    "no_baseline": _ask_no_baseline,
    "no_candidate": _ask_no_candidate,
    "no_drafter": _ask_no_drafter,
}
