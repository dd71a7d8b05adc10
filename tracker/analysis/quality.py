"""What a reader must know about the data, in plain sentences with run ids."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from tracker.analysis.baselines import Reference
from tracker.analysis.noise import claimed_by_runs, replicates, spread_of
from tracker.analysis.observations import Observation
from tracker.analysis.pairing import Comparison
from tracker.analysis.quality_forced import longer_answers, prefill_taken_off
from tracker.analysis.quality_rates import rate_notes
from tracker.analysis.quality_speeds import speed_noise_notes
from tracker.analysis.quality_vocabulary import vocabulary_notes
from tracker.analysis.results import Note, Point, Window
from tracker.analysis.selection import Selection, is_news
from tracker.analysis.words import count, listed, percent, streams
from tracker.analysis.words import loads as in_words
from tracker.domain.campaign import Campaign

# A pass that ends with idle streams counts as a distortion above this share of its throughput.
_IDLE_FRACTION = 0.05
_CACHE_DIFFERENCE = 0.10


def quality_notes(
    observations: Sequence[Observation],
    selection: Selection,
    references: Mapping[int | None, Reference],
    compared: Mapping[tuple[str, int | None], Comparison],
    points: Sequence[Point],
    *,
    campaign: Campaign,
    window: Window,
) -> tuple[Note, ...]:
    """Return the notes, most consequential first."""
    return (
        *_runs(selection, window),
        *_noise(observations, references),
        *speed_noise_notes(observations, references),
        *_baselines(references),
        *_prompts(observations, compared),
        *_idle_ends(observations, references),
        *_caches(observations, references),
        *_plausibility(points),
        *vocabulary_notes(observations, points),
        *_validity(observations),
        *rate_notes(observations),
        *_not_recorded(observations),
        *_not_tested(campaign),
        *_decision_load(observations, campaign),
        *_latency(observations, campaign),
    )


def _runs(selection: Selection, window: Window) -> Iterable[Note]:
    every = tuple(run.run_id for run in selection.kept)
    if not every:
        yield Note(topic="runs", message="No benchmark was logged for this campaign up to the end of the window.")
        return
    if not any(is_news(run, window) for run in selection.kept):
        yield Note(
            topic="news", message="No run was logged in the window; everything here is older evidence.", run_ids=every
        )
    silent = [run for run in selection.kept if not run.record.pooled()]
    for run in silent:
        yield Note(
            topic="runs",
            message=f"{run.record.name} holds no measurement that pools its repeats and categories.",
            run_ids=(run.run_id,),
        )


def _noise(observations: Sequence[Observation], references: Mapping[int | None, Reference]) -> Iterable[Note]:
    by_label: dict[str, list[tuple[int | None, list[Observation]]]] = defaultdict(list)
    for (load, label), members in replicates(observations).items():
        by_label[label].append((load, members))
    for label, loads in sorted(by_label.items()):
        loads.sort(key=lambda pair: _load(pair[0]))
        exceeding = [
            (load, members)
            for load, members in loads
            if load in references and references[load].noise.source == "measured" and _exceeds(members)
        ]
        if not exceeding:
            continue
        spreads = [f"{percent(_spread(members))} at {streams(load)}" for load, members in exceeding]
        steps = [item.step_ms.value for item in exceeding[0][1] if item.step_ms is not None]
        decimals = 1 if f"{min(steps):.1f}" != f"{max(steps):.1f}" else 2
        low, high = (f"{end:.{decimals}f}" for end in (min(steps), max(steps)))
        claimed = max(claimed_by_runs(members) for _, members in exceeding)
        own = f"their own repeats claim {percent(claimed)}" if claimed else "no run was repeated, so they claim none"
        ids = tuple(dict.fromkeys(item.run_id for _, members in exceeding for item in members))
        yield Note(
            topic="noise between runs",
            message=(
                f"{count(len(exceeding[0][1]), 'server')} of one configuration ({label}) should have one step "
                "time, whatever "
                f"the drafter; they run from {low} to {high} ms at "
                f"{streams(exceeding[0][0])}. Standard "
                f"deviation: {listed(spreads)}; {own}. It is carried into every interval, the baseline's included."
                f"{longer_answers(exceeding)}{prefill_taken_off(exceeding)}"
            ),
            run_ids=ids,
        )


def _exceeds(members: Sequence[Observation]) -> bool:
    return _spread(members) > claimed_by_runs(members)


def _spread(members: Sequence[Observation]) -> float:
    found = spread_of(members)
    return 0.0 if found is None else found


def _baselines(references: Mapping[int | None, Reference]) -> Iterable[Note]:
    single: dict[str, list[int | None]] = defaultdict(list)
    for load, reference in sorted(references.items(), key=lambda pair: _load(pair[0])):
        apart = reference.drift.range_fraction
        if apart is None:
            single[reference.baseline.run_id].append(load)
        else:
            yield Note(
                topic="baseline",
                message=f"{len(reference.drift.run_ids)} baselines at {streams(load)} differ by {percent(apart)}.",
                run_ids=reference.drift.run_ids,
            )
        repeats = reference.baseline.repeat_log_sd
        if repeats is not None:
            yield Note(
                topic="baseline",
                message=f"{repeats[1]} passes of the baseline at {streams(load)} scatter by {percent(repeats[0])}.",
                run_ids=(reference.baseline.run_id,),
            )
    for run_id, loads in single.items():
        where = in_words(loads)
        yield Note(
            topic="baseline",
            message=f"One baseline run at {where}: its drift is not measured; it gets at least the noise between runs.",
            run_ids=(run_id,),
        )


def _prompts(
    observations: Sequence[Observation], compared: Mapping[tuple[str, int | None], Comparison]
) -> Iterable[Note]:
    names = {item.run_id: item.record.name for item in observations}
    groups: dict[tuple[int | None, int, bool], list[str]] = defaultdict(list)
    for (run_id, load), found in compared.items():
        if found.restricted:
            groups[(load, found.prompts, found.weak_keys)].append(run_id)
    for (load, prompts, weak), ids in sorted(groups.items(), key=lambda pair: _load(pair[0][0])):
        how = ", matched by category and length because prompts were not kept" if weak else ""
        yield Note(
            topic="prompts in common",
            message=(
                f"At {streams(load)} {listed([names[run_id] for run_id in ids])} answered other prompts than "
                "the baseline: "
                f"compared on the {prompts} in common{how}, by the server's own latencies."
            ),
            run_ids=tuple(ids),
        )
    unrepeated = [item for item in observations if item.contends and item.repeat_log_sd is None]
    if unrepeated and len(unrepeated) == len([item for item in observations if item.contends]):
        yield Note(
            topic="repeats",
            message="No run was repeated: what a repeat would change is assumed.",
            run_ids=tuple(dict.fromkeys(item.run_id for item in unrepeated)),
        )


def _idle_ends(observations: Sequence[Observation], references: Mapping[int | None, Reference]) -> Iterable[Note]:
    for load in sorted({item.concurrency for item in observations if item.concurrency is not None}):
        shares = {
            item.run_id: share
            for item in observations
            if item.concurrency == load and item.contends and (share := _idle_share(item)) is not None
        }
        reference = references.get(load)
        base = None if reference is None else shares.get(reference.baseline.run_id)
        far = {run_id: share for run_id, share in shares.items() if base is not None and share - base > _IDLE_FRACTION}
        if far and base is not None:
            low, high = min(far.values()), max(far.values())
            yield Note(
                topic="idle ends",
                message=(
                    f"At {streams(load)} {percent(low)} to {percent(high)} of the streams' time was idle with "
                    "speculation, "
                    f"{percent(base)} on the baseline: answers end at different times, and a short pass "
                    "understates what "
                    "steady traffic would see. Longer passes cure it."
                ),
                run_ids=tuple(far),
            )


def _idle_share(item: Observation) -> float | None:
    cell = item.cell
    if cell.concurrency is None or cell.concurrency < 2 or not cell.wall_s or cell.busy_s is None:
        return None
    return 1 - cell.busy_s / (cell.concurrency * cell.wall_s)


def _caches(observations: Sequence[Observation], references: Mapping[int | None, Reference]) -> Iterable[Note]:
    for load, reference in sorted(references.items(), key=lambda pair: _load(pair[0])):
        base = _cached_share(reference.baseline)
        if base is None:
            continue
        far = []
        for item in observations:
            share = _cached_share(item)
            if (
                item.concurrency == load
                and item.contends
                and share is not None
                and abs(share - base) > _CACHE_DIFFERENCE
            ):
                far.append(item)
        if far:
            yield Note(
                topic="prefix cache",
                message=(
                    f"At {streams(load)} {percent(base)} of the baseline's prompt tokens came from the prefix cache, "
                    f"for {listed([item.record.name for item in far])} the share differs by more than "
                    f"{percent(_CACHE_DIFFERENCE)}: prefill is not the same work."
                ),
                run_ids=tuple(item.run_id for item in far),
            )


def _cached_share(item: Observation) -> float | None:
    cached, total = item.cell.cached_input_tokens, item.cell.input_tokens
    return None if cached is None or not total else cached / total


def _plausibility(points: Sequence[Point]) -> Iterable[Note]:
    for point in points:
        bar, length, steps = point.break_even, point.accept_length.value, point.configuration.num_steps
        if bar is not None and bar.high < 1:
            yield Note(
                topic="plausibility",
                message=(
                    f"{point.name}: a speculative step takes less time than a plain one ({bar.value:.2f}); the "
                    "baseline is "
                    "slower than it should be."
                ),
                run_ids=(point.run_id,),
            )
        if length is not None and steps is not None and length > steps + 1.001:
            yield Note(
                topic="plausibility",
                message=(
                    f"{point.name}: accept length {length:.2f} is more than {steps} steps can yield; "
                    "conventions are mixed."
                ),
                run_ids=(point.run_id,),
            )


def _validity(observations: Sequence[Observation]) -> Iterable[Note]:
    firsts = {item.run_id: item for item in observations}.values()
    for item in firsts:
        record = item.record
        spec = record.speculation
        if record.validity == "partial":
            why = "" if record.validity_reason is None else f": {record.validity_reason}"
            yield Note(topic="partial", message=f"{record.name} is incomplete{why}.", run_ids=(item.run_id,))
        if spec is not None and spec.simulated_accept_length is not None:
            yield Note(
                topic="simulated acceptance",
                message=(
                    f"{record.name} ran with simulated acceptance: it serves step time only. Measure again without it."
                ),
                run_ids=(item.run_id,),
            )
        thresholds = () if spec is None else (spec.accept_threshold_single, spec.accept_threshold_acc)
        if any(value is not None and value < 1 for value in thresholds):
            yield Note(
                topic="lossy",
                message=f"{record.name} accepts drafts below threshold 1: its output is not the target's.",
                run_ids=(item.run_id,),
            )
    failed = [item for item in observations if item.cell.requests_failed]
    for item in failed:
        yield Note(
            topic="failed requests",
            message=f"{item.record.name}: {item.cell.requests_failed} requests failed at {streams(item.concurrency)}.",
            run_ids=(item.run_id,),
        )


def _not_recorded(observations: Sequence[Observation]) -> Iterable[Note]:
    firsts = list({item.run_id: item for item in observations}.values())
    spec = [item for item in firsts if item.speculative]
    plain = [item for item in firsts if not item.speculative]
    checks: tuple[tuple[str, Sequence[Observation], Callable[[Observation], object]], ...] = (
        ("draft steps", spec, lambda item: item.configuration.num_steps),
        ("top-k", spec, lambda item: item.configuration.eagle_topk),
        ("CUDA graph of the baseline", plain, lambda item: item.configuration.cuda_graph),
        ("engine version", firsts, lambda item: None if item.record.server is None else item.record.server.version),
        (
            "temperature",
            firsts,
            lambda item: None if item.record.workload is None else item.record.workload.temperature,
        ),
        ("GPU", firsts, lambda item: None if item.record.hardware is None else item.record.hardware.gpu),
        ("number of prompts", firsts, lambda item: item.prompts),
        ("load", firsts, lambda item: item.concurrency),
    )
    parts, ids = [], []
    for name, items, fact in checks:
        missing = [item.run_id for item in items if fact(item) is None]
        if missing:
            parts.append(f"{name} ({count(len(missing), 'run')})")
            ids += missing
    if parts:
        yield Note(topic="not recorded", message=f"{_capital(', '.join(parts))}.", run_ids=tuple(dict.fromkeys(ids)))


def _not_tested(campaign: Campaign) -> Iterable[Note]:
    if campaign.untested:
        yield Note(topic="not tested", message=f"{_capital('; '.join(campaign.untested))}.")


def _decision_load(observations: Sequence[Observation], campaign: Campaign) -> Iterable[Note]:
    wanted = campaign.decision_concurrency
    loads = sorted({item.concurrency for item in observations if item.concurrency is not None})
    if wanted is not None and observations and wanted not in loads:
        measured = listed([streams(load) for load in loads]) or "an unrecorded load"
        yield Note(
            topic="decision load",
            message=f"The load that matters, {streams(wanted)}, was not measured; the data are from {measured}.",
        )


def _latency(observations: Sequence[Observation], campaign: Campaign) -> Iterable[Note]:
    limit = campaign.max_tpot_ms
    if limit is None:
        return
    for item in observations:
        if item.concurrency != campaign.decision_concurrency or not item.contends or item.step_ms is None:
            continue
        tokens = 1.0 if item.length is None else item.length.value
        per_token = item.step_ms.value / tokens
        if per_token > limit:
            yield Note(
                topic="latency limit",
                message=(
                    f"{item.record.name} takes {per_token:.1f} ms per output token for one user; "
                    f"the limit is {limit:g} ms."
                ),
                run_ids=(item.run_id,),
            )


def _load(load: int | None) -> int:
    return -1 if load is None else load


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
