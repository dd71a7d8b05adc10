"""Finding the importer, and what a user reads when there is none."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from tracker import importers
from tracker.domain.measurement import Reported
from tracker.errors import InputError, UnknownFormatError
from tracker.importers import _normalise, _source

TABLE = "config,output_throughput_tok_s\nplain,40.0\n"


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "absent.jsonl"

    with pytest.raises(InputError, match="there is no such file") as caught:
        importers.read(path)

    assert caught.value.where == str(path)
    assert caught.value.hint


@pytest.mark.parametrize("content", ["", " \n\n"])
def test_an_empty_file_says_so(tmp_path: Path, content: str) -> None:
    path = tmp_path / "empty.csv"
    path.write_text(content)

    with pytest.raises(InputError, match="empty"):
        importers.read(path)


def test_a_binary_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "weights.bin"
    path.write_bytes(bytes(range(256)) * 40)

    with pytest.raises(InputError, match="binary"):
        importers.read(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "locked.csv"
    path.write_text(TABLE)
    path.chmod(0)

    with pytest.raises(InputError, match="may not be read"):
        importers.read(path)


def test_an_unknown_file_lists_the_formats_and_how_to_force_one(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear colleague\n\nthe server was slow today.\n")

    with pytest.raises(UnknownFormatError) as caught:
        importers.read(path)

    assert "--as" in str(caught.value)
    for name in importers.formats():
        assert name in str(caught.value)


def test_an_unknown_folder_says_so(tmp_path: Path) -> None:
    with pytest.raises(UnknownFormatError, match="folder holds nothing"):
        importers.read(tmp_path)


def test_an_unknown_format_name_lists_the_known_ones(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(TABLE)

    with pytest.raises(UnknownFormatError, match=r"no format `excel`.*table"):
        importers.read(path, "excel")


def test_a_forced_format_is_used_even_where_another_fits(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(TABLE)

    with pytest.raises(InputError, match="line 1 is no JSON"):
        importers.read(path, "sglang_responses")


def test_a_zstd_file_is_unpacked_on_the_way(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    path = tmp_path / "runs.csv.zst"
    path.write_bytes(pyarrow.Codec("zstd").compress(TABLE.encode(), asbytes=True))

    (run,) = importers.read(path)

    assert run.measurements[0].output_throughput_tok_s == 40.0


def test_a_cut_gzip_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv.gz"
    path.write_bytes(gzip.compress(TABLE.encode())[:-9])

    with pytest.raises(InputError, match="compressed file ends in the middle"):
        importers.read(path)


def test_a_damaged_gzip_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv.gz"
    packed = bytearray(gzip.compress(TABLE.encode()))
    packed[12] ^= 0xFF
    path.write_bytes(packed)

    with pytest.raises(InputError, match=r"compressed file is damaged|is no|ends in the middle"):
        importers.read(path)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_file_written_by_powershell_is_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(TABLE, encoding=encoding)

    (run,) = importers.read(path)

    assert run.name == "plain"
    assert run.measurements[0].output_throughput_tok_s == 40.0


def test_json_lines_in_utf_16_are_read(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    path.write_text('{"meta_info": {"prompt_tokens": 3, "completion_tokens": 5}}\n' * 2, encoding="utf-16")

    (run,) = importers.read(path)

    assert [row.output_tokens for row in run.requests] == [5, 5]


def test_a_pipe_and_a_device_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")

    for name in ("pipe", "device"):
        with pytest.raises(InputError, match="pipe or a device"):
            importers.read(tmp_path / name)


def test_a_file_that_unpacks_to_hundreds_of_times_its_size_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_source, "_UNPACKED_FREELY_BYTES", 2**20)
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(TABLE.encode() + (b" " * 1023 + b"\n") * 2**14))

    with pytest.raises(InputError, match="more than 400 times its size"):
        importers.read(path)


def test_a_header_that_opens_a_quote_for_good_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "cut.csv"
    path.write_text('config,output_throughput_tok_s,"accept length,concurrency\n')

    with pytest.raises(InputError, match="table"):
        importers.read(path, "table")


def test_a_counter_of_any_length_and_a_width_of_zero_are_no_crash(tmp_path: Path) -> None:
    path = tmp_path / "metrics.prom"
    path.write_text(f"vllm:spec_decode_num_drafts_total {'9' * 400}\nvllm:generation_tokens_total 5\n")
    length, rate = Reported(value=2.0), Reported(value=0.5)

    assert len(importers.read(path)) == 1
    assert _normalise.read_rate(length=length, rate=rate, num_draft_tokens=0, num_steps=3).convention == "unknown"
