"""Damaged input: an error in plain words or honest runs, never a traceback and never an invented number."""

from __future__ import annotations

import contextlib
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tracker import importers
from tracker.errors import TrackerError
from tracker.importers.base import ImportedRun

DATA = Path(__file__).resolve().parents[1] / "data"
SAMPLES = [
    (name, sample)
    for name in importers.formats()
    for sample in sorted((DATA / name).glob("*"))
    if sample.is_file() and sample.name != "README.md"
]
IDS = [f"{name}/{sample.name}" for name, sample in SAMPLES]
FUZZ = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)
# Compression and bytes go through one reader for all formats, which fewer examples a format exercise enough.
FEW = settings(FUZZ, max_examples=8)
WEIRD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=True, allow_infinity=True),
    st.text(max_size=8),
    st.lists(st.integers(-3, 3), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


def _zstd(content: bytes) -> bytes:
    packed: bytes = pyarrow.Codec("zstd").compress(content, asbytes=True)
    return packed


def _read(path: Path, name: str) -> tuple[ImportedRun, ...]:
    """Return the runs, none where the file is refused in plain words."""
    try:
        return importers.read(path, name)
    except TrackerError:
        return ()


def _sizes(content: bytes) -> list[int]:
    """Return where to cut: at every byte of a small sample, else at every line break, the end and in steps."""
    if len(content) <= 600:
        return list(range(len(content)))
    breaks = [index + 1 for index, byte in enumerate(content) if byte == ord("\n")]
    tail = range(len(content) - 100, len(content))
    return sorted({*breaks[:-1], *tail, *range(0, len(content), 17)})


def _numbers(run: ImportedRun) -> list[Any]:
    return [*run.measurements, *((run.training,) if run.training is not None else ())]


@pytest.mark.parametrize(("name", "sample"), SAMPLES, ids=IDS)
def test_a_file_cut_at_any_byte_gives_only_what_was_whole(name: str, sample: Path, tmp_path: Path) -> None:
    content = sample.read_bytes()
    whole = importers.read(sample)
    path = tmp_path / sample.name
    before: list[Any] = []
    after: list[Any] = []
    end = 0
    for size in _sizes(content):
        if content.find(b"\n", size) + 1 != end and content[size - 1 : size] != b"\n":
            # A last line may be whole and lack only its line break.
            end = content.find(b"\n", size) + 1
            path.write_bytes(content[:end])
            after = [_numbers(run) for run in _read(path, name)]
        path.write_bytes(content[:size])
        runs = _read(path, name)
        if content[:size].endswith(b"\n"):
            before = [_numbers(run) for run in runs]
        for index, (run, original) in enumerate(zip(runs, whole, strict=False)):
            if any(finding.code == "LAST_VALUE_MAY_BE_CUT" for finding in run.findings):
                continue
            if run.requests:
                assert run.requests == original.requests[: len(run.requests)]
                continue
            # A run of its own is whole or as far as it got; a log's run is what its whole lines add up to.
            so_far = before[index] if index < len(before) else None
            next_line = after[index] if index < len(after) else None
            numbers = _numbers(run)
            if b"\0" in content:
                assert run.training is not None
                assert original.training is not None
                assert set(run.training.history) <= set(original.training.history)
                continue
            assert numbers in (_numbers(original)[: len(numbers)], so_far, next_line)


@pytest.mark.parametrize(("name", "sample"), SAMPLES, ids=IDS)
@FUZZ
@given(data=st.data())
def test_flipped_inserted_and_removed_bytes_never_end_in_a_traceback(
    name: str, sample: Path, tmp_path: Path, data: st.DataObject
) -> None:
    content = bytearray(sample.read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        index = data.draw(st.integers(0, len(content) - 1))
        junk = data.draw(st.binary(max_size=4))
        content[index : index + data.draw(st.integers(0, 4))] = junk
        if not content:
            content = bytearray(b"x")
    path = tmp_path / sample.name
    path.write_bytes(bytes(content))

    _read(path, name)
    with contextlib.suppress(TrackerError):
        importers.detect(path)


@pytest.mark.parametrize(("name", "sample"), SAMPLES, ids=IDS)
@pytest.mark.parametrize("pack", [gzip.compress, _zstd], ids=["gzip", "zstd"])
@FEW
@given(data=st.data())
def test_damaged_compressed_files_never_end_in_a_traceback(
    pack: Callable[[bytes], bytes], name: str, sample: Path, tmp_path: Path, data: st.DataObject
) -> None:
    packed = bytearray(pack(sample.read_bytes()))
    for _ in range(data.draw(st.integers(0, 3))):
        packed[data.draw(st.integers(4, len(packed) - 1))] ^= data.draw(st.integers(1, 255))
    path = tmp_path / sample.name
    path.write_bytes(bytes(packed[: data.draw(st.integers(1, len(packed)))]))

    _read(path, name)
    with contextlib.suppress(TrackerError):
        importers.detect(path)


@pytest.mark.parametrize(("name", "sample"), SAMPLES, ids=IDS)
@FEW
@given(data=st.data())
def test_invalid_utf_8_anywhere_never_ends_in_a_traceback(
    name: str, sample: Path, tmp_path: Path, data: st.DataObject
) -> None:
    content = bytearray(sample.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        index = data.draw(st.integers(0, len(content)))
        content[index:index] = data.draw(st.sampled_from([b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80"]))
    path = tmp_path / sample.name
    path.write_bytes(bytes(content))

    _read(path, name)
    with contextlib.suppress(TrackerError):
        importers.detect(path)


def _replaced(value: Any, target: int, weird: Any, counter: list[int]) -> Any:
    """Return a JSON value with its `target`-th node replaced."""
    counter[0] += 1
    if counter[0] == target:
        return weird
    if isinstance(value, dict):
        return {key: _replaced(item, target, weird, counter) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, target, weird, counter) for item in value]
    return value


def _values(sample: Path) -> list[Any] | None:
    """Return the JSON values of a sample; None when it is no JSON."""
    try:
        text = sample.read_text()
        return [json.loads(text)]
    except UnicodeDecodeError:
        return None
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in text.splitlines()]
    except ValueError:
        return None


JSON_SAMPLES = [pair for pair in SAMPLES if _values(pair[1]) is not None]


@pytest.mark.parametrize(
    ("name", "sample"), JSON_SAMPLES, ids=[f"{name}/{sample.name}" for name, sample in JSON_SAMPLES]
)
@FUZZ
@given(data=st.data())
def test_values_of_any_kind_never_end_in_a_traceback(
    name: str, sample: Path, tmp_path: Path, data: st.DataObject
) -> None:
    values = _values(sample)
    assert values is not None
    weird = data.draw(WEIRD)
    mutated = _replaced(values, data.draw(st.integers(2, 60)), weird, [0])
    path = tmp_path / "mutated.json"
    path.write_text("".join(json.dumps(value) + "\n" for value in mutated))

    _read(path, name)


@pytest.mark.parametrize("name", importers.formats())
@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"meta_info": ' * 5000 + b"1" + b"}" * 5000 + b"\n",
        b"\xff\xfe" + b"\xd8\x00" * 50,
        b"\x00" * 5000,
        b"a,b\n" + b"1," * 50_000,
        b"|" * 10_000,
        b'{"meta_info": {"completion_tokens": 1' + b"0" * 6000 + b"}}\n",
        b'"' * 999,
    ],
    ids=["lists", "objects", "nested answers", "bad utf-16", "zeros", "wide", "bars", "huge", "quotes"],
)
def test_hostile_content_is_refused_in_plain_words(name: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "hostile"
    path.write_bytes(content)

    with pytest.raises(TrackerError):
        importers.read(path, name)
    with pytest.raises(TrackerError):
        importers.read(path)
