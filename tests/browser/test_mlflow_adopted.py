"""MLflow's own pages of a training that was adopted: the trainer's run, the drafter's page, the benchmark it served."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Page

from tests.browser.mlflow_site import Site, shown, started
from tests.store.test_adopt import write_trainer_run
from tests.trainer_runs import SPECFORGE_0_2
from tracker.store.mlflow_store import WORKFLOW
from tracker.workflows.adopt import AdoptRequest, adopt_runs
from tracker.workflows.log_run import LogRequest, log_run
from tracker.workflows.server_sources import ServerOptions
from tracker.workflows.session import Session

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(300)]

DRAFTERS, KIMI = "drafters", "kimi"
FOLDER = SPECFORGE_0_2["output_dir"]
SERVED = (
    "python -m sglang.launch_server --model-path moonshotai/Kimi-K2.5 --speculative-algorithm EAGLE3 "
    f"--speculative-draft-model-path {FOLDER}/kimi-eagle3-100k-step400 --speculative-num-steps 3 "
    "--speculative-eagle-topk 1 --speculative-num-draft-tokens 4"
)


@dataclass(frozen=True)
class Adopted:
    """The web interface of a store with an adopted training and a benchmark of its drafter."""

    site: Site
    training: str
    benchmark: str

    def run(self, run_id: str, experiment: str) -> str:
        return f"{self.site.experiment(experiment)}/runs/{run_id}?{WORKFLOW}"


@pytest.fixture(scope="module")
def adopted(tmp_path_factory: pytest.TempPathFactory, empty_database: Path) -> Iterator[Adopted]:
    folder = tmp_path_factory.mktemp("adopted")
    shutil.copy(empty_database, folder / "mlflow.db")
    session = Session(now=datetime(2026, 11, 30, 8, tzinfo=UTC), environ={}, cwd=folder, folder=folder)
    logged = log_run(
        LogRequest(
            metrics={"output_throughput_tok_s": "82.3", "accept_length": "2.1"}, concurrency=1, name="kimi 3-1-4",
            experiment=KIMI, server=ServerOptions(command=SERVED),
        ),
        session,
    )  # fmt: skip
    training = write_trainer_run(session.mlflow_store(), DRAFTERS)
    adopt_runs(AdoptRequest(run=training, samples=100_000), session)
    with started(folder, DRAFTERS) as site:
        yield Adopted(site=site, training=training, benchmark=str(logged.outcomes[0].run_id))


def test_an_adopted_run_shows_the_trainers_own_page_with_what_was_added(adopted: Adopted, page: Page) -> None:
    text = shown(page, adopted.run(adopted.training, DRAFTERS), "kimi-eagle3-100k", "train/loss", "tracker.adopted")

    assert "first try" in text
    assert "specforge" in text
    assert "maria" in text
    assert "kimi-eagle3-100k" in text
    assert "output_dir" in text
    # Its own numbers are all there is: adopting adds no metric.
    assert "output_throughput_tok_s" not in text


def test_the_campaign_of_adopted_runs_lists_the_trainers_run(adopted: Adopted, page: Page) -> None:
    text = shown(page, adopted.site.opened, "1 matching run", "kimi-eagle3-100k")

    assert "Model training" in text


def test_the_benchmark_names_its_training_and_its_drafters_page_shows_both(adopted: Adopted, page: Page) -> None:
    text = shown(page, adopted.run(adopted.benchmark, KIMI), "drafter.trained_by", "82.3")
    assert adopted.training[:8] in text

    client = adopted.site.store.client
    (model,) = client.search_logged_models([adopted.site.store.experiment_id(KIMI)])
    text = shown(page, f"{adopted.site.experiment(KIMI)}/models/{model.model_id}?{WORKFLOW}", "accept_length", "2.1")

    assert "trained on 100,000 samples" in text
    assert "kimi 3-1-4" in text
    # MLflow opens a description's links in a tab of their own.
    place = page.get_by_role("link", name="kimi-eagle3-100k", exact=True).first.get_attribute("href")
    text = shown(page, urljoin(f"{adopted.site.base}/", place), "train/loss", "specforge")
    assert adopted.training in page.url
    assert "eval/simulated_acc_len" in text
