"""What every importer promises: one sample folder, one claim a sample, a head of 64 KiB is enough."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow
import pytest

from tracker import importers
from tracker.errors import InputError
from tracker.importers.base import HEAD_BYTES, Importer

DATA = Path(__file__).resolve().parents[1] / "data"
FORMATS = importers.formats()
SAMPLES = [
    (name, sample) for name in FORMATS for sample in sorted((DATA / name).glob("*")) if sample.name != "README.md"
]
FILES = [(name, sample) for name, sample in SAMPLES if sample.is_file()]


def _ids(pairs: list[tuple[str, Path]]) -> list[str]:
    return [f"{name}/{sample.name}" for name, sample in pairs]


@pytest.mark.parametrize("name", FORMATS)
def test_every_importer_is_named_like_its_module_and_has_a_one_line_title(name: str) -> None:
    importer: Importer = FORMATS[name]

    assert importer.name == name
    assert importer.title
    assert "\n" not in importer.title


@pytest.mark.parametrize("name", FORMATS)
def test_every_importer_has_a_sample(name: str) -> None:
    assert [sample for owner, sample in SAMPLES if owner == name]


@pytest.mark.parametrize(("name", "sample"), SAMPLES, ids=_ids(SAMPLES))
def test_exactly_one_importer_claims_each_sample(name: str, sample: Path) -> None:
    assert importers.detect(sample).name == name


@pytest.mark.parametrize(("name", "sample"), SAMPLES, ids=_ids(SAMPLES))
def test_each_sample_gives_runs_with_numbers(name: str, sample: Path) -> None:
    runs = importers.read(sample)

    assert runs
    for run in runs:
        assert run.missing is None
        measured = [cell for cell in run.measurements if cell.output_throughput_tok_s or cell.accept_length]
        assert measured or run.training is not None or run.server_info is not None or run.argv is not None


@pytest.mark.parametrize(("name", "sample"), FILES, ids=_ids(FILES))
def test_content_decides_and_not_the_file_name(name: str, sample: Path, tmp_path: Path) -> None:
    renamed = tmp_path / "result.dat"
    renamed.write_bytes(sample.read_bytes())

    assert importers.detect(renamed).name == name


@pytest.mark.parametrize(("name", "sample"), FILES, ids=_ids(FILES))
def test_a_gzipped_sample_reads_the_same(name: str, sample: Path, tmp_path: Path) -> None:
    packed = tmp_path / sample.name
    packed.write_bytes(gzip.compress(sample.read_bytes()))

    assert importers.read(packed) == importers.read(sample)


@pytest.mark.parametrize(("name", "sample"), FILES, ids=_ids(FILES))
def test_a_zstd_compressed_sample_reads_the_same(name: str, sample: Path, tmp_path: Path) -> None:
    packed = tmp_path / sample.name
    packed.write_bytes(pyarrow.Codec("zstd").compress(sample.read_bytes(), asbytes=True))

    assert importers.detect(packed).name == name
    assert importers.read(packed) == importers.read(sample)


@pytest.mark.parametrize("name", FORMATS)
def test_an_empty_file_is_refused_whatever_it_should_be(name: str, tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.write_bytes(b"")

    with pytest.raises(InputError, match=r"empty|not a folder|this is a file"):
        importers.read(path, name)


@pytest.mark.parametrize(("name", "sample"), FILES, ids=_ids(FILES))
def test_the_first_64_kib_of_a_large_file_are_enough_to_recognise_it(name: str, sample: Path) -> None:
    content = sample.read_bytes()
    head = (content * (1 + HEAD_BYTES // len(content)))[:HEAD_BYTES] if content.endswith(b"\n") else content

    assert FORMATS[name].sniff(sample, head if name != "table" else content)
