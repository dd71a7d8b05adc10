"""A server described and not measured: its `/server_info` body, or its launch command as a JSON list.

It goes with a benchmark's result, given in the same call; alone it is no run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tracker.errors import InputError
from tracker.importers import _jsonl
from tracker.importers.base import ImportedRun

_PROGRAMS = ("sglang", "vllm", "llama-server")


class ServerDescription:
    """Descriptions of a server."""

    name = "server_description"
    title = "a server's /server_info body or its launch command as a JSON list; goes with a benchmark's result"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the JSON is a server's own description, or a command that launches one."""
        value = _jsonl.first_value(head)
        return _is_command(value) or _engine(value) is not None

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return a run that measures nothing and says how its server ran.

        Raises:
            InputError: The file is cut, or is something else.
        """
        value = _jsonl.whole_document(path)
        if _is_command(value):
            return (ImportedRun(argv=tuple(value)),)
        engine = _engine(value)
        if engine is None:
            raise InputError(
                "the file is no whole description of a server", where=str(path), hint="Save `GET /server_info` again."
            )
        return (ImportedRun(server_info=value, engine=engine),)


def _is_command(value: Any) -> bool:
    if not isinstance(value, list) or not value or not all(isinstance(part, str) for part in value):
        return False
    return any(program in part for part in value[:4] for program in _PROGRAMS)


def _engine(value: Any) -> str | None:
    """Return the engine whose `/server_info` this is; None when it is none."""
    if not isinstance(value, dict):
        return None
    if "vllm_config" in value:
        return "vllm"
    return "sglang" if "model_path" in value and ("internal_states" in value or "tp_size" in value) else None


IMPORTER = ServerDescription()
