"""How much data a training set holds: samples, distinct samples and tokens, counted from JSON Lines or Parquet.

A sample is a line or a row. Two samples are the same when what the drafter learns from (the conversation, text or token
ids) is the same, whatever their ids say. Tokens are counted only where every sample carries its token ids or their
number: the tokenizer that would tell otherwise is not at hand.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracker.domain.training import Training
from tracker.errors import InputError
from tracker.importers import _jsonl, _source

PARQUET_MAGIC = b"PAR1"
CONTENT_KEYS = ("conversations", "messages", "input_ids", "text")
_TOKEN_COUNTS = ("num_tokens", "n_tokens", "token_count", "seq_len")
_SUFFIXES = (".jsonl", ".json", ".parquet")
# Distinct samples are told apart by 64-bit digests; beyond this many the set would fill the memory of a laptop.
MAX_DISTINCT = 5_000_000
_BATCH_ROWS = 4096


@dataclass(slots=True)
class Count:
    """A running count of samples."""

    samples: int = 0
    tokens: int = 0
    with_tokens: int = 0
    distinct: set[bytes] = field(default_factory=set)
    digest: Any = field(default_factory=hashlib.sha256)
    cut: str | None = None

    def add(self, sample: Mapping[str, Any]) -> None:
        """Add one sample."""
        self.samples += 1
        content = next((sample[key] for key in CONTENT_KEYS if sample.get(key) is not None), sample)
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), default=str).encode()
        key = hashlib.blake2b(text, digest_size=8).digest()
        self.digest.update(key)
        if len(self.distinct) <= MAX_DISTINCT:
            self.distinct.add(key)
        tokens = _tokens(sample)
        if tokens is not None:
            self.tokens += tokens
            self.with_tokens += 1

    def merge(self, other: Count) -> None:
        """Add another file's count."""
        self.samples += other.samples
        self.tokens += other.tokens
        self.with_tokens += other.with_tokens
        self.distinct |= other.distinct
        self.digest.update(other.digest.digest())
        self.cut = self.cut or other.cut

    def training(self, name: str | None = None) -> Training:
        """Return the data side of a training; `samples` counts repeats, `unique_samples` does not."""
        return Training(
            samples=self.samples,
            unique_samples=len(self.distinct) if len(self.distinct) <= MAX_DISTINCT else None,
            tokens=self.tokens if self.samples and self.with_tokens == self.samples else None,
            data_name=name,
            data_digest=self.digest.hexdigest() if self.samples else None,
        )


def _tokens(sample: Mapping[str, Any]) -> int | None:
    ids = sample.get("input_ids")
    if isinstance(ids, list):
        return len(ids)
    for key in _TOKEN_COUNTS:
        value = sample.get(key)
        if type(value) is int and 0 <= value < _jsonl.MAX_COUNT:
            return value
    return None


def is_sample(value: Any) -> bool:
    """Return whether a JSON value is a training sample: a conversation or token ids."""
    if not isinstance(value, dict) or "meta_info" in value or "choices" in value:
        return False
    return any(isinstance(value.get(key), list) for key in ("conversations", "messages", "input_ids"))


def count_file(path: Path) -> Count:
    """Return what a file of samples holds.

    Raises:
        InputError: The file cannot be read, or a line is no object.
    """
    count = Count()
    head = _source.read_head(path)
    if head.startswith(PARQUET_MAGIC):
        for sample in _parquet(path):
            count.add(sample)
        return count
    if head.lstrip().startswith(b"["):
        whole = _jsonl.whole_document(path)
        if not isinstance(whole, list):
            raise InputError("the file is no whole JSON list", where=str(path), hint="Copy it again.")
        entries: Iterable[_jsonl.Entry] = (_jsonl.Entry(line=1, value=item) for item in whole)
    else:
        entries = _jsonl.entries(path)
    for entry in entries:
        if entry.cut is not None:
            count.cut = entry.cut
        elif isinstance(entry.value, dict):
            count.add(entry.value)
        else:
            raise InputError("this is no sample", where=f"{path}:{entry.line}", hint="Each line is one JSON object.")
    return count


def parquet_columns(path: Path) -> tuple[str, ...]:
    """Return the columns of a Parquet file; empty when it is damaged."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return tuple(pq.read_schema(_parquet_source(path)).names)
    except (pa.ArrowInvalid, OSError):
        return ()


def _parquet_source(path: Path) -> Any:
    """Return the file itself, or its unpacked bytes where it was compressed once more."""
    with path.open("rb") as raw:
        plain = raw.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC
    return str(path) if plain else io.BytesIO(_source.read_document(path))


def _parquet(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a Parquet file in bounded memory.

    Raises:
        InputError: The file is cut or damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(_parquet_source(path))
        for batch in file.iter_batches(batch_size=_BATCH_ROWS):
            yield from batch.to_pylist()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError, UnicodeDecodeError) as error:
        raise InputError("the Parquet file is cut or damaged", where=str(path), hint="Copy it again.") from error


def find(name: str, near: Path) -> tuple[Path, ...]:
    """Return the data files that a configuration names, where they are on this machine; empty when they are not."""
    for base in (Path(name).expanduser(), near / name):
        if base.is_file() and base.suffix in _SUFFIXES:
            return (base,)
        if base.is_dir():
            found = tuple(sorted(item for item in base.iterdir() if item.suffix in _SUFFIXES and item.is_file()))
            return tuple(item for item in found if _holds_samples(item))
    return ()


def _holds_samples(path: Path) -> bool:
    head = _source.read_head(path)
    if head.startswith(PARQUET_MAGIC):
        return bool(set(parquet_columns(path)) & set(CONTENT_KEYS))
    value = _jsonl.first_value(head)
    return is_sample(value[0] if isinstance(value, list) and value else value)
