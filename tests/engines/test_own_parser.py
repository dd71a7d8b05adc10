"""The installed engine's own parser, asked in a process of its own (a small package stands in for SGLang's)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tracker import engines
from tracker.errors import ServerError

PACKAGE = """
class ServerArgs:
    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--model-path", required=True)
        parser.add_argument("--tp-size", type=int, default=1)
        parser.add_argument("--speculative-num-steps", dest="speculative_num_steps", type=lambda text: int(text) + 1)
        parser.add_argument("--api-key")
        # As in SGLang 0.5.17: a renamed flag and its old name, with one destination and different defaults.
        parser.add_argument("--old-mode", dest="mode", default="round-robin")
        parser.add_argument("--mode", dest="mode", default=None)
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    package = tmp_path / "sglang" / "srt"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    (package / "server_args.py").write_text(PACKAGE)
    metadata = tmp_path / "sglang-0.5.17.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: sglang\nVersion: 0.5.17\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


def test_agreement_and_disagreement_are_told_apart(installed: Path) -> None:
    agreeing = engines.ask_own_parser(engines.parse_command("sglang serve --model-path m --tp-size 2"))
    other = engines.ask_own_parser(engines.parse_command("sglang serve --model-path m --speculative-num-steps 3"))

    assert agreeing == engines.ParserAnswer(version="0.5.17")
    assert other is not None
    assert other.disagreements == ("speculative_num_steps is read as 3, SGLang reads 4",)


def test_a_refusal_is_passed_on_without_secrets(installed: Path) -> None:
    answer = engines.ask_own_parser(engines.parse_command("sglang serve --model-path m --api-key S3CRET --nonsense"))

    assert answer is not None
    assert answer.version == "0.5.17"
    assert answer.refusal is not None
    assert "unrecognized arguments: --nonsense" in answer.refusal
    assert "S3CRET" not in repr(answer)


def test_without_sglang_or_without_a_command_there_is_no_answer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "sglang.py").write_text("raise ImportError('blocked')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    assert engines.ask_own_parser(engines.parse_command("sglang serve --model-path m")) is None
    assert engines.ask_own_parser(engines.parse_command("vllm serve m")) is None


def test_a_parser_that_hangs_or_is_absent_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = engines.parse_command("sglang serve --model-path m")
    (tmp_path / "sglang.py").write_text("import time; time.sleep(30)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    with pytest.raises(ServerError, match="did not answer"):
        engines.ask_own_parser(config, timeout_s=0.5)
    with pytest.raises(ServerError, match="did not answer"):
        engines.ask_own_parser(config, python=f"{sys.executable}-absent")
