"""Campaigns that lack something: each is refused or qualified in words, and nothing raises."""

from __future__ import annotations

import dataclasses
import math
from datetime import timedelta
from typing import Any

import pytest

from tests.analysis.builders import BASE, analysed, drafter, run, topics
from tests.analysis.campaigns import LOGGED, WINDOW, founding_runs
from tracker.analysis.results import CampaignAnalysis
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.measurement import Measurement, RateConvention, Reported, RequestRow
from tracker.domain.provenance import Provenance
from tracker.domain.record import StoredRun
from tracker.domain.server import Speculation
from tracker.domain.workload import Workload
from tracker.errors import InputError


def test_no_runs_at_all_leave_the_verdict_open() -> None:
    found = analysed()

    assert found.verdict.status == "undecided"
    assert found.verdict.by_concurrency[0].reason == "No usable run at 1 stream."
    assert found.points == ()
    assert found.scaling.status == "refused"


def test_one_run_only_says_what_is_missing() -> None:
    alone = analysed(run("spec", speed="100.0", length="2.40"))
    plain = analysed(BASE)

    assert alone.verdict.status == plain.verdict.status == "undecided"
    assert alone.verdict.by_concurrency[0].reason is not None
    assert alone.verdict.by_concurrency[0].reason.startswith("No baseline at 1 stream")
    assert plain.verdict.by_concurrency[0].reason == "No usable candidate at 1 stream."


def rated(convention: RateConvention | None, **spec: Any) -> StoredRun:
    """A chain of three of which only the speed and the accept rate were printed."""
    cell = Measurement(
        concurrency=1,
        prompts=20,
        reported_throughput_tok_s=Reported(value=100.0, half_width=0.05),
        reported_accept_rate=Reported(value=0.42, half_width=0.005),
        accept_rate_convention=convention,
    )
    flags = {"num_steps": 3, "eagle_topk": 1, "num_draft_tokens": 4} | spec
    return run("rated", speed="1.0", measurements=(cell,), speculation=Speculation(enabled=True, **flags))


@pytest.mark.parametrize(
    ("convention", "length"),
    [
        ("accepted_over_proposed", 1 + 0.42 * 3),
        ("length_over_draft_tokens", 0.42 * 4),
        ("drafts_over_steps_times_num_steps", 1 + 0.42 * 3),
    ],
)
def test_a_rate_that_says_what_it_counts_gives_the_accept_length(convention: RateConvention, length: float) -> None:
    found = analysed(BASE, rated(convention))
    point = next(item for item in found.points if item.name == "rated")

    assert point.accept_length.value == pytest.approx(length)
    assert point.accept_length_rounding is not None
    assert point.accept_length_rounding[0] < length < point.accept_length_rounding[1]
    assert point.break_even is not None
    assert point.break_even.value == pytest.approx(length * 90 / 100)
    assert not any("Accept rates were printed" in note.message for note in found.data_quality)


@pytest.mark.parametrize(
    "mute", [rated("unknown"), rated(None), rated("accepted_over_proposed", num_draft_tokens=None, num_steps=None)]
)
def test_a_rate_that_says_nothing_gives_no_length_and_the_memo_says_so(mute: StoredRun) -> None:
    found = analysed(BASE, mute)
    point = next(item for item in found.points if item.name == "rated")

    assert found.verdict.status == "faster"
    assert point.accept_length.value is None
    assert point.break_even is None
    (note,) = (note for note in found.data_quality if note.message.startswith("Accept rates were printed"))
    assert note.run_ids == ("rated",)


def test_a_missing_baseline_gives_no_break_even_and_no_speedup() -> None:
    found = analysed(*founding_runs()[1:])

    assert found.costs == ()
    assert all(point.break_even is None and point.speedup.value is None for point in found.points)
    assert found.step_time.status == "refused"
    assert found.scaling.reason is not None
    assert "no break-even to reach" in found.scaling.reason
    assert found.scaling.forecast


def test_a_split_without_any_flags_asks_for_them() -> None:
    unnamed = run("spec", speed="100.0", length="2.40", speculation=Speculation(enabled=True))
    found = analysed(BASE, unnamed).step_time

    assert found.status == "refused"
    assert found.reason == "No configuration says how many tokens it drafts."
    assert found.cure is not None
    assert "--server" in found.cure


def test_baselines_further_apart_than_the_effect_decide_nothing() -> None:
    found = analysed(
        BASE, run("base again", speed="99.0", minutes=5), run("spec", speed="104.0", length="2.40", minutes=9)
    )
    (load,) = found.verdict.by_concurrency

    assert load.baseline_run_id == "base again"
    assert load.status == "undecided"
    assert load.reason is not None
    assert "2 baselines differ by 10 %" in load.reason
    assert "before and after" in load.reason


def test_baselines_close_together_narrow_the_interval_against_one_alone() -> None:
    spec = run("spec", speed="104.0", length="2.40", minutes=9)
    again = [run(f"base {index}", speed=f"90.{index}", minutes=index) for index in range(4)]
    one, several = analysed(BASE, spec), analysed(*again, spec)

    def width(found: CampaignAnalysis) -> float:
        half = found.verdict.by_concurrency[0].speedup.half_width
        assert half is not None
        return half

    assert width(several) < width(one)


def test_the_baseline_can_be_chosen() -> None:
    base = run("base", speed="90.0", cuda_graph=True)
    slow = run("slow base", speed="60.0", minutes=1, cuda_graph=False)
    spec = run("spec", speed="80.0", length="2.40")

    assert analysed(base, slow, spec).verdict.status == "slower"
    assert analysed(base, slow, spec, baseline_run="slow base").verdict.status == "faster"
    with pytest.raises(InputError, match="not a benchmark of this campaign"):
        analysed(base, spec, baseline_run="nobody")
    with pytest.raises(InputError, match="speculates"):
        analysed(base, spec, baseline_run="spec")


def test_simulated_acceptance_serves_step_time_only() -> None:
    forced = Speculation(
        enabled=True,
        algorithm="EAGLE3",
        num_steps=3,
        eagle_topk=1,
        num_draft_tokens=4,
        simulated_accept_length=3.5,
    )
    found = analysed(BASE, run("forced", speed="140.0", length="3.50", speculation=forced))
    point = next(item for item in found.points if item.name == "forced")

    assert found.verdict.status == "undecided"
    assert found.verdict.by_concurrency[0].reason is not None
    assert "forced ran with simulated acceptance" in found.verdict.by_concurrency[0].reason
    assert "measure again with real drafts" in found.verdict.by_concurrency[0].reason
    assert point.step_time_only
    assert point.accept_length.value is None
    assert point.break_even is not None
    assert point.break_even.value == pytest.approx(3.5 * 90 / 140, abs=0.01)
    assert "simulated acceptance" in topics(found)
    assert found.scaling.points == ()


def test_sizes_of_different_mixes_are_no_curve() -> None:
    found = analysed(
        BASE,
        drafter(1_000, "1.60", mix="chat", epochs=3),
        drafter(10_000, "2.10", mix="code", epochs=3),
        drafter(100_000, "2.50", mix="maths", epochs=3),
    )

    assert found.scaling.status == "refused"
    assert found.scaling.reason is not None
    assert "data mix: chat, code and maths" in found.scaling.reason
    assert found.scaling.cure is not None
    assert found.scaling.forecast == ()
    assert found.scaling.beside == ()


def test_three_sizes_trained_alike_over_two_decades_are_a_forecast() -> None:
    sizes = ((1_000, "1.60"), (3_000, "1.80"), (10_000, "2.05"), (30_000, "2.30"), (100_000, "2.52"))
    found = analysed(BASE, *(drafter(size, length, mix="chat", epochs=3) for size, length in sizes))
    fit = found.scaling

    assert fit.data_share is not None
    assert fit.data_share > 0.5
    assert fit.worst_residual_se is not None
    assert fit.worst_residual_se < 1
    assert next(point.samples for point in fit.forecast if point.speculative) > 1_000_000
    assert "0 %" not in (fit.reason or "")


def test_falling_accept_length_is_named_before_it_is_fitted() -> None:
    sizes = ((10_000, "2.30"), (30_000, "2.05"), (100_000, "2.32"))
    found = analysed(BASE, *(drafter(size, length, mix="chat", epochs=3) for size, length in sizes))

    assert found.scaling.status != "forecast"
    assert found.scaling.reason is not None
    assert "falls from 2.30 at 10,000" in found.scaling.reason or "standard errors off" in found.scaling.reason


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"target": Checkpoint(name="another")}, "another target"),
        ({"workload": Workload(prompt_set="other prompts")}, "other prompts"),
        ({"workload": Workload(prompt_set="prompts", temperature=1.0)}, "another temperature"),
    ],
)
def test_a_run_of_another_group_is_left_out_with_its_reason(change: dict[str, Any], words: str) -> None:
    same = {"workload": Workload(prompt_set="prompts", temperature=0.0)}
    base, spec = run("base", speed="90.0", **same), run("spec", speed="100.0", length="2.40", **same)
    other = run("other", speed="500.0", length="2.40", **(same | change))
    found = analysed(base, spec, other)

    assert {point.name for point in found.points} == {"base", "spec"}
    (note,) = found.rejected
    assert note.run_ids == ("other",)
    assert words in note.message


@pytest.mark.parametrize("validity", ["suspect", "invalid"])
def test_a_run_marked_as_wrong_stays_visible_and_counts_for_nothing(validity: str) -> None:
    wrong = run("wrong", speed="300.0", length="3.90", validity=validity, validity_reason="GPU was throttled")
    found = analysed(BASE, run("spec", speed="80.0", length="2.40"), wrong)
    point = next(item for item in found.points if item.name == "wrong")

    assert found.verdict.status == "slower"
    assert point.excluded_reason == f"marked {validity}: GPU was throttled"


def test_a_superseded_run_counts_for_nothing() -> None:
    found = analysed(
        BASE, run("first", speed="300.0", length="3.90"), run("second", speed="80.0", length="2.40", supersedes="first")
    )

    assert found.verdict.by_concurrency[0].best_run_id == "second"


@pytest.mark.parametrize("value", [math.nan, math.inf, 0.0, -1.0])
def test_a_number_that_is_none_is_not_measured(value: float) -> None:
    def odd(**cell: Any) -> CampaignAnalysis:
        whole = {"reported_throughput_tok_s": Reported(value=100.0), "reported_accept_length": Reported(value=2.4)}
        wrong = run("wrong", speed="1.0", length="2.4", measurements=(Measurement(concurrency=1, **(whole | cell)),))
        return analysed(BASE, wrong)

    slow = next(item for item in odd(reported_throughput_tok_s=Reported(value=value)).points if item.name == "wrong")
    short = next(item for item in odd(reported_accept_length=Reported(value=value)).points if item.name == "wrong")

    assert slow.throughput_tok_s.value is None
    assert slow.throughput_tok_s.reason == "no throughput reported"
    assert short.accept_length.value is None
    assert short.speedup.value == pytest.approx(100 / 90)


def test_runs_logged_after_the_window_are_left_out() -> None:
    late = Provenance(logged_at=WINDOW.until + timedelta(hours=1), measured_at=LOGGED, tracker_version="0")
    found = analysed(BASE, run("late", speed="300.0", length="3.90", provenance=late))

    assert [note.run_ids for note in found.rejected] == [("late",)]


def test_one_configuration_started_twice_lends_its_noise_to_every_interval() -> None:
    quiet = analysed(BASE, run("a", speed="100.0", length="2.40"), run("b", speed="100.1", length="2.40"))
    noisy = analysed(BASE, run("a", speed="100.0", length="2.40"), run("b", speed="80.0", length="2.40"))

    for left, right in zip(quiet.points, noisy.points, strict=True):
        assert left.throughput_tok_s.half_width is not None
        assert right.throughput_tok_s.half_width is not None
        assert right.throughput_tok_s.half_width > 3 * left.throughput_tok_s.half_width
    assert "noise between runs" in topics(noisy)
    assert "noise between runs" not in topics(quiet)


def test_the_smallest_effect_and_equivalence_are_said_in_words() -> None:
    (load,) = analysed(BASE, run("spec", speed="91.0", length="2.40")).verdict.by_concurrency

    assert load.smallest_detectable is not None
    assert load.smallest_detectable_note is not None
    assert f"{100 * load.smallest_detectable:.1f} %" in load.smallest_detectable_note
    assert load.equivalence_margin == 0.02
    assert load.equivalence == "undecided"
    assert load.equivalence_note == "Neither a difference nor equivalence within 2.0 % is shown."
    assert {part.name for part in load.parts} == {"prompts", "baseline drift", "noise between runs", "rounding"}


def test_speeds_level_beyond_doubt_are_equivalent_although_baselines_drift_by_more_than_the_effect() -> None:
    def steady(name: str, speed: float, length: float | None) -> StoredRun:
        rows = tuple(
            RequestRow(
                concurrency=1,
                prompt_key=str(index),
                output_tokens=1000,
                latency_s=1000 / speed,
                verify_steps=None if length is None else round(1000 / length),
                accepted_drafts=None if length is None else 1000 - round(1000 / length),
            )
            for index in range(200)
        )
        cell = Measurement(concurrency=1, prompts=200, output_tokens=200_000, wall_s=200_000 / speed)
        if length is not None:
            verified = 200 * round(1000 / length)
            cell = dataclasses.replace(cell, verify_steps=verified, accepted_drafts=200_000 - verified)
        found = run(name, speed=str(speed), length=None if length is None else str(length), measurements=(cell,))
        return dataclasses.replace(found, requests=rows)

    baselines = [steady(f"plain-{index}", 100.0 + 0.3 * (index % 2), None) for index in range(12)]
    twins = [steady(f"spec-{index}", 100.2 + 0.001 * index, 2.5) for index in range(12)]
    (load,) = analysed(*baselines, *twins).verdict.by_concurrency

    assert load.status == "undecided"
    assert load.equivalence == "equivalent"
    assert load.reason is not None
    assert load.reason.startswith("Equivalent within 2.0 %")
    assert "baselines differ" not in load.reason


def test_void_candidates_are_named_where_none_is_left() -> None:
    wrong = run("wrong", speed="300.0", length="3.90", validity="invalid", validity_reason="GPU was throttled")
    (load,) = analysed(BASE, wrong).verdict.by_concurrency

    assert load.reason is not None
    assert "wrong (marked invalid: GPU was throttled)" in load.reason


def test_a_break_even_above_the_chain_is_called_out_of_reach() -> None:
    found = analysed(BASE, run("spec", speed="40.0", length="2.40"))
    (cost,) = found.costs

    assert cost.break_even.value == pytest.approx(5.4, abs=0.1)
    assert cost.reachable is False
    assert cost.reachable_note == "out of reach: a step yields at most 4 tokens"


def test_a_speculative_step_cheaper_than_a_plain_one_points_at_the_baseline() -> None:
    found = analysed(run("base", speed="10.0"), run("spec", speed="90.0", length="2.40"))

    assert any("slower than it should be" in note.message for note in found.data_quality)
