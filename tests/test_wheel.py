"""What is installed is whole: templates and example campaigns travel in the wheel, and the demo runs from it alone."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)],
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def run(site: Path, cwd: Path, code: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=cwd, env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout


@pytest.mark.slow
def test_wheel_holds_templates_examples_and_types(unpacked: Path, tmp_path: Path) -> None:
    out = run(
        unpacked,
        tmp_path,
        "from tracker import resources; print(resources.template_dir()); print(resources.experiments_dir())",
    )

    templates, experiments = (Path(line) for line in out.split())
    assert unpacked in templates.parents
    assert (templates / "memo.html").is_file()
    assert (experiments / "kimi-k2.5-eagle3" / "campaign.toml").is_file()
    assert (unpacked / "tracker" / "py.typed").is_file()


@pytest.mark.slow
def test_demo_runs_from_the_wheel_alone(unpacked: Path, tmp_path: Path) -> None:
    out = run(unpacked, tmp_path, "import sys; from tracker.cli.main import main; main(['demo', '--out', 'out'])")

    memos = [Path(line) for line in out.splitlines() if line]
    assert len(memos) == 2
    assert all(memo.read_text(encoding="utf-8").startswith("<!doctype html>") for memo in memos)


def test_templates_are_found_in_a_checkout() -> None:
    from tracker import resources

    assert (resources.template_dir() / "memo.html").is_file()
    assert (resources.experiments_dir() / "h200-tiny-llama" / "campaign.toml").is_file()
