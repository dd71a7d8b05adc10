"""memo.json keeps the contract that scripts rely on."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np
import pytest

from tests.report.examples import MEMOS
from tests.report.founding import context, founding
from tests.report.founding_options import founding_decision
from tracker.domain.estimate import Estimate
from tracker.report import MemoView, build, render_json

CONTRACT: dict[str, set[str]] = {
    "": {
        *("schema_version", "experiment", "since", "until", "generated_at", "question", "deployed", "verdict"),
        *("findings", "evidence", "step_time", "acceptance", "scaling", "options", "next_experiment"),
        *("assumptions", "data_quality", "numbers"),
    },
    "verdict": {"status", "scope", "decision_concurrency", "by_concurrency"},
    "verdict.by_concurrency[]": {
        *("concurrency", "status", "best_run_id", "baseline_run_id", "speedup", "smallest_detectable"),
    },
    "findings[]": {"code", "severity", "confidence", "run_ids", "message", "fix"},
    "evidence[]": {
        *("run_id", "name", "role", "configuration", "concurrency", "output_throughput_tok_s", "accept_length"),
        *("accept_rate", "step_time_ms", "break_even", "reachable", "excluded_reason"),
    },
    "evidence[].break_even": {"value", "low", "high", "rounding_low", "rounding_high"},
    "step_time": {
        *("status", "rank", "fixed_ms", "per_verified_token_ms", "per_draft_step_ms", "combined_ms", "reason"),
    },
    "acceptance": {"per_position", "per_category", "vocabulary_ceiling", "rejections_explained"},
    "scaling": {
        *("status", "reason", "configuration", "concurrency", "sizes", "forecast", "samples_to_break_even"),
        "data_share",
    },
    "scaling.forecast[]": {"samples", "low", "median", "high"},
    "options[]": {
        *("key", "title", "configuration", "concurrency", "p_beats_baseline", "expected_tok_s", "cost_gpu_hours"),
        *("cost_days", "net_gpu_hours", "rank", "would_change"),
    },
    "options[].net_gpu_hours": {"value", "low", "high"},
    "data_quality[]": {"topic", "message", "run_ids"},
    "numbers[]": {"text", "value", "unit", "kind", "formula", "run_ids"},
}


def _objects(document: Any, path: str) -> list[Any]:
    found = [document]
    for step in filter(None, path.split(".")):
        name = step.removesuffix("[]")
        found = [item[name] for item in found]
        if step.endswith("[]"):
            found = [item for items in found for item in items]
    return found


@pytest.mark.parametrize("path", sorted(CONTRACT))
def test_every_key_is_present_in_every_state(memo: tuple[str, MemoView], path: str) -> None:
    _, view = memo
    document = json.loads(render_json(view))

    for item in _objects(document, path):
        assert CONTRACT[path] <= set(item), path


def test_values_are_those_of_the_analysis() -> None:
    document = json.loads(render_json(MEMOS["founding"]()))
    rows = {row["run_id"]: row for row in document["evidence"]}

    assert document["schema_version"] == 1
    assert document["deployed"] == "the 2-step configuration"
    assert document["verdict"]["status"] == "slower"
    assert rows["e8a240"]["break_even"]["value"] == 2.297
    assert rows["e8a240"]["reachable"] is None
    assert rows["1d52b8"]["reachable_note"] == "unreachable if it ran with 2 steps"
    assert rows["4c1f90"]["output_throughput_tok_s"] is None
    assert document["findings"][0]["code"] == "ALGO_MISMATCH_EAGLE_FOR_EAGLE3"
    assert document["scaling"]["samples_to_break_even"] == {
        "low": 15_000,
        "median": 25_000,
        "high": None,
        "p_never": 0.11,
        "max_samples": 10_000_000,
    }
    assert [option["rank"] for option in document["options"]] == list(range(1, 10))


def test_open_end_is_null_and_the_file_is_strict_json() -> None:
    source = founding()
    rows = list(source.points)
    rows[1] = dataclasses.replace(rows[1], throughput_tok_s=Estimate(value=82.3, low=80.0, high=math.inf))
    view = build(dataclasses.replace(source, points=tuple(rows)), founding_decision(), context())

    document = json.loads(render_json(view), parse_constant=lambda name: pytest.fail(f"not JSON: {name}"))

    assert document["evidence"][1]["intervals"]["output_throughput_tok_s"]["high"] is None


def test_numbers_of_numpy_are_numbers_and_open_ends_are_null() -> None:
    row = _first_row(busy_s=np.float64(1.25), wall_s=np.float64("inf"), prefill_s=np.float64("nan"))

    assert (row["busy_s"], row["wall_s"], row["prefill_s"]) == (1.25, None, None)


def test_what_is_no_number_is_not_written() -> None:
    with pytest.raises(TypeError, match=r"memo\.json cannot hold a object"):
        _first_row(busy_s=object())


def _first_row(**changes: Any) -> dict[str, Any]:
    analysis = founding()
    points = tuple(dataclasses.replace(point, **changes) for point in analysis.points)
    view = build(dataclasses.replace(analysis, points=points), founding_decision(), context())
    found: dict[str, Any] = json.loads(render_json(view))["evidence"][0]
    return found
