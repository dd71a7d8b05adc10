"""Readers of other tools' files: one importer a file, found by discovery.

    formats()            every importer by name; LEFT_OUT names the formats that are not read, and why
    detect(path)         the one importer that recognises a file or folder by its content
    read(path, format)   the runs in it; `columns` says what a table's columns hold

gzip and zstd are undone on the way; content decides, never a file's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tracker import plugins
from tracker.errors import InputError, UnknownFormatError
from tracker.importers import _source
from tracker.importers._typed import from_values
from tracker.importers.base import ImportedRun, Importer
from tracker.importers.table import Table

__all__ = ["LEFT_OUT", "ImportedRun", "Importer", "detect", "formats", "from_values", "read"]

LEFT_OUT = (
    "Spec-Bench model answers",
    "NeMo decode_eval folders",
    "evalscope's JSON files (its printed summary is read)",
    "TensorRT-LLM iteration statistics",
    "llm-d benchmark reports",
    "NVIDIA specdec_bench folders",
)
"""Formats of the field that are not read: no file that the tool itself wrote was at hand to hold a reader to."""


_LOOKED_AT = 64
_NAMED = 6


def formats() -> dict[str, Importer]:
    """Return every importer by its name for `--as`."""
    return plugins.discover(__name__, "IMPORTER")


def detect(path: Path) -> Importer:
    """Return the importer whose format this file or folder has.

    Raises:
        UnknownFormatError: None recognises it, or more than one does.
        InputError: The file cannot be read, is empty or is binary.
    """
    head = _head(path)
    known = formats()
    claims = [importer for importer in known.values() if importer.sniff(path, head)]
    # Whoever knows the tool comes before whoever only knows that it is a table.
    claims = [importer for importer in claims if not getattr(importer, "generic", False)] or claims
    if len(claims) == 1:
        return claims[0]
    names = ", ".join(known)
    if claims:
        raise UnknownFormatError(
            "the content fits several formats: " + " and ".join(importer.name for importer in claims),
            where=str(path),
            hint="Choose one with `--as FORMAT`.",
        )
    if b"\0" in head:
        raise InputError(
            "this is a binary file that no importer knows",
            where=str(path),
            hint=f"Known formats: {names}.",
        )
    hint = f"Force one with `--as FORMAT`. Known formats: {names}."
    if not path.is_dir():
        raise UnknownFormatError("this file is of no known format", where=str(path), hint=hint)
    if alone := _readable(path):
        hint = f"Name a file in it: {', '.join(alone)}."
    raise UnknownFormatError("this folder holds nothing that an importer recognises", where=str(path), hint=hint)


def _readable(folder: Path) -> list[str]:
    """Return the first files of a folder that are read on their own; a folder named by mistake may hold thousands."""
    found, known = [], formats().values()
    for item in sorted(folder.iterdir())[:_LOOKED_AT]:
        if not item.is_file():
            continue
        try:
            head = _source.read_head(item)
        except InputError:
            continue
        if any(importer.sniff(item, head) for importer in known):
            found.append(item.name)
    return found[:_NAMED]


def read(path: Path, format: str | None = None, columns: Mapping[str, str] | None = None) -> tuple[ImportedRun, ...]:
    """Return the runs in a file or folder.

    Args:
        path: File or folder.
        format: Importer to use; None detects it.
        columns: What the columns of a table hold, by name, where their names do not say so.

    Raises:
        UnknownFormatError: There is no importer of that name, or none recognises the content.
        InputError: The content cannot be read, or columns are named and it is no table.
    """
    importer = detect(path) if format is None else _named(path, format)
    if not columns:
        return importer.read(path)
    if not isinstance(importer, Table):
        raise InputError(
            f"columns are named, but this is read as {importer.name}", where=str(path), hint="Leave out --column."
        )
    return importer.read(path, columns)


def _named(path: Path, format: str) -> Importer:
    _head(path)
    known = formats()
    if format not in known:
        raise UnknownFormatError(f"there is no format `{format}`", hint=f"Known formats: {', '.join(known)}.")
    importer: Importer = known[format]
    return importer


def _head(path: Path) -> bytes:
    """Return the head of a file, empty for a folder.

    Raises:
        InputError: There is no such file, it may not be read, or it holds nothing.
    """
    head = _source.read_head(path)
    if not path.is_dir() and not head.strip():
        raise InputError("the file is empty", where=str(path), hint="Was the benchmark stopped before it wrote?")
    return head
