"""The whole analysis of one campaign in one window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracker.analysis.acceptance_profile import profile
from tracker.analysis.assumptions import assumption_notes
from tracker.analysis.baseline_flags import baseline_flag_findings
from tracker.analysis.baselines import Reference, references
from tracker.analysis.chain_bars import chain_bars
from tracker.analysis.claims import check_claims
from tracker.analysis.configurations import configurations
from tracker.analysis.costs import configuration_costs
from tracker.analysis.diagnosis import diagnoses
from tracker.analysis.history import step_changes
from tracker.analysis.noise import load_noise
from tracker.analysis.observations import Observation, observe
from tracker.analysis.pairing import Comparison
from tracker.analysis.prefill import end_to_end_bar
from tracker.analysis.priors import DEFAULT_PRIORS, Priors
from tracker.analysis.quality import quality_notes
from tracker.analysis.quality_costs import cost_notes, history_notes
from tracker.analysis.results import CampaignAnalysis, LoadVerdict, Point, Verdict, Window
from tracker.analysis.root_cause import by_urgency, root_cause, shared_findings
from tracker.analysis.rows import evidence_points
from tracker.analysis.scaling import analyse_scaling
from tracker.analysis.selection import Selection, select
from tracker.analysis.step_time import fit
from tracker.analysis.verdict import best_candidate, comparisons, judge, overall
from tracker.domain.campaign import Campaign
from tracker.domain.record import StoredRun


def analyse(
    runs: Sequence[StoredRun],
    *,
    campaign: Campaign,
    window: Window,
    baseline_run: str | None = None,
    priors: Priors = DEFAULT_PRIORS,
    seed: int = 0,
) -> CampaignAnalysis:
    """Return everything the data of a campaign carry, and what they do not.

    Runs logged in the window are news; older ones remain evidence. No run at all gives an undecided verdict.

    Args:
        runs: All runs of the campaign, per-request rows filled where there are any.
        campaign: Question, costs and claims.
        window: Reporting window.
        baseline_run: Run id, record id or name of the baseline to beat; the fastest plain run by default.
        priors: Assumptions.
        seed: Seed of every random draw.

    Raises:
        InputError: `baseline_run` is no plain benchmark of this campaign.
    """
    selection = select(runs, window=window, baseline_run=baseline_run)
    observations = observe(selection.kept, configurations(selection.kept))
    refs = references(observations, wanted=selection.baseline_run_id, priors=priors)
    compared = comparisons(observations, refs, priors)
    load = decision_load(observations, refs, campaign)
    best = best_candidate(observations, compared, load)
    points = evidence_points(
        observations, refs, compared, campaign=campaign, window=window, trainings=selection.trainings, priors=priors
    )
    costs = configuration_costs(observations, refs, priors)
    acceptance = profile(observations, best, priors, selection.trainings)
    changes = step_changes(runs, window=window, priors=priors)
    told_apart = diagnoses(observations, refs, costs)
    bars = {(cost.configuration.label, cost.concurrency): end_to_end_bar(cost) for cost in costs}
    step_time = fit(observations, refs.get(load), best or _timed(observations, load), priors=priors, seed=seed)
    noise = load_noise(observations, priors)
    plain = {at: ref.baseline.throughput.value for at, ref in refs.items() if ref.baseline.throughput is not None}
    curve = analyse_scaling(
        observations,
        selection.trainings,
        load=load,
        prefer=None if best is None else best.configuration,
        bars=bars,
        priors=priors,
        seed=seed,
    )
    return CampaignAnalysis(
        campaign=campaign,
        window=window,
        hardware=selection.hardware,
        points=points,
        rejected=selection.rejected,
        costs=costs,
        verdict=_verdict(observations, refs, compared, selection, runs, load=load, priors=priors),
        root_cause=root_cause(observations, priors),
        findings=by_urgency([*shared_findings(selection.kept), *baseline_flag_findings(observations, refs)]),
        step_time=step_time,
        acceptance=acceptance,
        scaling=curve.fit,
        claims=check_claims(campaign.claims, costs, point_of(points, best), _baseline_point(points, refs, load)),
        assumptions=assumption_notes(
            campaign,
            observations,
            refs,
            compared,
            step_time=step_time,
            scaling=curve.fit,
            acceptance=acceptance,
            load=load,
            priors=priors,
        ),
        data_quality=(
            *quality_notes(observations, selection, refs, compared, points, campaign=campaign, window=window),
            *cost_notes(costs, acceptance),
            *history_notes(changes, told_apart),
        ),
        target=next((run.record.target.name for run in selection.kept if run.record.target is not None), None),
        engine=next((run.record.server.engine for run in selection.kept if run.record.server is not None), None),
        target_drafts_itself=_drafts_itself(selection),
        noise=noise,
        changes=changes,
        diagnoses=told_apart,
        chain_bars=chain_bars(costs, noise, plain, priors),
    )


def decision_load(
    observations: Sequence[Observation], refs: Mapping[int | None, Reference], campaign: Campaign
) -> int | None:
    """Return the load that matters: the campaign's where it was measured, else one that can be compared.

    Of these the one with the largest share of the traffic, the smallest where no shares are stated.
    """
    loads = {item.concurrency for item in observations}
    if not loads:
        return campaign.decision_concurrency
    if campaign.decision_concurrency is not None and campaign.decision_concurrency in loads:
        return campaign.decision_concurrency
    candidates = {item.concurrency for item in observations if item.speculative and item.contends}
    comparable = sorted(load for load in candidates & refs.keys() if load is not None)
    known = sorted(load for load in candidates or loads if load is not None)
    shares = campaign.traffic.by_concurrency
    return max(comparable or known, key=lambda load: (shares.get(load, 0.0), -load), default=None)


def _timed(observations: Sequence[Observation], load: int | None) -> Observation | None:
    """Return the run of the deepest configuration whose step was timed, for a split where no drafter was served."""
    timed = [item for item in observations if item.speculative and item.times_steps and item.concurrency == load]
    return max(timed, key=lambda item: (item.configuration.num_steps or 0, item.record.record_id), default=None)


def point_of(points: Sequence[Point], item: Observation | None) -> Point | None:
    """Return the row of an observation."""
    if item is None:
        return None
    return next(point for point in points if (point.run_id, point.concurrency) == (item.run_id, item.concurrency))


def _baseline_point(points: Sequence[Point], refs: Mapping[int | None, Reference], load: int | None) -> Point | None:
    return point_of(points, refs[load].baseline) if load in refs else None


def _drafts_itself(selection: Selection) -> bool | None:
    configs = [run.record.target.config for run in selection.kept if run.record.target is not None]
    read = [config for config in configs if config]
    if not read:
        return None
    return any(config.get(name) for config in read for name in ("num_nextn_predict_layers", "mtp_num_hidden_layers"))


def _verdict(
    observations: Sequence[Observation],
    refs: Mapping[int | None, Reference],
    compared: Mapping[tuple[str, int | None], Comparison],
    selection: Selection,
    runs: Sequence[StoredRun],
    *,
    load: int | None,
    priors: Priors,
) -> Verdict:
    loads = sorted({item.concurrency for item in observations}, key=lambda value: -1 if value is None else value)
    by_load: list[LoadVerdict] = [
        judge(observations, refs, compared, load=value, priors=priors) for value in loads or [load]
    ]
    best = best_candidate(observations, compared, load)
    population = None if best is None else compared.get((best.run_id, load))
    return overall(
        by_load,
        decision_load=load,
        population=population,
        hardware=selection.hardware,
        priors=priors,
        prompt_set=_prompt_set(selection, runs),
    )


def _prompt_set(selection: Selection, runs: Sequence[StoredRun]) -> str | None:
    """Return the name of the prompts that are compared, where the campaign has others too; else None."""
    kept, every = (
        {run.record.workload.prompt_set for run in some if run.record.workload is not None} - {None}
        for some in (selection.kept, runs)
    )
    return next(iter(kept)) if len(kept) == 1 and len(every) > 1 else None
