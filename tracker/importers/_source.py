"""Files and folders as importers see them: decompressed, size-limited, with every failure in plain words."""

from __future__ import annotations

import codecs
import gzip
import io
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from tracker.errors import InputError
from tracker.importers.base import HEAD_BYTES

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
LINE_LIMIT_BYTES = 64 * 2**20
# A whole-file document (one JSON object, a table) above this is not a benchmark result people wrote.
DOCUMENT_LIMIT_BYTES = 512 * 2**20
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_RECODED_BYTES = 2**16
# Logs and results pack to a tenth or a fiftieth, made-up zeros to a thousandth.
_UNPACKED_FREELY_BYTES = 256 * 2**20
_MOST_UNPACKED = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a file."""

    number: int
    """1-based line number."""
    content: bytes
    """The line without its line break."""
    ended: bool
    """Whether a line break followed; a last line without one may be cut."""


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Yield the file's bytes, gzip and zstd undone; UTF-16 (PowerShell's `>`) becomes UTF-8.

    Raises:
        InputError: There is no such file, it is a folder or a pipe, it may not be read, or its compression is damaged
            or made to exhaust its reader.
    """
    where = str(path)
    try:
        if not stat.S_ISREG(mode := path.stat().st_mode) and not stat.S_ISDIR(mode):
            raise InputError(
                "this is a pipe or a device, not a file", where=where, hint="Save what it yields into a file first."
            )
        with path.open("rb") as raw:
            magic = raw.read(4)
            raw.seek(0)
            if magic.startswith(GZIP_MAGIC):
                with gzip.open(raw) as unpacked:
                    yield _utf8(io.BufferedReader(_Unpacked(cast("IO[bytes]", unpacked), path)))
            elif magic == ZSTD_MAGIC:
                with _zstd(raw) as unpacked_zstd:
                    yield _utf8(io.BufferedReader(_Unpacked(unpacked_zstd, path)))
            else:
                yield _utf8(raw)
    except FileNotFoundError as error:
        raise InputError("there is no such file", where=where, hint="Check the path.") from error
    except IsADirectoryError as error:
        raise InputError("this is a folder, not a file", where=where, hint="Name a file inside it.") from error
    except PermissionError as error:
        raise InputError("the file may not be read", where=where, hint="Check its permissions.") from error
    except EOFError as error:
        raise InputError(
            "the compressed file ends in the middle",
            where=where,
            hint="Copy it again, or import the part that `gzip -dc` still yields.",
        ) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError("the compressed file is damaged", where=where, hint="Copy it again.") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"the file cannot be read ({reason})", where=where, hint="Copy it again.") from error


class _Unpacked(io.RawIOBase):
    """The bytes of a compressed file, as long as they are not out of all proportion to it."""

    def __init__(self, stream: IO[bytes], path: Path) -> None:
        self._stream, self._path = stream, path
        self._left = max(_UNPACKED_FREELY_BYTES, _MOST_UNPACKED * path.stat().st_size)

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as there is something; 0 at the end."""
        content = self._stream.read(len(buffer))
        buffer[: len(content)] = content
        self._left -= len(content)
        if self._left < 0:
            raise InputError(
                f"the compressed file unpacks to more than {_MOST_UNPACKED} times its size",
                where=str(self._path),
                hint="Unpack it and look what it is.",
            )
        return len(content)


class _Recoded(io.RawIOBase):
    """The UTF-8 bytes of a UTF-16 stream."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._left = stream, b""
        self._decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as there is something; 0 at the end."""
        while not self._left:
            content = self._stream.read(_RECODED_BYTES)
            self._left = self._decoder.decode(content, final=not content).encode(errors="replace")
            if not content:
                break
        size = min(len(buffer), len(self._left))
        buffer[:size], self._left = self._left[:size], self._left[size:]
        return size


def _utf8(stream: io.BufferedReader) -> IO[bytes]:
    """Return the stream, recoded where it begins with a mark of UTF-16."""
    return io.BufferedReader(_Recoded(stream)) if stream.peek(2)[:2] in _UTF16_MARKS else stream


def _zstd(raw: IO[bytes]) -> io.BufferedReader:
    """Return a reader of the decompressed bytes; pyarrow is at hand for Parquet anyway."""
    import pyarrow as pa

    stream = pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd")
    return io.BufferedReader(cast("io.RawIOBase", stream))


def read_head(path: Path) -> bytes:
    """Return the first HEAD_BYTES of the content as UTF-8 where the file is text; empty for a folder.

    Raises:
        InputError: The file cannot be read.
    """
    if path.is_dir():
        return b""
    with opened(path) as stream:
        return stream.read(HEAD_BYTES).removeprefix(codecs.BOM_UTF8)


def read_document(path: Path) -> bytes:
    """Return the whole content as bytes, UTF-8 where it is text.

    Raises:
        InputError: The file cannot be read, or is larger than a single document can sensibly be.
    """
    with opened(path) as stream:
        content = stream.read(DOCUMENT_LIMIT_BYTES + 1)
    if len(content) > DOCUMENT_LIMIT_BYTES:
        raise InputError(
            f"the file is larger than {DOCUMENT_LIMIT_BYTES // 2**20} MB and has to be read as a whole",
            where=str(path),
            hint="Split it, or log a file without per-token details.",
        )
    return content.removeprefix(codecs.BOM_UTF8)


def read_text(path: Path) -> str:
    """Return the whole content as text; bytes that are not UTF-8 become the replacement character.

    Raises:
        InputError: As `read_document`.
    """
    return read_document(path).decode(errors="replace")


def lines(path: Path) -> Iterator[Line]:
    """Yield the file's lines in bounded memory.

    Raises:
        InputError: The file cannot be read, or a line is longer than any tool writes.
    """
    for number, content in raw_lines(path):
        yield line_of(number, content)


def line_of(number: int, content: bytes) -> Line:
    """Return a line as read, with its line break taken off."""
    return Line(number=number, content=content.rstrip(b"\r\n"), ended=content.endswith(b"\n"))


def raw_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the file's lines with their 1-based numbers and line breaks, in bounded memory.

    Raises:
        InputError: The file cannot be read, or a line is longer than any tool writes.
    """
    with opened(path) as stream:
        number = 0
        while content := stream.readline(LINE_LIMIT_BYTES + 1):
            number += 1
            if number == 1:
                content = content.removeprefix(codecs.BOM_UTF8)
            if len(content) > LINE_LIMIT_BYTES:
                raise InputError(
                    f"line {number} is longer than {LINE_LIMIT_BYTES // 2**20} MB",
                    where=str(path),
                    hint="This is not a file with one record a line.",
                )
            yield number, content


def parse_yaml(content: bytes, path: Path, *, limit_bytes: int) -> Any:
    """Return the value of a YAML text, read without constructing objects of any kind.

    Raises:
        InputError: It is no YAML, or larger than a document of its kind.
    """
    import yaml

    if len(content) > limit_bytes:
        raise InputError(
            f"the YAML file is larger than {limit_bytes // 2**20} MB",
            where=str(path),
            hint="Log the JSON file instead.",
        )
    try:
        return yaml.load(content, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    except (yaml.YAMLError, RecursionError, ValueError, OverflowError) as error:
        raise InputError("the file is no whole YAML", where=str(path), hint="Copy it again.") from error
