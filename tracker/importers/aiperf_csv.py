"""aiperf's `profile_export_aiperf.csv`: a section of metrics with statistics, a section of single values.

Names carry their unit in brackets; numbers are rounded to two digits. GPU telemetry after them is left out.
"""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

from tracker.errors import InputError
from tracker.importers import _aiperf, _identities, _normalise, _source, _spec_block
from tracker.importers.base import ImportedRun

_HEAD = re.compile(rb"Metric,avg,min,max,|Metric,Value\r?\n[^\n]*(throughput|latency|count|duration)", re.I)
_NAME = re.compile(r"(?P<name>[^(]+?)\s*(?:\((?P<unit>[^)]*)\))?")
_TELEMETRY = "Endpoint"


class AiperfCsv:
    """aiperf's CSV export."""

    name = "aiperf_csv"
    title = "aiperf profile_export_aiperf.csv, one metric a row"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the first row names aiperf's statistics."""
        return bool(_HEAD.match(head))

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return the one run; which load it was, only the JSON export says.

        Raises:
            InputError: There is no throughput in it, or a value is no number.
        """
        text = _source.read_text(path)
        # A last line without its line break may be cut inside the number.
        whole = text if text.endswith("\n") else text[: text.rfind("\n") + 1]
        metrics = _metrics(whole, path)
        cell = _aiperf.measurement(_aiperf.Metrics(metrics, str(path)), concurrency=None, histogram=None)
        if cell.output_throughput_tok_s is None and cell.accept_length is None:
            raise InputError("the export holds no throughput", where=str(path), hint="Log the JSON export.")
        cut = None if whole is text else "the file ends in the middle of a row; it was left out"
        spec = _spec_block.seen((cell,))
        return (ImportedRun(measurements=(cell,), speculation=spec, findings=_identities.check(cell), missing=cut),)


def _metrics(text: str, path: Path) -> dict[str, dict[str, Any]]:
    """Return the metrics by tag, in the layout of the JSON export."""
    found: dict[str, dict[str, Any]] = {}
    header: list[str] = []
    reader = csv.reader(io.StringIO(text))
    try:
        for row in reader:
            if not row or not row[0]:
                continue
            if row[0] == _TELEMETRY:
                break
            if row[0] == "Metric":
                header = ["avg" if name == "Value" else name for name in row[1:]]
                continue
            match = _NAME.fullmatch(row[0])
            if match is None:
                continue
            tag = re.sub(r"[^a-z0-9]+", "_", match["name"].lower()).strip("_")
            values = found.setdefault(tag, {"unit": match["unit"]})
            for name, cell in zip(header, row[1:], strict=False):
                if cell.strip():
                    values[name] = _number(cell, f"{path}:{reader.line_num}", row[0])
    except csv.Error as error:
        raise InputError(f"the table is damaged ({error})", where=str(path), hint="Copy it again.") from error
    return found


def _number(cell: str, where: str, name: str) -> float:
    """Return a cell's number.

    Raises:
        InputError: It is none.
    """
    value = _normalise.number(cell)
    if value is None:
        raise InputError(f"`{name}` is no number: {cell[:40]}", where=where, hint="Correct that cell.")
    return value


IMPORTER = AiperfCsv()
