"""memo.json: the memo as data. Keys are a contract; a value that is not known is null."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from tracker.analysis.results import CampaignAnalysis, LoadVerdict, Point
from tracker.domain.estimate import Estimate
from tracker.report import _json_parts as parts
from tracker.report._json_scaling import scaling
from tracker.report.past import calibration, decisions
from tracker.report.reading import standing_state
from tracker.report.view import MemoView
from tracker.report.walk import spans_of

SCHEMA_VERSION = 1


def render_json(view: MemoView) -> str:
    """Return memo.json; the same view gives the same bytes."""
    # An open end is null: JSON has no infinity, and msgspec writes none.
    return msgspec.json.format(msgspec.json.encode(_document(view), enc_hook=_number), indent=2).decode() + "\n"


def with_report_run(memo_json: str, *, run_id: str, url: str | None) -> str:
    """Return memo.json with the run that keeps the memo in the store, which is known only once it is kept."""
    kept = json.dumps({"run_id": run_id, "url": url}, ensure_ascii=False, indent=2).replace("\n", "\n  ")
    # A line break inside a text is escaped, and keys further in are indented further: this line is the only one.
    return memo_json.replace('\n  "report_run": null', f'\n  "report_run": {kept}')


def _number(value: object) -> float:
    """Return a number of numpy's as Python's.

    Raises:
        TypeError: Something else; a programming error.
    """
    if isinstance(value, float):
        return float(value)
    raise TypeError(f"memo.json cannot hold a {type(value).__name__}")


def _document(view: MemoView) -> dict[str, Any]:
    analysis, decision, context = view.source.analysis, view.source.decision, view.source.context
    campaign = analysis.campaign
    return {
        "schema_version": SCHEMA_VERSION,
        "experiment": campaign.name,
        "title": campaign.title,
        "since": analysis.window.since.isoformat(),
        "until": analysis.window.until.isoformat(),
        "generated_at": context.generated_at.isoformat(),
        "memo_number": context.memo_number,
        "tracker_version": context.tracker_version,
        "question": campaign.question,
        "engine": analysis.engine,
        "target": analysis.target,
        "deployed": campaign.deployed or campaign.deployed_run,
        "headline": view.headline.text,
        "state": view.state.key,
        "verdict": {
            "status": analysis.verdict.status,
            "scope": analysis.verdict.scope,
            "decision_concurrency": analysis.verdict.decision_concurrency,
            "by_concurrency": [_load(item) for item in analysis.verdict.by_concurrency],
            "population_speedup": _estimate(analysis.verdict.population_speedup),
            "population_note": analysis.verdict.population_note,
            "comparable": standing_state(analysis) not in ("no_baseline", "no_candidate", "no_drafter"),
        },
        "root_cause": parts.root_cause(analysis.root_cause),
        "findings": [parts.finding(shared) for shared in analysis.findings],
        "evidence": [_point(point) for point in analysis.points],
        "break_even_by_configuration": [parts.cost(cost) for cost in analysis.costs],
        "chain_bars": [parts.chain_bar(bar) for bar in analysis.chain_bars],
        "noise": [parts.noise(item) for item in analysis.noise],
        "step_time": parts.step_time(analysis.step_time),
        "acceptance": parts.acceptance(analysis.acceptance),
        "scaling": scaling(analysis.scaling),
        "options": [parts.option(option) for option in decision.options],
        "next_experiment": parts.experiment(decision.next_experiment),
        "experiments": [parts.experiment(item) for item in decision.experiments],
        "flips": [parts.flip(item) for item in decision.flips],
        "horizons": [parts.horizon(choice) for choice in decision.horizons],
        "sensitivity": [parts.sensitivity(item) for item in decision.sensitivity],
        "evpi_gpu_hours": decision.evpi_gpu_hours,
        "claims": [{"message": claim.message, "run_ids": list(claim.run_ids)} for claim in analysis.claims],
        "assumptions": [parts.note(item) for item in analysis.assumptions],
        "data_quality": [parts.note(item) for item in analysis.data_quality],
        "history": [parts.step_change(change) for change in analysis.changes],
        "decisions": [parts.decided(item) for item in decisions(analysis, context)],
        "calibration": parts.calibration(calibration(analysis, context)),
        "report_run": None,
        "rejected": [parts.note(item) for item in analysis.rejected],
        "runs": [{"run_id": run.run_id, "label": run.short, "name": run.name, "url": run.url} for run in view.runs],
        "numbers": numbers(view),
    }


def numbers(view: MemoView) -> list[dict[str, Any]]:
    """Return one entry for each number shown, in reading order, with its value, runs and formula.

    What is drawn from the analysis as a whole, an option's value or a chance, names the runs that carry the analysis.
    """
    known = {run.run_id for run in view.runs}
    carrying = [run_id for run_id in _carrying(view.source.analysis) if run_id in known]
    seen: dict[tuple[Any, ...], dict[str, Any]] = {}
    for span in spans_of(view):
        fact = span.fact
        if fact is None:
            continue
        key = (span.text, fact.value, fact.formula, fact.run_ids)
        seen.setdefault(
            key,
            {
                "text": span.text,
                "value": fact.value,
                "unit": fact.unit,
                "kind": fact.kind,
                "formula": fact.formula,
                "run_ids": list(fact.run_ids) or (carrying if fact.kind == "derived" else []),
            },
        )
    return list(seen.values())


def _carrying(analysis: CampaignAnalysis) -> list[str]:
    """Return the runs behind verdicts, break-evens, the split of a step and the curve, each once."""
    judged = [run for item in analysis.verdict.by_concurrency for run in (item.best_run_id, item.baseline_run_id)]
    fitted = [point.run_id for point in analysis.scaling.points]
    costs = [run for cost in analysis.costs for run in cost.run_ids]
    found = [*judged, *fitted, *analysis.step_time.run_ids, *costs]
    return list(dict.fromkeys(run for run in found if run is not None))


def _load(item: LoadVerdict) -> dict[str, Any]:
    return {
        "concurrency": item.concurrency,
        "status": item.status,
        "best_run_id": item.best_run_id,
        "baseline_run_id": item.baseline_run_id,
        "speedup": _estimate(item.speedup),
        "smallest_detectable": item.smallest_detectable,
        "reason": item.reason,
        "prompts_in_common": item.prompts_in_common,
        "smallest_detectable_note": item.smallest_detectable_note,
        "equivalence": item.equivalence,
        "equivalence_margin": item.equivalence_margin,
        "equivalence_note": item.equivalence_note,
        "parts": parts.spread(item.parts),
    }


def _point(point: Point) -> dict[str, Any]:
    return {
        "run_id": point.run_id,
        "name": point.name,
        "role": point.role,
        "configuration": point.configuration.label,
        "concurrency": point.concurrency,
        "drafter": point.drafter,
        "samples": point.samples,
        "output_throughput_tok_s": point.throughput_tok_s.value,
        "accept_length": point.accept_length.value,
        "accept_rate": point.accept_rate,
        "step_time_ms": point.step_time_ms.value,
        "speedup": _estimate(point.speedup),
        "break_even": parts.break_even(point.break_even),
        "needs_fraction": point.needs_fraction,
        "reachable": point.reachable,
        "reachable_note": point.reachable_note,
        "prompts": point.prompts,
        "requests": point.requests,
        "output_tokens": point.output_tokens,
        "verify_steps": point.verify_steps,
        "accepted_drafts": point.accepted_drafts,
        "busy_s": point.busy_s,
        "wall_s": point.wall_s,
        "prefill_s": point.prefill_s,
        "step_time_only": point.step_time_only,
        "is_news": point.is_news,
        "deployed": point.deployed,
        "excluded_reason": point.excluded_reason,
        "intervals": {
            "output_throughput_tok_s": _estimate(point.throughput_tok_s),
            "accept_length": _estimate(point.accept_length),
            "step_time_ms": _estimate(point.step_time_ms),
        },
    }


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return parts.estimate(estimate)
