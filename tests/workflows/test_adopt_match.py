"""Which benchmark served which training's drafter."""

from __future__ import annotations

from typing import Any

import pytest

from tests.store import samples
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.record import RunRecord
from tracker.domain.server import Speculation
from tracker.domain.training import Training
from tracker.workflows.adopt_facts import missing_facts
from tracker.workflows.adopt_match import served_by

FOLDER = "/train/out/kimi-eagle3-100k"


def _training(folder: str | None = FOLDER, name: str = "kimi-eagle3-100k", **changes: Any) -> RunRecord:
    given: dict[str, Any] = {
        "drafter": Checkpoint(name=name, path=folder),
        "target": Checkpoint(name="Kimi-K2.5"),
        "name": "some run",
        "training": Training(samples=100),
    }
    return samples.training_run("t").record.replace(**(given | changes))


def _benchmark(path: str | None, name: str | None = None, **changes: Any) -> RunRecord:
    shown = name or (path or "").rstrip("/").rsplit("/", 1)[-1]
    given: dict[str, Any] = {
        "drafter": Checkpoint(name=shown, path=path),
        "target": Checkpoint(name="Kimi-K2.5", path="moonshotai/Kimi-K2.5"),
        "speculation": Speculation(enabled=True, draft_model_path=path),
    }
    return samples.record("b").replace(**(given | changes))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (FOLDER, "folder"),
        (f"{FOLDER}/", "folder"),
        (f"{FOLDER}/kimi-eagle3-100k-step4000", "folder"),
        (f"{FOLDER}/epoch_0_step_400", "folder"),
        ("/models/kimi-eagle3-100k", "name"),
        ("/models/kimi-eagle3-100k-step4000", "name"),
        ("team/kimi-eagle3-100k", "name"),
        ("/train/out/kimi-eagle3-100k-long", None),
        ("/train/out", None),
        ("/models/kimi-eagle3-10k", None),
        ("./kimi", None),
    ],
)
def test_a_drafter_is_known_by_the_folder_it_lies_in_or_by_its_name(path: str, expected: str | None) -> None:
    assert served_by(_training(), _benchmark(path)) == expected


@pytest.mark.parametrize("name", ["outputs", "checkpoint-4000", "best", "hf", "step_400", "0", "specforge-run"])
def test_names_that_every_training_has_prove_nothing(name: str) -> None:
    training = _training(folder=f"/train/a/{name}", name=name)

    assert served_by(training, _benchmark(f"/train/b/{name}")) is None
    assert served_by(training, _benchmark(f"/train/a/{name}")) == "folder"


def test_another_target_disproves_it() -> None:
    other = _benchmark(FOLDER, target=Checkpoint(name="Qwen3-8B"))

    assert served_by(_training(), other) is None


def test_facts_that_differ_disprove_it_and_equal_ones_prove_nothing() -> None:
    made = Checkpoint(name="kimi-eagle3-100k", path=FOLDER, header_digest="a", config_digest="c")
    same = Checkpoint(name="another", path="/elsewhere/another", header_digest="a", config_digest="c")
    different = Checkpoint(name="kimi-eagle3-100k", path=FOLDER, header_digest="b")
    plain = Speculation(enabled=True)

    assert served_by(_training(drafter=made), _benchmark(None, "x", drafter=same, speculation=plain)) is None
    assert served_by(_training(drafter=made), _benchmark(None, "x", drafter=different, speculation=plain)) is None


def test_a_baseline_served_no_drafter() -> None:
    assert served_by(_training(), _benchmark(FOLDER, drafter=None)) is None


def test_a_training_tells_only_what_the_benchmark_does_not_say() -> None:
    told = Training(samples=10, tokens=20, epochs=2.0, data_name="d")

    facts = missing_facts(Training(samples=11), told)

    assert facts == {"training.tokens": 20, "training.epochs": 2.0, "training.data_name": "d"}
