"""Columns that a user has to name: ambiguous ones are asked about, never guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracker import importers
from tracker.errors import InputError


def _write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "runs.csv"
    path.write_text(text)
    return path


def test_a_named_column_is_taken_at_its_word(tmp_path: Path) -> None:
    path = _write(tmp_path, "config,speed index\nbase,90.0\n")

    (run,) = importers.read(path, columns={"speed index": "throughput"})

    assert run.measurements[0].output_throughput_tok_s == 90.0


def test_two_columns_that_could_both_be_the_throughput_are_asked_about(tmp_path: Path) -> None:
    text = "config,generation_tok_s,decode_tok_s\nbase,90.0,95.0\n"

    with pytest.raises(InputError, match="generation_tok_s, decode_tok_s") as caught:
        importers.read(_write(tmp_path, text))

    assert "--column" in str(caught.value)


def test_naming_one_of_them_settles_it(tmp_path: Path) -> None:
    text = "config,generation_tok_s,decode_tok_s\nbase,90.0,95.0\n"

    (run,) = importers.read(_write(tmp_path, text), columns={"decode_tok_s": "throughput"})

    assert run.measurements[0].output_throughput_tok_s == 95.0
    assert run.measurements[0].extra["generation_tok_s"] == 90.0


def test_a_column_can_be_declared_meaningless(tmp_path: Path) -> None:
    text = "config,throughput,accept_length\nbase,90.0,2.0\n"

    (run,) = importers.read(_write(tmp_path, text), columns={"throughput": "ignore"})

    assert run.measurements[0].output_throughput_tok_s is None


def test_several_columns_of_one_meaning_are_configurations(shared_data: Path) -> None:
    path = shared_data / "cases" / "data" / "C23.domino_accept_len.csv"

    runs = importers.read(path, columns={"dflash": "accept_length", "domino_v1": "accept_length"})

    lengths = {run.name: [cell.accept_length for cell in run.measurements] for run in runs}
    # The row MEAN stands for all subsets and comes first.
    assert lengths["dflash"][:2] == [2.055, 2.21]
    assert [cell.category for cell in runs[0].measurements][:2] == [None, "HumanEval"]
    assert lengths["domino_v1"][:2] == [1.444, 1.57]


def test_accept_lengths_over_context_are_read_when_the_columns_are_named(shared_data: Path) -> None:
    path = shared_data / "cases" / "data" / "C50.accept_len_vs_context.csv"
    columns = {
        "context_tokens": "prompt_set",
        "eagle3_full_attention": "accept_length",
        "eagle3_sliding_window": "accept_length",
    }

    full, window = importers.read(path, columns=columns)

    assert full.measurements[0].accept_length == pytest.approx(2.295)
    assert window.measurements[-1].accept_length is not None


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ({"speed": "throughput"}, "there is no column `speed`"),
        ({"tok_s": "quickness"}, "`quickness` is nothing that a column can hold"),
    ],
)
def test_a_wrong_name_or_meaning_lists_the_right_ones(tmp_path: Path, columns: dict[str, str], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        importers.read(_write(tmp_path, "config,tok_s\nbase,90.0\n"), columns=columns)


def test_columns_of_something_that_is_no_table_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text('{"meta_info": {"prompt_tokens": 3, "completion_tokens": 5}}\n')

    with pytest.raises(InputError, match="read as sglang_responses"):
        importers.read(path, columns={"a": "throughput"})


def test_a_tool_of_its_own_comes_before_a_table() -> None:
    sample = Path(__file__).resolve().parents[1] / "data" / "speculators_eval" / "acceptance.csv"

    assert importers.detect(sample).name == "speculators_eval"
