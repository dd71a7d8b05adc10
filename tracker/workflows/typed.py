"""Values typed by hand on the command line, as a run."""

from __future__ import annotations

from collections.abc import Mapping

from tracker import importers
from tracker.errors import InputError
from tracker.importers.base import ImportedRun

_NOTHING_MEASURED = "ROW_WITHOUT_MEASUREMENT"
_HINT = "Write --metric output_throughput_tok_s=82.3 or --metric accept_length=2.1; leave out what was not measured."


def typed_runs(metrics: Mapping[str, str], columns: Mapping[str, str] | None) -> tuple[ImportedRun, ...]:
    """Return the run that `--metric KEY=VALUE` describes.

    Args:
        metrics: Values as typed, so that their rounding is known.
        columns: What a key holds, where it does not say so.

    Raises:
        InputError: No value is a measurement, or one is no number.
    """
    empty = [key for key, value in metrics.items() if not value]
    if empty:
        raise InputError(f"{empty[0]!r} has no value", where="--metric", hint=_HINT)
    try:
        runs = importers.from_values([metrics], columns)
    except InputError as error:
        raise InputError(error.message, where="--metric", hint=_HINT) from error
    # In a table such a row is kept for its name and flags; typed alone it would be an empty run.
    if any(finding.code == _NOTHING_MEASURED for run in runs for finding in run.findings):
        typed = ", ".join(f"{key}={value}" for key, value in metrics.items())
        raise InputError(f"nothing here is a measurement: {typed}", where="--metric", hint=_HINT)
    return runs
