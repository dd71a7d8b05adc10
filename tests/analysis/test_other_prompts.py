"""Two servers that answered other prompts at a load are not compared there, whatever they share at another one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest

from tests.analysis.builders import analysed, run
from tracker.analysis.head_to_head import head_to_head
from tracker.analysis.priors import DEFAULT_PRIORS
from tracker.analysis.results import CampaignAnalysis
from tracker.domain.measurement import Measurement, RequestRow
from tracker.domain.record import StoredRun

SAME = [f"p{index}" for index in range(8)]


def served(name: str, seconds: float, prompts: dict[int, Sequence[str]], *, drafts: bool = False) -> StoredRun:
    """Answers of 100 tokens that take so many seconds each, by load."""
    rows, cells = [], []
    for load, keys in prompts.items():
        steps = 50 if drafts else None
        rows += [
            RequestRow(
                prompt_key=key,
                concurrency=load,
                output_tokens=100,
                latency_s=seconds,
                verify_steps=steps,
                accepted_drafts=steps,
            )
            for key in keys
        ]
        cells.append(
            Measurement(
                concurrency=load,
                prompts=len(keys),
                requests_completed=len(keys),
                output_tokens=100 * len(keys),
                wall_s=seconds * len(keys) / load,
                busy_s=seconds * len(keys),
                verify_steps=None if steps is None else steps * len(keys),
                accepted_drafts=None if steps is None else steps * len(keys),
            )
        )
    found = run(name, speed="1.0", length="2.0" if drafts else None, measurements=tuple(cells))
    return dataclasses.replace(found, requests=tuple(rows))


def met(mine: Sequence[str], theirs: Sequence[str]) -> CampaignAnalysis:
    """Same prompts at one stream, these at eight."""
    return analysed(served("base", 1.0, {1: SAME, 8: theirs}), served("spec", 0.5, {1: SAME, 8: mine}, drafts=True))


@pytest.mark.parametrize("theirs", [["a", "b", "c"], [*SAME[:2], "a", "b"]])
def test_other_prompts_at_a_load_leave_it_undecided_with_the_reason(theirs: list[str]) -> None:
    one, eight = met(SAME, theirs).verdict.by_concurrency

    assert one.status == "faster"
    assert eight.status == "undecided"
    assert eight.reason == "spec and base answered other prompts at 8 streams: run both on the same ones."
    row = next(point for point in met(SAME, theirs).points if (point.name, point.concurrency) == ("spec", 8))
    assert row.speedup.reason == "it answered other prompts than the baseline"


def test_two_servers_face_to_face_say_why_a_load_has_no_ratio() -> None:
    base = served("base", 1.0, {1: SAME, 8: ["a", "b", "c"]})
    spec = served("spec", 0.5, {1: SAME, 8: SAME}, drafts=True)

    one, eight = head_to_head([base, spec], ["base"], ["spec"], priors=DEFAULT_PRIORS)

    assert one.outcome == "faster"
    assert eight.speedup.reason == "they answered other prompts"


def test_three_prompts_in_common_are_compared_and_said() -> None:
    analysis = met(SAME, [*SAME[:3], "a", "b"])

    assert analysis.verdict.by_concurrency[1].prompts_in_common == 3
    assert any(note.topic == "prompts in common" for note in analysis.data_quality)


def test_keys_of_different_kinds_say_nothing_about_the_prompts() -> None:
    assert met(SAME, ["weak:chat:20", "weak:chat:21"]).verdict.by_concurrency[1].status == "faster"
